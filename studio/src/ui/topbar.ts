// The bar at the top: what is open, the three ways to work on it, and what is always at hand.
import type { App } from '../app';
import type { Mode } from '../net/protocol';
import { button, h, icon, type IconName } from './dom';

export interface TopActions {
    gallery: () => void;
    editor: () => void;
    plots: () => void;
    theme: () => void;
    help: () => void;
    record: () => void;
    mode: (mode: Mode) => void;
}

const modes: [Mode, string, IconName, string][] = [
    ['live', 'Live', 'play', 'See it move and pull it (1)'],
    ['design', 'Design', 'design', 'Rest shape and loaded shape, either way (2)'],
    ['compare', 'Compare', 'compare', 'Two methods side by side (3)'],
];

export class Topbar {
    readonly element: HTMLElement;
    private readonly title = h('button', { class: 'scene-title', title: 'Open another scene (O)', attrs: { type: 'button' } });
    private readonly tabs = new Map<Mode, HTMLButtonElement>();
    private readonly busy = h('div', { class: 'busy' }, h('i'), h('span'));
    private readonly takeOver: HTMLButtonElement;
    private readonly line = h('span', { class: 'line', title: 'The connection to Hooke' });

    constructor(
        private readonly app: App,
        actions: TopActions,
    ) {
        this.title.addEventListener('click', actions.gallery);
        const tabs = h('div', { class: 'tabs segments', attrs: { role: 'tablist' } });
        for (const [mode, label, name, title] of modes) {
            const tab = button(label, () => actions.mode(mode), { icon: name, title, id: `mode-${mode}` });
            this.tabs.set(mode, tab);
            tabs.append(tab);
        }
        this.takeOver = button('Take over', () => void app.ask({ type: 'edit' }), {
            title: 'Another page is editing: edit from here instead',
            class: 'warn',
            id: 'take-over',
        });
        this.takeOver.hidden = this.busy.hidden = true;
        this.element = h(
            'header',
            { class: 'topbar' },
            h('div', { class: 'brand' }, logo(), h('b', { text: 'Hooke Studio' })),
            this.title,
            tabs,
            this.busy,
            h('div', { class: 'spacer' }),
            this.takeOver,
            this.line,
            button('', actions.gallery, { icon: 'grid', title: 'Scenes (O)', id: 'open-gallery' }),
            button('', actions.editor, { icon: 'code', title: 'Scene file (E)', id: 'open-editor' }),
            button('', actions.plots, { icon: 'chart', title: 'Plots (C)', id: 'open-plots' }),
            button('', actions.record, { icon: 'save', title: 'Save and record (S)', id: 'open-record' }),
            button('', actions.theme, { icon: 'sun', title: 'Light or dark (T)', id: 'theme' }),
            button('', actions.help, { icon: 'help', title: 'Keys and mouse (?)', id: 'help' }),
        );
        app.on('scene', () => this.showScene());
        app.on('status', () => this.showStatus());
        app.on('clients', () => this.showEditor());
        app.on('connection', ({ open }) => this.line.classList.toggle('lost', !open));
    }

    private showScene(): void {
        const { scene } = this.app;
        if (!scene) return;
        const [count, what] = scene.tets > 0 ? [scene.tets, 'tets'] : scene.triangles > 0 ? [scene.triangles, 'triangles'] : [scene.lines, 'lines'];
        const size = `${count.toLocaleString('en')} ${what}`;
        this.title.replaceChildren(h('b', { text: scene.title || scene.path }), h('span', { text: size }), icon('open', 15));
        document.title = `${scene.title || 'scene'} – Hooke Studio`;
        for (const [mode, tab] of this.tabs) {
            tab.classList.toggle('on', mode === scene.mode);
            tab.setAttribute('aria-selected', String(mode === scene.mode));
        }
    }

    private showStatus(): void {
        const busy = this.app.status?.busy ?? null;
        this.busy.hidden = busy === null;
        this.busy.lastElementChild!.textContent = busy ?? '';
    }

    private showEditor(): void {
        this.takeOver.hidden = this.app.edits || this.app.welcome === null;
    }
}

function logo(): SVGSVGElement {
    const ns = 'http://www.w3.org/2000/svg';
    const svg = document.createElementNS(ns, 'svg');
    svg.setAttribute('viewBox', '0 0 32 32');
    svg.setAttribute('width', '24');
    svg.setAttribute('height', '24');
    for (const [tag, attributes] of [
        ['rect', { width: '32', height: '32', rx: '8', fill: 'var(--accent)' }],
        ['path', { d: 'M7 9c6-4 6 5 9 7s6 8 9 6', fill: 'none', stroke: '#fff', 'stroke-width': '4', 'stroke-linecap': 'round' }],
    ] as const) {
        const e = document.createElementNS(ns, tag);
        for (const [k, v] of Object.entries(attributes)) e.setAttribute(k, v);
        svg.append(e);
    }
    return svg;
}
