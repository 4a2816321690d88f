// A slider over decades, with the value in SI units beside it; lil-gui's own are linear.
import type GUI from 'lil-gui';
import { quantity } from '../units';
import { h } from './dom';

export function logSlider(
    folder: GUI,
    name: string,
    unit: string,
    value: number,
    range: [number, number],
    change: (value: number) => void,
): (value: number) => void {
    const bounds = [Math.min(range[0], value), Math.max(range[1], value)].map((v) => Math.log10(Math.max(v, 1e-30)));
    const slider = h('input', {
        class: 'log-slider',
        attrs: {
            type: 'range',
            min: String(bounds[0]),
            max: String(bounds[1]),
            step: '0.001',
            'aria-label': name,
            value: String(Math.log10(Math.max(value, 1e-30))),
        },
    });
    const text = h('input', { class: 'log-text', attrs: { type: 'text', 'aria-label': name, spellcheck: 'false' } });
    text.value = quantity(value, unit);
    slider.addEventListener('input', () => {
        const v = Number((10 ** Number(slider.value)).toPrecision(3));
        text.value = quantity(v, unit);
        change(v);
    });
    text.addEventListener('focus', () => text.select());
    text.addEventListener('keydown', (e) => {
        if (e.key === 'Enter') text.blur(); // the keys of the page work again
    });
    text.addEventListener('change', () => {
        const v = parseQuantity(text.value);
        if (v === null) {
            text.value = quantity(10 ** Number(slider.value), unit);
            return;
        }
        slider.value = String(Math.log10(v));
        text.value = quantity(v, unit);
        change(v);
    });
    const host = folder.$children;
    host.append(h('label', { class: 'log-row' }, h('span', { class: 'log-name', text: name }), slider, text));
    // What the server has now, unless somebody is at it.
    return (now) => {
        if (document.activeElement === text || document.activeElement === slider) return;
        const place = Math.log10(Math.max(now, 1e-30));
        slider.min = String(Math.min(Number(slider.min), place));
        slider.max = String(Math.max(Number(slider.max), place));
        slider.value = String(place);
        text.value = quantity(now, unit);
    };
}

const factors: Record<string, number> = { G: 1e9, M: 1e6, k: 1e3, m: 1e-3, µ: 1e-6, u: 1e-6 };

/** "2.5 MPa", "2.5e6", "0.02 s": a positive number, or null. */
export function parseQuantity(text: string): number | null {
    const match = /^\s*([\d.]+(?:e[-+]?\d+)?)\s*([GMkmµu]?)([A-Za-z/³²]*)\s*$/i.exec(text.replace(',', '.'));
    if (!match) return null;
    const prefix = match[2] ?? '';
    // "m" alone is the metre, and "kg" has its prefix in the unit.
    const scaled = prefix !== '' && (match[3] ?? '') !== '' && !/^kg/.test(prefix + match[3]);
    const value = Number(match[1]) * (scaled ? (factors[prefix] ?? 1) : 1);
    return Number.isFinite(value) && value > 0 ? value : null;
}
