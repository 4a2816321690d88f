// How values become colours: which scale, which range, and how the range follows them.
import * as THREE from 'three';
import type { FieldTable, TopologyMessage } from '../net/protocol';
import type { LegendSpec } from '../ui/legend';
import { categories, colourTable, type ScaleName } from './colormap';

const textures = new Map<ScaleName, THREE.DataTexture>();

export function scaleTexture(name: ScaleName): THREE.DataTexture {
    let texture = textures.get(name);
    if (!texture) {
        texture = new THREE.DataTexture(colourTable(name), 256, 1, THREE.RGBAFormat);
        texture.minFilter = texture.magFilter = THREE.LinearFilter;
        texture.needsUpdate = true;
        textures.set(name, texture);
    }
    return texture;
}

export function scaleFor(field: string): ScaleName {
    if (field === 'J') return 'coolwarm';
    return field === 'von_mises' || field === 'contact_force' ? 'spectrum' : 'viridis';
}

/** Samples are enough for a range: at most so many are sorted. */
const SAMPLES = 1500;
const sample = new Float32Array(SAMPLES);

/** Of the finite values the one below which the fraction lies. */
function quantiles(values: Float32Array, fractions: readonly number[]): number[] {
    const stride = Math.max(1, Math.floor(values.length / SAMPLES));
    let count = 0;
    for (let i = 0; i < values.length && count < SAMPLES; i += stride)
        if (Number.isFinite(values[i]!)) sample[count++] = values[i]!;
    if (count === 0) return fractions.map(() => NaN);
    const sorted = sample.subarray(0, count).sort();
    return fractions.map((f) => sorted[Math.round(f * (count - 1))]!);
}

/** A range that grows at once and shrinks slowly, so that colours do not flicker. */
export class FieldRange {
    range: [number, number] = [0, 1];
    fixed: [number, number] | null = null;
    /** Of what is shown: values far below these are rounding, not a result. */
    scales = { size: 1, young: 1 };
    private field = '';
    /** Whether there were values at all: sheets have no stress. */
    known = true;

    follow(field: string, values: Float32Array): void {
        if (this.fixed) {
            this.range = this.fixed;
            return;
        }
        const [low, high] = quantiles(values, [0.02, 0.98]) as [number, number];
        this.known = Number.isFinite(high);
        if (!this.known) return;
        const wanted = this.wanted(field, low, high);
        const fresh = field !== this.field;
        this.field = field;
        if (fresh) this.range = wanted;
        const ease = (now: number, goal: number, grows: boolean): number =>
            grows ? goal : now + 0.04 * (goal - now);
        this.range = [
            ease(this.range[0], wanted[0], wanted[0] < this.range[0]),
            ease(this.range[1], wanted[1], wanted[1] > this.range[1]),
        ];
    }

    private wanted(field: string, low: number, high: number): [number, number] {
        if (field === 'J') {
            const reach = Math.max(Math.abs(1 - low), Math.abs(high - 1), 0.005);
            return [1 - reach, 1 + reach];
        }
        if (field === 'stretch') return [1, Math.max(high, 1.005)];
        const { size, young } = this.scales;
        const least = { von_mises: 1e-5 * young, displacement: 1e-4 * size, velocity: 1e-3 * size }[field] ?? 1e-12;
        return [0, Math.max(high, least)];
    }

    forget(): void {
        this.field = '';
    }
}

export function legendFor(
    table: FieldTable | undefined,
    field: string,
    range: [number, number],
): LegendSpec | null {
    if (!table) return null;
    const short = table.label.charAt(0).toUpperCase() + table.label.slice(1);
    return { title: short, unit: table.unit, scale: scaleFor(field), range };
}

/** Colours of materials, of those that there are more than once only the first. */
export function legendOfMaterials(materials: TopologyMessage['materials']): LegendSpec {
    const kinds = materials.map((m, i) => ({
        colour: categories[i % categories.length]!,
        label: m.label.replaceAll('_', ' '),
    }));
    return { title: 'Material', unit: '', scale: 'viridis', range: [0, 1], kinds };
}
