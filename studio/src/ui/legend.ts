// The legend, drawn on a canvas of its own so that pictures and films have the same.
import { colourTable, type ScaleName } from '../view/colormap';
import { digits, niceTicks, prefixFor } from '../units';
import { h } from './dom';

export interface LegendSpec {
    title: string;
    unit: string;
    scale: ScaleName;
    range: [number, number];
    /** Instead of a scale: what has which colour. */
    kinds?: { colour: number; label: string }[];
}

const WIDTH = 128;
const TITLE = '600 12px system-ui, sans-serif';
const KINDS_WIDTH = 216;
const HEIGHT = 236;

export class Legend {
    readonly element = h('canvas', { class: 'legend', attrs: { 'aria-label': 'Legend' } });
    private spec: LegendSpec | null = null;
    private drawn = '';
    private readonly measure = document.createElement('canvas').getContext('2d')!;
    private readonly tables = new Map<ScaleName, Uint8Array>();

    set(spec: LegendSpec | null): void {
        this.spec = spec;
        this.element.hidden = spec === null;
        const style = getComputedStyle(this.element);
        const key = JSON.stringify([spec, devicePixelRatio, style.color]);
        if (!spec || key === this.drawn) return;
        this.drawn = key;
        const ratio = Math.max(1, devicePixelRatio);
        const width = this.width;
        this.element.width = width * ratio;
        this.element.height = HEIGHT * ratio;
        this.element.style.width = `${width}px`;
        this.element.style.height = `${HEIGHT}px`;
        const context = this.element.getContext('2d')!;
        context.scale(ratio, ratio);
        this.paint(context, style.color);
    }

    /** Into a picture, with its right edge at x. */
    drawInto(context: CanvasRenderingContext2D, right: number, top: number, ink: string): void {
        if (!this.spec) return;
        context.save();
        context.translate(right - this.width, top);
        this.paint(context, ink);
        context.restore();
    }

    /** As wide as its title is in the font that there is. */
    private get width(): number {
        if (this.spec!.kinds) return KINDS_WIDTH;
        this.measure.font = TITLE;
        return Math.max(WIDTH, Math.ceil(this.measure.measureText(this.spec!.title).width) + 20);
    }

    get text(): string {
        return this.spec ? this.labels().join(' ') : '';
    }

    private labels(): string[] {
        const { range, unit, title, kinds } = this.spec!;
        if (kinds) return [title, ...kinds.map((k) => k.label)];
        const scaled = prefixFor(Math.max(Math.abs(range[0]), Math.abs(range[1])), unit);
        const ticks = niceTicks(range[0] * scaled.factor, range[1] * scaled.factor, 6);
        return [title, scaled.unit, ...ticks.map((t) => digits(t, 4))];
    }

    private paintKinds(g: CanvasRenderingContext2D, ink: string): void {
        const { title, kinds } = this.spec!;
        g.textAlign = 'right';
        g.fillStyle = ink;
        g.font = TITLE;
        g.fillText(title, KINDS_WIDTH - 16, 16);
        g.font = '12px system-ui, sans-serif';
        kinds!.slice(0, 9).forEach(({ colour, label }, i) => {
            const y = 40 + 22 * i;
            g.fillStyle = `#${colour.toString(16).padStart(6, '0')}`;
            g.fillRect(KINDS_WIDTH - 28, y - 9, 12, 12);
            g.fillStyle = ink;
            g.fillText(label, KINDS_WIDTH - 34, y + 2, KINDS_WIDTH - 38);
        });
    }

    private paint(g: CanvasRenderingContext2D, ink: string): void {
        if (this.spec!.kinds) {
            this.paintKinds(g, ink);
            return;
        }
        const { range, unit, title, scale } = this.spec!;
        const scaled = prefixFor(Math.max(Math.abs(range[0]), Math.abs(range[1])), unit);
        const [low, high] = [range[0] * scaled.factor, range[1] * scaled.factor];
        const table = this.tables.get(scale) ?? colourTable(scale);
        this.tables.set(scale, table);
        const [x, y, width, height] = [this.width - 30, 44, 14, 176];
        for (let i = 0; i < height; i++) {
            const c = 4 * Math.round(255 * (1 - i / (height - 1)));
            g.fillStyle = `rgb(${table[c]}, ${table[c + 1]}, ${table[c + 2]})`;
            g.fillRect(x, y + i, width, 1.5);
        }
        g.fillStyle = ink;
        g.textAlign = 'right';
        g.font = TITLE;
        g.fillText(title, x + width, 16);
        g.globalAlpha = 0.75;
        g.font = '12px system-ui, sans-serif';
        g.fillText(scaled.unit, x + width, 32);
        g.globalAlpha = 1;
        g.textBaseline = 'middle';
        for (const tick of niceTicks(low, high, 6)) {
            const at = y + height * (1 - (tick - low) / Math.max(high - low, 1e-30));
            g.fillText(digits(tick, 4), x - 8, at);
            g.fillRect(x - 5, at - 0.5, 5, 1);
        }
        g.textBaseline = 'alphabetic';
    }
}
