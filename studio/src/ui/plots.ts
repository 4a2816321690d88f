// Live plots: energies, residual, iterations, ms a step, least gap; in compare mode distance and ms.
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import type { App } from '../app';
import type { CompareStats, HistoryRow } from '../net/protocol';
import { digits, prefixFor } from '../units';
import { h } from './dom';

interface Curve {
    label: string;
    column: number;
    colour: string;
}

interface PlotSpec {
    key: string;
    title: string;
    unit: string;
    log?: boolean;
    curves: Curve[];
}

const blue = '#3a78e0';
const orange = '#e08a2c';
const green = '#2b9d72';
const red = '#d64550';
const violet = '#8a5bd0';
const grey = '#8b94a3';

const livePlots: PlotSpec[] = [
    {
        key: 'energy',
        title: 'Energy',
        unit: 'J',
        curves: [
            { label: 'total', column: 6, colour: grey },
            { label: 'elastic', column: 1, colour: blue },
            { label: 'gravity', column: 2, colour: orange },
            { label: 'kinetic', column: 5, colour: green },
            { label: 'contact', column: 4, colour: violet },
        ],
    },
    { key: 'residual', title: 'Residual', unit: '', log: true, curves: [{ label: 'residual', column: 8, colour: red }] },
    { key: 'iterations', title: 'Iterations', unit: '', curves: [{ label: 'iterations', column: 9, colour: violet }] },
    { key: 'ms', title: 'Time a step', unit: 'ms', curves: [{ label: 'ms', column: 10, colour: blue }] },
    { key: 'gap', title: 'Least gap', unit: 'm', curves: [{ label: 'gap', column: 11, colour: green }] },
];

const comparePlots: PlotSpec[] = [
    {
        key: 'distance',
        title: 'Distance between the two',
        unit: 'm',
        curves: [
            { label: 'RMS', column: 1, colour: blue },
            { label: 'greatest', column: 2, colour: orange },
        ],
    },
    {
        key: 'ms2',
        title: 'Time a step',
        unit: 'ms',
        curves: [
            { label: 'a', column: 3, colour: blue },
            { label: 'b', column: 4, colour: orange },
        ],
    },
];

const KEEP = 2400;
const HEIGHT = 118;

class Plot {
    readonly element = h('div', { class: 'plot' });
    private chart: uPlot | null = null;
    private readonly title = h('div', { class: 'plot-title' });
    private readonly host = h('div', { class: 'plot-host' });
    private readonly value = h('span', { class: 'plot-value' });
    private readonly keys: HTMLElement[] = [];
    private width = 0;

    constructor(
        readonly spec: PlotSpec,
        private readonly ink: () => string,
    ) {
        const keys = h('span', { class: 'plot-keys' });
        if (spec.curves.length > 1)
            for (const c of spec.curves) {
                const key = h('span', { class: 'plot-key', text: c.label });
                key.style.setProperty('--key', c.colour);
                keys.append(key);
                this.keys.push(key);
            }
        this.title.append(h('b', { text: spec.title }), keys, this.value);
        this.element.append(this.title, this.host);
    }

    private build(width: number): void {
        this.chart?.destroy();
        this.width = width;
        const ink = this.ink();
        const grid = { stroke: `color-mix(in srgb, ${ink} 14%, transparent)`, width: 1 };
        const axis: uPlot.Axis = { stroke: ink, grid, ticks: { show: false }, font: '10px system-ui' };
        const values: uPlot.Axis.DynamicValues = (_, ticks) =>
            ticks.map((t) => (t === null ? '' : this.withUnit(t)));
        this.chart = new uPlot(
            {
                width,
                height: HEIGHT,
                legend: { show: false },
                cursor: { drag: { x: false, y: false }, points: { size: 5 }, y: false },
                padding: [6, 16, 0, 0],
                scales: { x: { time: false }, y: this.spec.log ? { distr: 3 } : { auto: true } },
                axes: [
                    { ...axis, size: 22, space: 50, values: (_, t) => t.map((v) => `${digits(v)} s`) },
                    this.spec.log
                        ? { ...axis, size: 50, space: 14, ...decades(grid) }
                        : { ...axis, size: 50, space: 24, values },
                ],
                series: [
                    {},
                    ...this.spec.curves.map((c) => ({
                        label: c.label,
                        stroke: c.colour,
                        width: 1.5,
                        points: { show: false },
                        spanGaps: true,
                    })),
                ],
                hooks: { setCursor: [(u) => this.showValue(u.cursor.idx ?? null)] },
            },
            [[], ...this.spec.curves.map(() => [])],
            this.host,
        );
    }

    private withUnit(value: number): string {
        if (this.spec.unit === '' || value === 0) return digits(value);
        if (this.spec.unit === 'ms') return `${digits(value)} ms`;
        const s = prefixFor(Math.abs(value), this.spec.unit);
        return `${digits(value * s.factor)} ${s.unit}`;
    }

    private showValue(index: number | null): void {
        const data = this.chart?.data;
        if (!data) return;
        const at = index ?? data[0].length - 1;
        const shown = this.spec.curves.map((_, i) => data[i + 1]?.[at]);
        const first = shown.find((v): v is number => typeof v === 'number');
        const few = this.spec.curves.length === 1 && first !== undefined;
        const text = few ? this.withUnit(first) : '';
        this.value.textContent = text;
    }

    draw(rows: readonly HistoryRow[]): void {
        const width = this.host.clientWidth;
        if (width < 40) return;
        if (!this.chart || Math.abs(width - this.width) > 1) this.build(width);
        const x = rows.map((r) => Number(r[0]));
        const columns = this.spec.curves.map((c) => rows.map((r) => this.clean(r[c.column] ?? null)));
        this.chart!.setData([x, ...columns] as uPlot.AlignedData);
        this.showValue(this.chart!.cursor.idx ?? null);
    }

    private clean(value: number | string | null): number | null {
        if (typeof value !== 'number') return null;
        return this.spec.log && value <= 0 ? null : value;
    }

    /** What the curves are called from now on. */
    name(labels: readonly string[]): void {
        labels.forEach((text, i) => this.keys[i] && (this.keys[i].textContent = text));
    }

    restyle(): void {
        this.width = 0;
    }

    has(rows: readonly HistoryRow[]): boolean {
        return this.spec.curves.some((c) => rows.some((r) => typeof r[c.column] === 'number'));
    }
}

const isDecade = (v: number): boolean => Math.abs(Math.log10(v) - Math.round(Math.log10(v))) < 1e-9;

/** Lines and labels of a logarithmic axis at powers of ten only. */
export function decades(grid: uPlot.Axis.Grid): Partial<uPlot.Axis> {
    const only = (_: uPlot, splits: number[]): (number | null)[] => splits.map((v) => (isDecade(v) ? v : null));
    return {
        grid: { ...grid, filter: only },
        filter: only,
        values: (_, ticks) => ticks.map((v) => (v === null ? '' : `1e${Math.round(Math.log10(v))}`)),
    };
}

export class Plots {
    readonly element = h('div', { class: 'plots' });
    readonly rows: HistoryRow[] = [];
    private compareRows: HistoryRow[] = [];
    private readonly live: Plot[];
    private readonly compare: Plot[];
    private readonly empty = h('div', { class: 'plots-empty', text: 'Press play: energies, residual and times are drawn here.' });
    private timer = 0;

    constructor(private readonly app: App) {
        const ink = (): string => getComputedStyle(this.element).color;
        this.live = livePlots.map((s) => new Plot(s, ink));
        this.compare = comparePlots.map((s) => new Plot(s, ink));
        this.element.append(this.empty, ...[...this.live, ...this.compare].map((p) => p.element));
        app.on('stats', (stats) => this.take(stats.history, stats.compare, stats.time));
        app.on('scene', (scene) => {
            if (!scene.edited) this.clear();
            const names = scene.solvers?.map((s) => s.method) ?? [];
            this.compare.find((p) => p.spec.key === 'ms2')!.name(names);
        });
        app.on('frame', (frame) => {
            if (frame.step === 0 && this.rows.length + this.compareRows.length > 0) this.clear();
        });
        app.on('theme', () => {
            for (const p of [...this.live, ...this.compare]) p.restyle();
            this.drawSoon();
        });
        new ResizeObserver(() => this.drawSoon()).observe(this.element);
        this.draw();
    }

    private clear(): void {
        this.rows.length = 0;
        this.compareRows = [];
        this.drawSoon();
    }

    private take(history: readonly HistoryRow[], compare: CompareStats | undefined, time: number): void {
        add(this.rows, history, time);
        if (compare) add(this.compareRows, compare.history, time);
        if (history.length > 0 || compare) this.drawSoon();
    }

    /** A few times a second is enough, and leaves the time to the view. */
    private drawSoon(): void {
        if (this.timer) return;
        this.timer = window.setTimeout(() => {
            this.timer = 0;
            this.draw();
        }, 180);
    }

    draw(): void {
        if (this.element.hidden || this.element.clientHeight === 0) return;
        const comparing = this.app.scene?.mode === 'compare';
        const rows = comparing ? this.compareRows : this.rows;
        this.empty.hidden = rows.length > 1;
        for (const [plots, on] of [[this.live, !comparing], [this.compare, comparing]] as const)
            for (const p of plots) p.element.hidden = !on || rows.length < 2 || !p.has(rows);
        for (const p of comparing ? this.compare : this.live) if (!p.element.hidden) p.draw(rows);
    }

    get csv(): string {
        const head = 't,elastic,gravity,load,contact,kinetic,total,residual,relative_residual,iterations,ms,least_gap,reason';
        return [head, ...this.rows.map((r) => r.map((v) => v ?? '').join(','))].join('\n') + '\n';
    }
}

/** Rows are in the order of time; where it went back, the world was reset. */
function add(rows: HistoryRow[], history: readonly HistoryRow[], time: number): void {
    const last = rows.length > 0 ? Number(rows[rows.length - 1]![0]) : -Infinity;
    const first = history.length > 0 ? Number(history[0]![0]) : time;
    if (first < last - 1e-9) {
        const keep = rows.findIndex((r) => Number(r[0]) >= first - 1e-12);
        rows.length = Math.max(0, keep);
    }
    rows.push(...history);
    if (rows.length > KEEP) rows.splice(0, rows.length - KEEP);
}
