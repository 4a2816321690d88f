// Two-way design: which shape is given, how far the refinement is, what the numbers are, undo, and a
// card where there is no rest shape.
import type { App } from '../app';
import type { DesignMessage, Vec3 } from '../net/protocol';
import { digits, quantity } from '../units';
import { button, h, icon } from './dom';
import { download, saveDesign } from './save-file';

export class DesignPanel {
    readonly element: HTMLElement;
    readonly titles = h('div', { class: 'pane-titles' });
    readonly card = h('div', { class: 'failure-card', attrs: { role: 'alert' } });
    private readonly state = h('span', { class: 'pill' });
    private readonly bar = h('div', { class: 'progress' }, h('i'));
    private readonly numbers = h('div', { class: 'numbers' });
    private readonly undoButton: HTMLButtonElement;
    private readonly redoButton: HTMLButtonElement;
    private readonly gravityButton: HTMLButtonElement;
    private readonly given = h('select', { class: 'select', title: 'What the mesh of the scene is; begins anew', id: 'given' });
    private gravity: Vec3 = [0, -9.81, 0];
    private closedFor = -1;

    constructor(private readonly app: App) {
        this.undoButton = button('', () => this.undo(), { icon: 'undo', title: 'Undo (Ctrl+Z)', class: 'round', id: 'undo' });
        this.redoButton = button('', () => this.redo(), { icon: 'redo', title: 'Redo (Ctrl+Shift+Z)', class: 'round', id: 'redo' });
        this.gravityButton = button('Gravity', () => this.toggleGravity(), { icon: 'gravity', title: 'Gravity on or off, to compare (N)' });
        const save = h('select', { class: 'select', title: 'Save', id: 'design-save' });
        for (const [value, text] of exports)
            save.append(h('option', { text, attrs: { value } }));
        save.addEventListener('change', () => {
            if (save.value) void this.save(save.value);
            save.value = '';
        });
        this.given.append(
            h('option', { text: 'Mesh: loaded', attrs: { value: 'loaded' } }),
            h('option', { text: 'Mesh: rest', attrs: { value: 'rest' } }),
        );
        this.given.addEventListener('change', () => {
            void app.ask({ type: 'mode', mode: 'design', given: this.given.value });
            this.given.blur();
        });
        this.element = h(
            'div',
            { class: 'transport design-bar' },
            this.undoButton,
            this.redoButton,
            this.gravityButton,
            this.given,
            h('div', { class: 'state' }, this.state, this.bar),
            this.numbers,
            save,
        );
        this.element.hidden = this.titles.hidden = this.card.hidden = true;
        app.on('design', (d) => this.show(d));
        app.on('scene', (scene) => this.enter(scene.mode === 'design'));
        app.on('status', (status) => this.enter(status.mode === 'design'));
    }

    private enter(on: boolean): void {
        if (on && this.element.hidden) this.given.value = 'loaded';
        this.element.hidden = this.titles.hidden = !on;
        if (on) return;
        this.card.hidden = true;
        this.app.toasts.hide('stable');
        this.app.toasts.hide('overlaps');
    }

    private show(d: DesignMessage): void {
        if (this.element.hidden) this.enter(true);
        this.undoButton.disabled = d.undo === null;
        this.redoButton.disabled = d.redo === null;
        this.undoButton.title = d.undo ? `Undo: ${d.undo} (Ctrl+Z)` : 'Nothing to undo';
        this.redoButton.title = d.redo ? `Redo: ${d.redo} (Ctrl+Shift+Z)` : 'Nothing to redo';
        const weight = Math.hypot(...d.gravity);
        if (weight > 0) this.gravity = d.gravity;
        this.gravityButton.classList.toggle('on', weight > 0);
        this.showState(d);
        this.showNumbers(d);
        this.titles.replaceChildren(
            title('Loaded shape', d.given === 'loaded' ? 'as you draw it' : 'as it sags', d.given === 'loaded'),
            title('Rest shape', d.given === 'rest' ? 'as you draw it' : 'as it is to be made', d.given === 'rest'),
        );
        this.showCard(d);
        this.showCheck(d);
    }

    /** What a person should know before a part is made. */
    private showCheck(d: DesignMessage): void {
        const { toasts } = this.app;
        const check = d.state === 'converged' ? d.check : null;
        if (check?.stable === false) {
            this.state.textContent = 'unstable';
            this.state.title = 'Exact, but in a balance that a touch ends';
            this.state.className = 'pill warn';
        }
        if (check?.stable === false && this.warnedOf !== `${d.version}`) {
            this.warnedOf = `${d.version}`;
            toasts.show('warn', 'What is made does not stay in this shape', 'The loaded shape is in balance, but a touch makes it buckle. Make it stiffer or lighter, or hold it in more places.', 0, 'stable');
        } else if (check?.stable !== false) toasts.hide('stable');
        if (check?.overlaps) {
            toasts.show('warn', 'The rest shape passes through itself', `${check.overlaps} pairs of faces meet, marked in red: it cannot be made like that.`, 0, 'overlaps');
            if (check.place) this.app.world.shapes[1]?.setDefects([check.place]);
        } else toasts.hide('overlaps');
    }

    private warnedOf = '';

    private showState(d: DesignMessage): void {
        const text = {
            preview: 'preview',
            refining: 'refining',
            converged: 'exact',
            failed: noShape(d) ? 'no rest shape' : 'not found',
        }[d.state];
        const tone = { preview: 'info', refining: 'info', converged: 'good', failed: 'bad' }[d.state];
        this.state.textContent = text;
        this.state.className = `pill ${tone}`;
        this.state.title =
            d.state === 'converged'
                ? `${d.iterations} iterations, ${quantity(d.refine_ms / 1000, 's')}, residual ${digits(d.relative_residual ?? NaN, 2)}`
                : d.detail;
        this.bar.hidden = d.state !== 'refining' && d.state !== 'preview';
        const i = this.bar.firstElementChild as HTMLElement;
        i.style.width = `${Math.round(100 * (d.state === 'refining' ? Math.min(0.97, d.progress) : 0))}%`;
    }

    private showNumbers(d: DesignMessage): void {
        const show = (name: string, value: number | null, text: (v: number) => string, tip: string, bad = false): HTMLElement => {
            const item = h('span', { title: tip, class: bad ? 'number bad' : 'number' }, h('i', { text: name }));
            item.append(h('b', { text: value === null ? '–' : text(value) }));
            return item;
        };
        this.numbers.replaceChildren(
            show('sags', d.sag, (v) => quantity(v, 'm'), 'How far the load takes the printed part at most'),
            show('least J', d.least_j, (v) => digits(v, 3), 'The smallest volume ratio under load', (d.least_j ?? 1) < 0.3),
            show('stretch', d.greatest_stretch, (v) => digits(v, 3), 'The largest principal stretch under load'),
        );
    }

    private showCard(d: DesignMessage): void {
        const failed = d.state === 'failed';
        if (!failed || this.closedFor === d.version) {
            this.card.hidden = true;
            for (const shape of this.app.world.shapes) if (!failed) shape.setDefects([]);
            return;
        }
        const { failure } = d;
        const reached = failure?.load_reached ?? d.load_reached;
        const close = button('', () => {
            this.closedFor = d.version;
            this.card.hidden = true;
        }, { icon: 'close', title: 'Close', class: 'round small' });
        this.card.replaceChildren(
            h('header', {}, icon('warn', 22), h('b', { text: noShape(d) ? 'No rest shape sags into this one' : 'The other shape was not found' }), close),
            h('p', { text: failure?.message || d.detail || d.reason }),
            h('div', { class: 'load-bar', title: 'How much of the load there is a shape for' }, h('i'), h('span', { text: `${digits(100 * reached, 3)} % of the load` })),
            // Where the reason does not say so itself.
            ...(/stiffer/.test(failure?.message ?? '') ? [] : [h('p', { class: 'advice', text: 'Make it stiffer or lighter, hold it in more places, or draw a shape that hangs more.' })]),
            h('div', { class: 'row' }, button('Undo the last edit', () => this.undo(), { icon: 'undo', class: 'primary' })),
        );
        (this.card.querySelector('.load-bar i') as HTMLElement).style.width = `${100 * Math.min(1, Math.max(0, reached))}%`;
        if (failure?.place)
            for (const shape of this.app.world.shapes) shape.setDefects([failure.place]);
        this.card.hidden = false;
        this.app.stage.draw();
    }

    undo(): void {
        void this.app.ask({ type: 'undo' });
    }

    redo(): void {
        void this.app.ask({ type: 'redo' });
    }

    toggleGravity(): void {
        const on = Math.hypot(...(this.app.design?.gravity ?? [0, 0, 0])) > 0;
        void this.app.ask({ type: 'gravity', value: on ? [0, 0, 0] : this.gravity });
    }

    private async save(choice: string): Promise<void> {
        const [what, shape] = choice.split(' ') as [string, string | undefined];
        if (what === 'scene') await saveDesign(this.app);
        else await download(this.app, what, shape);
    }
}

/** Only where that is known: a search that came no further has not shown that there is nothing. */
function noShape(d: DesignMessage): boolean {
    return /no rest shape/i.test(d.failure?.message ?? d.detail);
}

const exports: [string, string][] = [
    ['', 'Save…'],
    ['stl rest', 'Rest shape for printing, STL in mm'],
    ['vtu rest', 'Rest shape, .vtu'],
    ['vtu loaded', 'Loaded shape, .vtu'],
    ['glb rest', 'Rest shape, .glb'],
    ['glb loaded', 'Loaded shape, .glb'],
    ['scene', 'A scene of the rest shape, JSON'],
];

function title(name: string, note: string, given: boolean): HTMLElement {
    return h('div', { class: given ? 'pane-title given' : 'pane-title' }, h('b', { text: name }), h('span', { text: note }));
}
