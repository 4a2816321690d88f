// Puts the page together.
import * as THREE from 'three';
import { App } from './app';
import type { Mode } from './net/protocol';
import { exposeState } from './hook';
import { Tools } from './tools/tools';
import { ComparePanel } from './ui/compare-panel';
import { DesignPanel } from './ui/design-panel';
import { h } from './ui/dom';
import { Editor } from './ui/editor';
import { Gallery, Uploads } from './ui/gallery';
import { Help, listen, type Shortcut } from './ui/help';
import { Legend } from './ui/legend';
import { Plots } from './ui/plots';
import { Record } from './ui/record';
import { Sidebar } from './ui/sidebar';
import { Topbar } from './ui/topbar';
import { Transport } from './ui/transport';
import './style.css';

function readToken(): string {
    return new URLSearchParams(location.search).get('token') ?? '';
}

function preferDark(): boolean {
    const chosen = localStorage.getItem('hooke-theme');
    if (chosen) return chosen === 'dark';
    return matchMedia('(prefers-color-scheme: dark)').matches;
}

function build(root: HTMLElement): void {
    const view = h('div', { class: 'view' });
    const app = new App(readToken(), view);
    const legend = new Legend();
    const plots = new Plots(app);
    const transport = new Transport(app);
    const tools = new Tools(app);
    const sidebar = new Sidebar(app);
    const uploads = new Uploads(app);
    const gallery = new Gallery(app, uploads);
    const editor = new Editor(app);
    const design = new DesignPanel(app);
    const compare = new ComparePanel(app);
    const record = new Record(app, legend, plots);
    const fps = h('div', { class: 'fps', title: 'Frames of the server, and drawings, per second' });
    const empty = emptyState(() => void gallery.open());

    const setMode = (mode: Mode): void => {
        if (mode === 'compare') compare.start();
        else void app.ask({ type: 'mode', mode }, mode === 'design' ? 'This scene cannot be designed' : '');
    };
    const toggleTheme = (): void => {
        app.setDark(!app.dark);
        localStorage.setItem('hooke-theme', app.dark ? 'dark' : 'light');
    };
    const togglePlots = (): void => {
        plots.element.hidden = !plots.element.hidden;
        plots.draw();
    };
    const toggleRecord = (): void => {
        record.menu.hidden = !record.menu.hidden;
    };
    const shown = (key: 'wireframe' | 'ghost'): void => {
        app.world.shown[key] = !app.world.shown[key];
        app.world.applyShown();
        app.emit('status', app.status!);
    };
    const design_ = (action: () => void) => (): void => {
        if (app.scene?.mode === 'design') action();
    };
    const live = (action: () => void) => (): void => {
        if (app.scene && app.scene.mode !== 'design') action();
    };
    const shortcuts: Shortcut[] = [
        { keys: 'Space', label: 'play or pause', action: live(() => transport.toggle()) },
        { keys: '.', label: 'one step', action: live(() => transport.step()) },
        { keys: 'R', label: 'back to the start', action: live(() => transport.reset()) },
        { keys: 'G', label: 'pull', action: () => tools.choose('pull') },
        { keys: 'F', label: 'fix', action: () => tools.choose('fix') },
        { keys: 'U', label: 'release', action: () => tools.choose('unfix') },
        { keys: 'L', label: 'load', action: () => tools.choose('load') },
        { keys: 'B', label: 'paint a material', action: () => tools.choose('paint') },
        { keys: 'V', label: 'look around only', action: () => tools.choose('orbit') },
        {
            keys: 'A',
            label: 'see everything',
            action: () => {
                untouched = true;
                app.world.fit();
            },
        },
        { keys: 'W', label: 'wireframe', action: () => shown('wireframe') },
        { keys: 'H', label: 'rest shape', action: () => shown('ghost') },
        {
            keys: 'X',
            label: 'section plane',
            action: () => {
                app.world.section.on = !app.world.section.on;
                app.world.applySection();
                app.emit('status', app.status!);
            },
        },
        { keys: '1', label: 'live', action: () => setMode('live') },
        { keys: '2', label: 'design', action: () => setMode('design') },
        { keys: '3', label: 'compare', action: () => setMode('compare') },
        { keys: 'N', label: 'gravity on or off (design)', action: design_(() => design.toggleGravity()) },
        { keys: 'Ctrl+Z', label: 'undo (design)', action: design_(() => design.undo()) },
        { keys: 'Ctrl+Y or Ctrl+Shift+Z', label: 'redo (design)', action: design_(() => design.redo()) },
        { keys: 'O', label: 'open a scene', action: () => (gallery.isOpen ? gallery.close() : void gallery.open()) },
        { keys: 'E', label: 'scene file', action: () => editor.toggle() },
        { keys: 'C', label: 'plots', action: togglePlots },
        { keys: 'P', label: 'picture', action: () => void record.picture() },
        { keys: 'S', label: 'save and record', action: toggleRecord },
        { keys: 'T', label: 'light or dark', action: toggleTheme },
        { keys: '?', label: 'this card', action: () => help.toggle() },
        {
            keys: 'Esc',
            label: 'let go, close',
            action: () => {
                tools.cancel();
                gallery.close();
                record.menu.hidden = help.element.hidden = true;
            },
        },
    ];
    const help = new Help(shortcuts);
    listen(shortcuts);
    const topbar = new Topbar(app, {
        gallery: () => void gallery.open(),
        editor: () => editor.toggle(),
        plots: togglePlots,
        theme: toggleTheme,
        help: () => help.toggle(),
        record: toggleRecord,
        mode: setMode,
    });

    view.append(
        tools.overlay,
        tools.options,
        legend.element,
        design.titles,
        compare.titles,
        compare.convergence,
        design.card,
        uploads.element,
        record.badge,
        fps,
        empty,
        app.toasts.element,
    );
    root.append(
        topbar.element,
        h(
            'main',
            {},
            editor.element,
            tools.rail,
            h('div', { class: 'center' }, view, h('div', { class: 'bottom' }, transport.element, design.element, compare.element), plots.element),
            sidebar.element,
        ),
        record.menu,
        gallery.element,
        help.element,
        uploads.veil,
    );

    app.on('topology', ({ fresh }) => {
        empty.hidden = true;
        if (fresh) orient(app);
        if (fresh) untouched = unknown = true;
    });
    // As long as nobody has turned the view it shows all there is: when it becomes wider, and when
    // the shape that follows in design is known.
    let untouched = false;
    let unknown = false;
    const touch = (): void => void (untouched = false);
    app.stage.canvas.addEventListener('pointerdown', touch);
    app.stage.canvas.addEventListener('wheel', touch, { passive: true });
    app.stage.onResize = () => {
        if (untouched) app.world.fit();
    };
    app.stage.isBusy = () =>
        tools.busy || app.status?.playing === true || app.design?.state === 'preview' || app.design?.state === 'refining';
    app.on('design', (d) => {
        if (d.state !== 'converged' || !unknown) return;
        unknown = false;
        window.setTimeout(() => {
            if (untouched) app.world.fit();
        }, 60);
    });
    app.on('frame', () => legend.set(app.world.legend));
    // The ends of springs come with the first frame.
    let tied = false;
    app.on('topology', ({ fresh, message }) => (tied = tied || (fresh && (message.springs ?? 0) > 0)));
    app.on('frame', () => {
        if (tied && untouched) app.world.fit();
        else if (untouched && app.status?.playing) app.world.keepInView();
        tied = false;
    });
    app.on('theme', () => legend.set(app.world.legend));
    app.on('scene', (scene) => {
        plots.element.classList.toggle('away', scene.mode === 'design');
        legend.set(app.world.legend);
    });
    app.on('status', (status) => {
        legend.set(app.world.legend);
        if (untouched && !status.playing && status.mode !== 'design') app.world.keepInView(true);
    });
    app.on('welcome', (w) => {
        window.setTimeout(() => {
            if (app.scene || app.status?.busy) return;
            empty.classList.add('idle');
            if (!gallery.isOpen) void gallery.open();
        }, 400);
        if (w.machine.warning) app.toasts.show('warn', w.machine.warning, '', 12);
    });
    countFrames(app, fps);
    app.setDark(preferDark());
    exposeState(app, { tools, editor, uploads, plots, record });
    app.start().catch((error: unknown) => showRefusal(root, error));
}

/** The camera above and beside the scene, gravity pointing down. */
function orient(app: App): void {
    const g = app.scene?.gravity ?? [0, -9.81, 0];
    const up: [number, number, number] = Math.abs(g[2]) > Math.abs(g[1]) ? [0, 0, g[2] > 0 ? -1 : 1] : [0, 1, 0];
    app.stage.setUp(up);
    app.world.fit(up[2] !== 0 ? new THREE.Vector3(0.5, -0.85, 0.35) : new THREE.Vector3(0.5, 0.32, 0.85));
}

function emptyState(open: () => void): HTMLElement {
    const start = h('button', { class: 'button primary', text: 'Open a scene', attrs: { type: 'button' }, on: { click: open } });
    return h(
        'div',
        { class: 'empty-state' },
        h('div', { class: 'spinner' }),
        h('div', { class: 'empty-text' }, h('h1', { text: 'Nothing is open' }), h('p', { text: 'Drop a mesh on this page and it becomes a body, or begin with a scene.' }), start),
    );
}

function countFrames(app: App, element: HTMLElement): void {
    let frames = 0;
    let draws = 0;
    window.setInterval(() => {
        const received = app.world.frames - frames;
        const drawn = app.stage.draws - draws;
        frames = app.world.frames;
        draws = app.stage.draws;
        element.textContent = received > 2 ? `${received} frames/s · ${drawn} drawn` : '';
    }, 1000);
}

/** Without the token, or without the server, there is nothing to see. */
function showRefusal(root: HTMLElement, error: unknown): void {
    const message = error instanceof Error ? error.message : String(error);
    root.replaceChildren(
        h(
            'div',
            { class: 'refusal' },
            h('h1', { text: 'Hooke Studio' }),
            h('p', { text: 'The server did not let this page in. Open the address that `hooke studio` printed, with its token.' }),
            h('pre', { text: message }),
        ),
    );
}

build(document.getElementById('app')!);
