// Colour scales: curves through OKLab with the knots of the program's own pictures (cli/colormap.c),
// so that a screenshot and `hooke render` say the same by the same colour.

type Knot = readonly [lightness: number, chroma: number, hue: number];

export type ScaleName = 'spectrum' | 'viridis' | 'coolwarm';

const scales: Record<ScaleName, readonly Knot[]> = {
    spectrum: [
        [0.42, 0.145, 272],
        [0.55, 0.145, 255],
        [0.67, 0.125, 226],
        [0.76, 0.12, 180],
        [0.84, 0.155, 133],
        [0.87, 0.165, 96],
        [0.72, 0.175, 55],
        [0.54, 0.195, 27],
    ],
    viridis: [
        [0.28, 0.12, 315],
        [0.4, 0.11, 282],
        [0.52, 0.095, 235],
        [0.64, 0.11, 175],
        [0.77, 0.165, 135],
        [0.9, 0.185, 105],
    ],
    coolwarm: [
        [0.44, 0.165, 265],
        [0.6, 0.125, 258],
        [0.76, 0.065, 250],
        [0.89, 0.004, 90],
        [0.77, 0.075, 40],
        [0.61, 0.145, 31],
        [0.45, 0.175, 27],
    ],
};

function oklabToLinear(L: number, a: number, b: number): [number, number, number] {
    const l = (L + 0.3963377774 * a + 0.2158037573 * b) ** 3;
    const m = (L - 0.1055613458 * a - 0.0638541728 * b) ** 3;
    const s = (L - 0.0894841775 * a - 1.291485548 * b) ** 3;
    return [
        4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
        -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
        -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
    ];
}

function catmullRom(p: readonly number[], t: number): number {
    const [a, b, c, d] = p as [number, number, number, number];
    return b + 0.5 * t * (c - a + t * (2 * a - 5 * b + 4 * c - d + t * (3 * (b - c) + d - a)));
}

function encode(linear: number): number {
    const v = Math.min(1, Math.max(0, linear));
    return Math.round(255 * (v <= 0.0031308 ? 12.92 * v : 1.055 * v ** (1 / 2.4) - 0.055));
}

/** 256 colours as sRGB bytes, [256][4]. */
export function colourTable(name: ScaleName): Uint8Array {
    const labs = scales[name].map(([L, C, h]) => {
        const angle = (h * Math.PI) / 180;
        return [L, C * Math.cos(angle), C * Math.sin(angle)];
    });
    const last = labs.length - 1;
    const at = (i: number): number[] => labs[Math.min(last, Math.max(0, i))]!;
    const table = new Uint8Array(256 * 4);
    for (let i = 0; i < 256; i++) {
        const place = (i / 255) * last;
        const k = Math.min(last - 1, Math.floor(place));
        const lab = [0, 1, 2].map((c) =>
            catmullRom([at(k - 1)[c]!, at(k)[c]!, at(k + 1)[c]!, at(k + 2)[c]!], place - k),
        ) as [number, number, number];
        const rgb = oklabToLinear(...lab);
        table.set([encode(rgb[0]), encode(rgb[1]), encode(rgb[2]), 255], 4 * i);
    }
    return table;
}

/** Colours for things that are counted, not measured (materials, bodies), sRGB. */
export const categories: readonly number[] = [
    0x5b8fd6, 0xe39b4b, 0x67b58a, 0xc8698c, 0x9a83d0, 0xb9a44a, 0x57b3c2, 0xb57a5a,
];
