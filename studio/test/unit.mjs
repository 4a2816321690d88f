// Tests of the parts of the page that need no browser. Run by `npm test`.
import assert from 'node:assert/strict';
import { createServer } from 'vite';
import { boxSurface, encode } from './packets.mjs';

const vite = await createServer({ server: { middlewareMode: true, hmr: false, ws: false }, appType: 'custom', logLevel: 'error', optimizeDeps: { noDiscovery: true } });
const load = (path) => vite.ssrLoadModule(path);
let passed = 0;
let failed = 0;

async function test(name, run) {
    try {
        await run();
        passed++;
    } catch (error) {
        failed++;
        console.log(`FAILED: ${name}: ${error.stack}`);
    }
}

await test('numbers have SI prefixes and no noise', async () => {
    const { quantity, digits, niceTicks } = await load('/src/units.ts');
    assert.equal(quantity(12500, 'Pa'), '12.5 kPa');
    assert.equal(quantity(0.0031, 'm'), '3.1 mm');
    assert.equal(quantity(2e11, 'Pa'), '200 GPa');
    assert.equal(quantity(1000, 'kg/m³'), '1000 kg/m³');
    assert.equal(quantity(NaN, 'N'), '–');
    assert.equal(digits(-0.25), '−0.25');
    assert.equal(digits(1000), '1000');
    assert.deepEqual(niceTicks(0, 10, 5), [0, 2, 4, 6, 8, 10]);
    assert.ok(niceTicks(0.97, 1.03, 6).length <= 7);
});

await test('quantities are read as they are written', async () => {
    const { parseQuantity } = await load('/src/ui/log-slider.ts');
    assert.equal(parseQuantity('2.5 MPa'), 2.5e6);
    assert.equal(parseQuantity('8.5e5'), 8.5e5);
    assert.equal(parseQuantity('1000 kg/m³'), 1000);
    assert.equal(parseQuantity('20 ms'), 0.02);
    assert.equal(parseQuantity('3 m'), 3);
    assert.equal(parseQuantity('-1'), null);
    assert.equal(parseQuantity('stiff'), null);
});

await test('binary messages are read without copies', async () => {
    const { decode, floats, integers } = await load('/src/net/binary.ts');
    const x = Float32Array.from([1, 2, 3, 4, 5, 6]);
    const numbers = Int32Array.from([7, -1, 9]);
    const buffer = encode({ kind: 1, topology: 5, seq: 9, time: 0.5, sent: 123.25, step: 3 }, [
        { what: 18, components: 1, data: numbers },
        { what: 1, shape: 1, components: 3, data: x },
    ]);
    const packet = decode(buffer);
    assert.equal(packet.topology, 5);
    assert.equal(packet.seq, 9);
    assert.equal(packet.time, 0.5);
    assert.equal(packet.sent, 123.25);
    assert.deepEqual(integers(packet, 18), numbers);
    assert.equal(floats(packet, 1), null);
    assert.deepEqual(floats(packet, 1, 1), x);
    assert.equal(floats(packet, 1, 1).buffer, buffer);
    assert.throws(() => decode(new ArrayBuffer(64)));
    assert.throws(() => decode(new ArrayBuffer(3)));
});

await test('sharp edges have two normals, flat faces one', async () => {
    const { splitAtCreases } = await load('/src/view/surface.ts');
    const { positions, triangles } = boxSurface([1, 1, 1], [2, 2, 2]);
    const split = splitAtCreases({ vertexCount: positions.length / 3, triangles, rest: positions });
    // Of each of the six sides nine vertices, none of them shared with another side.
    assert.equal(positions.length / 3, 26);
    assert.equal(split.count, 54);
    // 48 triangles have 72 edges, each of them once.
    assert.equal(split.edges.length / 2, 72);
    for (let c = 0; c < triangles.length; c++) assert.equal(split.source[split.corners[c]], triangles[c]);
});

await test('a ray meets the nearest side, and none behind it', async () => {
    const { intersect } = await load('/src/view/surface.ts');
    const { positions, triangles } = boxSurface([1, 1, 1], [3, 3, 3]);
    const ray = { origin: { x: 0.4, y: 0.3, z: 5 }, direction: { x: 0, y: 0, z: -1 } };
    const hit = intersect(ray, positions, triangles);
    assert.ok(Math.abs(hit.distance - 4) < 1e-6);
    assert.ok(Math.abs(hit.weights[0] + hit.weights[1] + hit.weights[2] - 1) < 1e-6);
    const point = [0, 0, 0];
    for (let c = 0; c < 3; c++)
        for (let k = 0; k < 3; k++) point[k] += hit.weights[c] * positions[3 * triangles[3 * hit.triangle + c] + k];
    assert.ok(Math.hypot(point[0] - 0.4, point[1] - 0.3, point[2] - 1) < 1e-6);
    const behind = { ...ray, origin: { x: 0.4, y: 0.3, z: -1 } };
    assert.equal(intersect(behind, positions, triangles), null);
    const far = intersect(ray, positions, triangles, (x, y, z) => z < 0.5);
    assert.ok(Math.abs(far.distance - 5) < 1e-6);
});

await test('ranges grow at once and shrink slowly', async () => {
    const { FieldRange } = await load('/src/view/fields.ts');
    const range = new FieldRange();
    range.follow('von_mises', new Float32Array(100).fill(10));
    assert.equal(range.range[1], 10);
    range.follow('von_mises', new Float32Array(100).fill(50));
    assert.equal(range.range[1], 50);
    range.follow('von_mises', new Float32Array(100).fill(0));
    assert.ok(range.range[1] > 40 && range.range[1] < 50);
    range.follow('J', Float32Array.from({ length: 100 }, () => 0.9));
    assert.ok(Math.abs(range.range[0] - 0.9) < 1e-6 && Math.abs(range.range[1] - 1.1) < 1e-6);
    range.follow('J', Float32Array.from([NaN, NaN]));
    assert.ok(range.range.every(Number.isFinite));
    assert.equal(range.known, false);
    // Bodies that have no values beside others that have some are left out.
    range.follow('von_mises', Float32Array.from([NaN, 3, NaN, 3]));
    assert.equal(range.known, true);
    assert.equal(range.range[1], 3);
});

await test('springs: rods from end to end, none for what broke', async () => {
    const { Springs } = await load('/src/view/springs.ts');
    const springs = new Springs(0.01);
    const row = (a, b, force) => [...a, ...b, force, 1];
    springs.set(Float32Array.from([...row([0, 0, 0], [0, 2, 0], 5), ...row([1, 0, 0], [1, 0, 3], NaN), ...row([-1, 0, 0], [-1, 0, -1], 0)]));
    assert.equal(springs.count, 2);
    assert.deepEqual(springs.bounds.min.toArray(), [-1, 0, -1]);
    assert.deepEqual(springs.bounds.max.toArray(), [0, 2, 0]);
    const rods = springs.group.children[0];
    assert.equal(rods.count, 2);
    assert.ok(Math.abs(rods.instanceMatrix.array[5] - 2) < 1e-6, 'as long as the spring');
    springs.set(null);
    assert.equal(springs.count, 0);
    assert.equal(rods.visible, false);
});

await test('colour scales are colours at both ends', async () => {
    const { colourTable } = await load('/src/view/colormap.ts');
    for (const name of ['spectrum', 'viridis', 'coolwarm']) {
        const table = colourTable(name);
        assert.equal(table.length, 1024);
        assert.ok(table.every((v, i) => i % 4 !== 3 || v === 255));
    }
    const [r, , b] = colourTable('spectrum');
    assert.ok(b > r, 'low values are blue');
});

await vite.close();
console.log(`unit: ${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 && passed > 0 ? 0 : 1;
