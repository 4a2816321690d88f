// Two methods side by side: which ones, how far apart, how long they take; and error against time.
import uPlot from 'uplot';
import type { App } from '../app';
import type { DoneMessage, SolverChoice } from '../net/protocol';
import { digits, quantity } from '../units';
import { button, h } from './dom';
import { decades } from './plots';

const palette = ['#3a78e0', '#e08a2c', '#2b9d72', '#8a5bd0'];

export class ComparePanel {
    readonly element: HTMLElement;
    readonly titles = h('div', { class: 'pane-titles' });
    readonly convergence = h('div', { class: 'convergence' });
    private readonly choices = [this.choice(0), this.choice(1)];
    private readonly distance = h('span', { class: 'number' });

    constructor(private readonly app: App) {
        this.element = h(
            'div',
            { class: 'compare-bar' },
            this.choices[0],
            h('span', { class: 'versus', text: 'against' }),
            this.choices[1],
            this.distance,
            button('Error against time', () => void this.showConvergence(), {
                icon: 'chart',
                title: 'One step of here by both methods, against the exact one',
                id: 'convergence',
            }),
        );
        this.element.hidden = this.titles.hidden = this.convergence.hidden = true;
        app.on('scene', (scene) => this.enter(scene.mode === 'compare', scene.solvers ?? []));
        app.on('stats', () => this.showStats());
    }

    private choice(i: number): HTMLSelectElement {
        return h('select', {
            class: 'select',
            title: `Method ${'ab'[i]}`,
            on: { change: () => this.start() },
        });
    }

    private enter(on: boolean, solvers: readonly SolverChoice[]): void {
        const began = on && this.element.hidden;
        this.element.hidden = this.titles.hidden = !on;
        if (!on) this.convergence.hidden = true;
        if (began) this.distance.replaceChildren();
        if (solvers.length < 2) return;
        // Also where another page, or this one before it was loaded again, began the comparison.
        solvers.forEach((s, i) => this.fill(this.choices[i]!, s.method));
        const known = this.app.stats?.compare?.methods;
        if (began || solvers.some((s, i) => s.method !== known?.[i])) this.showTitles(solvers.map((s) => s.method), []);
    }

    private fill(choice: HTMLSelectElement, method: string): void {
        const methods = this.app.tables?.methods ?? [];
        choice.replaceChildren(
            ...methods.map((m) => h('option', { text: m.name, title: m.summary, attrs: { value: m.name } })),
        );
        choice.value = method;
    }

    private showTitles(methods: readonly string[], ms: readonly number[]): void {
        this.titles.replaceChildren(
            ...methods.map((m, i) =>
                h(
                    'div',
                    { class: 'pane-title' },
                    h('b', { text: m }),
                    h('span', { text: ms[i] === undefined ? '' : `${digits(ms[i]!, 3)} ms a step` }),
                ),
            ),
        );
    }

    /** Compare mode with these methods; without: those chosen before, or what is set and Newton's. */
    start(): void {
        const now = this.app.scene?.solver.method ?? 'newton';
        const first = this.choices[0]!.value || now;
        const second = this.choices[1]!.value || (first === 'newton' ? 'quasi_newton' : 'newton');
        [first, second].forEach((wanted, i) => this.fill(this.choices[i]!, wanted));
        void this.app.ask(
            { type: 'mode', mode: 'compare', methods: [{ method: first }, { method: second }] },
            'These cannot be compared',
        );
    }

    private showStats(): void {
        const compare = this.app.stats?.compare;
        if (!compare || this.element.hidden) return;
        const last = compare.history[compare.history.length - 1];
        const rms = last?.[1];
        this.distance.replaceChildren(
            h('i', { text: 'apart' }),
            h('b', { text: typeof rms === 'number' ? quantity(rms, 'm') : '–' }),
        );
        this.showTitles(compare.methods, compare.ms_per_step);
    }

    async showConvergence(): Promise<void> {
        this.app.toasts.show('info', 'Taking one step to full precision', '', 0, 'convergence');
        const answer = await this.app.ask({ type: 'convergence' }, 'The step could not be compared');
        this.app.toasts.hide('convergence');
        if (answer?.curves) this.draw(answer);
    }

    private draw(answer: DoneMessage): void {
        const curves = answer.curves ?? [];
        const close = button('', () => (this.convergence.hidden = true), { icon: 'close', title: 'Close', class: 'round small' });
        const host = h('div', { class: 'plot-host' });
        const keys = curves.map((c, i) => {
            const exact = i === curves.length - 1 && i > 1;
            const key = h('span', { class: 'plot-key', text: exact ? `${c.method}, exact` : c.method });
            key.style.setProperty('--key', palette[i % palette.length]!);
            return key;
        });
        this.convergence.replaceChildren(
            h('header', {}, h('b', { text: 'Error against time' }), ...keys, close),
            host,
            h('p', { class: 'note', text: `Of one step from here: (ε − ε*) / (ε₀ − ε*), ε* by ${answer.reference ?? 'newton'} to full precision` }),
        );
        this.convergence.hidden = false;
        this.plot(host, curves);
    }

    /** How tall the view is: the card has to fit into it. */
    private room(): number {
        return this.convergence.parentElement?.clientHeight ?? 400;
    }

    private plot(host: HTMLElement, curves: NonNullable<DoneMessage['curves']>): void {
        const ink = getComputedStyle(this.convergence).color;
        const grid = { stroke: `color-mix(in srgb, ${ink} 14%, transparent)`, width: 1 };
        const tables = curves.map((c): uPlot.AlignedData => [
            c.points.map((p) => p[1]),
            c.points.map((p) => (p[2] > 0 ? p[2] : null)),
        ]);
        const data = uPlot.join(tables);
        const axis: uPlot.Axis = { stroke: ink, grid, ticks: { show: false }, font: '11px system-ui' };
        new uPlot(
            {
                width: Math.min(486, this.convergence.clientWidth - 34),
                height: Math.max(120, Math.min(260, this.room() - 96)),
                legend: { show: false },
                cursor: { drag: { x: false, y: false } },
                scales: { x: { time: false }, y: { distr: 3 } },
                axes: [
                    { ...axis, size: 28, values: (_, t) => t.map((v) => `${digits(v)} ms`) },
                    { ...axis, size: 54, ...decades(grid) },
                ],
                series: [
                    {},
                    ...curves.map((c, i) => ({
                        label: c.method,
                        stroke: palette[i % palette.length]!,
                        width: 2,
                        spanGaps: true,
                        points: { show: true, size: 5 },
                    })),
                ],
            },
            data,
            host,
        );
    }
}
