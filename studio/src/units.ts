// Numbers for people: SI prefixes, ticks at round values.

const prefixes: readonly [exponent: number, prefix: string][] = [
    [9, 'G'],
    [6, 'M'],
    [3, 'k'],
    [0, ''],
    [-3, 'm'],
    [-6, 'µ'],
    [-9, 'n'],
];

export interface Scaled {
    factor: number;
    unit: string;
}

/** The prefix with which the largest of the values is between 1 and 1000. */
export function prefixFor(largest: number, unit: string): Scaled {
    if (unit === '' || unit === '–' || unit.startsWith('kg') || !(largest > 0) || !Number.isFinite(largest))
        return { factor: 1, unit };
    const exponent = Math.floor(Math.log10(largest) + 1e-9);
    // mPa is too much like MPa, and far below what a body feels.
    if (unit === 'Pa' && exponent < 0) return { factor: 1, unit };
    for (const [e, prefix] of prefixes)
        if (exponent >= e) return { factor: 10 ** -e, unit: prefix + unit };
    const [e, prefix] = prefixes[prefixes.length - 1]!;
    return { factor: 10 ** -e, unit: prefix + unit };
}

/** Three significant digits, without a trailing ".0" or an exponent where none is needed. */
export function digits(value: number, count = 3): string {
    if (!Number.isFinite(value)) return '–';
    if (value === 0) return '0';
    const size = Math.abs(value);
    if (size < 1e-4 || size >= 1e6) return value.toExponential(Math.max(0, count - 1)).replace('e+', 'e');
    const decimals = Math.max(0, count - 1 - Math.floor(Math.log10(size) + 1e-12));
    const text = value.toFixed(Math.min(decimals, 8));
    return (text.includes('.') ? text.replace(/\.?0+$/, '') : text).replace('-', '−');
}

/** "12.5 kPa" */
export function quantity(value: number, unit: string, count = 3): string {
    if (!Number.isFinite(value)) return '–';
    const scaled = prefixFor(Math.abs(value), unit);
    const text = digits(value * scaled.factor, count);
    return scaled.unit === '' || scaled.unit === '–' ? text : `${text} ${scaled.unit}`;
}

/** Round numbers 1, 2, 5 × 10ⁿ between two values, at most about `wanted` of them. */
export function niceTicks(low: number, high: number, wanted: number): number[] {
    const span = high - low;
    if (!(span > 0) || !Number.isFinite(span)) return [low];
    const raw = span / Math.max(1, wanted);
    const base = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 5, 10].map((m) => m * base).find((s) => span / s <= wanted + 0.5) ?? 10 * base;
    const ticks: number[] = [];
    const first = Math.ceil(low / step - 1e-9);
    for (let i = first; i * step <= high + 1e-9 * span; i++) ticks.push(i * step + 0);
    return ticks;
}

export function seconds(value: number): string {
    if (!Number.isFinite(value)) return '–';
    if (value < 10) return `${value.toFixed(2)} s`;
    if (value < 60) return `${value.toFixed(1)} s`;
    return `${Math.floor(value / 60)}:${(value % 60).toFixed(0).padStart(2, '0')} min`;
}

export function bytes(value: number): string {
    if (value < 1024) return `${value} B`;
    if (value < 1 << 20) return `${(value / 1024).toFixed(0)} kB`;
    return `${(value / (1 << 20)).toFixed(1)} MB`;
}
