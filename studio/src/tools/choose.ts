// Choosing parts of the surface: with a brush, or with a rectangle on the screen.
import * as THREE from 'three';
import type { App } from '../app';
import type { Selection } from '../net/protocol';
import type { ShapeView } from '../view/shape-view';
import type { Picked, WorldView } from '../view/world-view';

/** A message to the server has at most 256 KiB. */
const MOST = 24000;

/** Told where it is so. */
export function isTooMuch(app: App, selection: Selection): boolean {
    const count = Math.max(selection.vertices?.length ?? 0, selection.triangles?.length ?? 0);
    if (count > MOST) app.toasts.show('warn', 'That is too much at once', 'Choose it in several parts.', 6);
    return count > MOST;
}

export class Brush {
    private readonly chosen = new Set<number>();
    private readonly view: ShapeView;
    private first = -1;

    constructor(
        private readonly world: WorldView,
        readonly shape: number,
        private readonly radius: number,
        readonly pointer = 0,
    ) {
        this.view = world.shapes[shape]!;
    }

    /** Triangles of which a corner is within the radius, and the one that was hit. */
    dab(hit: Picked): void {
        if (this.first < 0) this.first = hit.triangle;
        const x = this.view.body.positions;
        const { triangles } = this.view.data.surface;
        const [px, py, pz] = hit.point;
        const square = this.radius * this.radius;
        this.chosen.add(hit.triangle);
        for (let c = 0; c < triangles.length; c++) {
            const v = 3 * triangles[c]!;
            const d = (x[v]! - px) ** 2 + (x[v + 1]! - py) ** 2 + (x[v + 2]! - pz) ** 2;
            if (d <= square) this.chosen.add(Math.floor(c / 3));
        }
        this.view.chosenDots.set(x, this.vertices());
        this.world.stage.draw();
    }

    private vertices(): number[] {
        const { triangles } = this.view.data.surface;
        const set = new Set<number>();
        for (const t of this.chosen) for (let c = 0; c < 3; c++) set.add(triangles[3 * t + c]!);
        return [...set];
    }

    selection(): Selection | null {
        const { topology } = this.view.data.topology;
        return this.chosen.size > 0 ? { triangles: [...this.chosen], topology } : null;
    }

    body(): number {
        return this.world.bodyOf(this.first);
    }

    center(): THREE.Vector3 {
        const x = this.view.body.positions;
        const vertices = this.vertices();
        const sum = new THREE.Vector3();
        for (const v of vertices) sum.add(new THREE.Vector3().fromArray(x, 3 * v));
        return sum.divideScalar(Math.max(1, vertices.length));
    }

    clear(): void {
        this.view.chosenDots.set([]);
        this.world.stage.draw();
    }
}

/** What of the surface a rectangle of the window shows, near and far: its vertices, or where a skin
 * is among it, which has none of its own, its triangles. */
export function insideRectangle(app: App, a: [number, number], b: [number, number]): Selection | null {
    const pane = app.stage.rayAt(...a)?.pane ?? 0;
    const view = app.world.shapes[pane];
    if (!view) return null;
    const [x0, x1] = [Math.min(a[0], b[0]), Math.max(a[0], b[0])];
    const [y0, y1] = [Math.min(a[1], b[1]), Math.max(a[1], b[1])];
    const x = view.body.positions;
    const point = new THREE.Vector3();
    const numbers = new Set<number>();
    const inside = new Uint8Array(x.length / 3);
    let skin = false;
    for (let v = 0; 3 * v < x.length; v++) {
        const at = app.stage.project(point.fromArray(x, 3 * v), pane);
        const number = view.data.vertexNumbers[v]!;
        if (!(at.x >= x0 && at.x <= x1 && at.y >= y0 && at.y <= y1)) continue;
        inside[v] = 1;
        if (number >= 0) numbers.add(number);
        else skin = true;
    }
    if (!skin) return numbers.size > 0 ? { vertices: [...numbers] } : null;
    const { triangles } = view.data.surface;
    const chosen: number[] = [];
    for (let t = 0; 3 * t < triangles.length; t++)
        if (inside[triangles[3 * t]!] && inside[triangles[3 * t + 1]!] && inside[triangles[3 * t + 2]!]) chosen.push(t);
    return chosen.length > 0 ? { triangles: chosen, topology: view.data.topology.topology } : null;
}
