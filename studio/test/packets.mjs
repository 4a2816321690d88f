// Binary messages as the server makes them (PROTOCOL.md), for tests without one.
const formats = new Map([[Float32Array, 0], [Uint32Array, 1], [Int32Array, 2], [Uint8Array, 3]]);

export function encode({ kind, topology = 1, seq = 0, time = 0, sent = 0, serverMs = 0, step = 0, stepMs = 0 }, blocks) {
    const padded = (b) => 8 * Math.ceil(b.data.byteLength / 8);
    const size = 64 + blocks.reduce((n, b) => n + 16 + padded(b), 0);
    const buffer = new ArrayBuffer(size);
    const view = new DataView(buffer);
    new Uint8Array(buffer).set(new TextEncoder().encode('HKS1'));
    [[4, kind], [8, topology], [12, seq], [40, step], [44, blocks.length]].forEach(([at, v]) => view.setUint32(at, v, true));
    [[16, time], [24, sent], [32, serverMs]].forEach(([at, v]) => view.setFloat64(at, v, true));
    view.setFloat32(48, stepMs, true);
    let at = 64;
    for (const b of blocks) {
        view.setUint16(at, b.what, true);
        view.setUint16(at + 2, b.shape ?? 0, true);
        view.setUint32(at + 4, formats.get(b.data.constructor), true);
        view.setUint32(at + 8, b.components, true);
        view.setUint32(at + 12, b.data.length / b.components, true);
        new Uint8Array(buffer, at + 16, b.data.byteLength).set(new Uint8Array(b.data.buffer, b.data.byteOffset, b.data.byteLength));
        at += 16 + padded(b);
    }
    return buffer;
}

/** The surface of a box of cells, every vertex once. */
export function boxSurface(size, cells) {
    const numbers = new Map();
    const positions = [];
    const triangles = [];
    const vertex = (p) => {
        const key = p.join();
        if (!numbers.has(key)) {
            numbers.set(key, numbers.size);
            positions.push(...p.map((v, i) => (v / cells[i]) * size[i]));
        }
        return numbers.get(key);
    };
    for (let axis = 0; axis < 3; axis++)
        for (const side of [0, cells[axis]]) {
            const u = (axis + 1) % 3;
            const v = (axis + 2) % 3;
            for (let i = 0; i < cells[u]; i++)
                for (let j = 0; j < cells[v]; j++) {
                    const at = (a, b) => {
                        const p = [0, 0, 0];
                        p[axis] = side;
                        p[u] = i + a;
                        p[v] = j + b;
                        return vertex(p);
                    };
                    const quad = [at(0, 0), at(1, 0), at(1, 1), at(0, 1)];
                    if (side === 0) quad.reverse();
                    triangles.push(quad[0], quad[1], quad[2], quad[0], quad[2], quad[3]);
                }
        }
    return { positions: Float32Array.from(positions), triangles: Uint32Array.from(triangles) };
}
