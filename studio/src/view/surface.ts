// The geometry of a surface: what a renderer needs beside positions. Vertices are doubled where
// faces meet at a sharp edge, so that a box looks like a box and a sphere smooth.

export interface Surface {
    vertexCount: number;
    triangles: Uint32Array; // [triangleCount][3], of surface vertices
    rest: Float32Array; // [vertexCount][3] m
}

export interface Split {
    count: number;
    source: Uint32Array; // [count], the surface vertex of each vertex to draw
    corners: Uint32Array; // [triangleCount][3], of vertices to draw
    edges: Uint32Array; // [edgeCount][2], of vertices to draw
}

const SHARP = Math.cos((38 * Math.PI) / 180);

export function faceNormals(x: Float32Array, triangles: Uint32Array, out: Float32Array): void {
    for (let f = 0; f < triangles.length; f += 3) {
        const a = 3 * triangles[f]!;
        const b = 3 * triangles[f + 1]!;
        const c = 3 * triangles[f + 2]!;
        const ux = x[b]! - x[a]!;
        const uy = x[b + 1]! - x[a + 1]!;
        const uz = x[b + 2]! - x[a + 2]!;
        const vx = x[c]! - x[a]!;
        const vy = x[c + 1]! - x[a + 1]!;
        const vz = x[c + 2]! - x[a + 2]!;
        out[f] = uy * vz - uz * vy;
        out[f + 1] = uz * vx - ux * vz;
        out[f + 2] = ux * vy - uy * vx;
    }
}

function unitDot(n: Float32Array, f: number, g: number): number {
    const dot = n[f]! * n[g]! + n[f + 1]! * n[g + 1]! + n[f + 2]! * n[g + 2]!;
    const size =
        Math.hypot(n[f]!, n[f + 1]!, n[f + 2]!) * Math.hypot(n[g]!, n[g + 1]!, n[g + 2]!);
    return size > 0 ? dot / size : 1;
}

class Sets {
    private readonly parent: Uint32Array;
    constructor(count: number) {
        this.parent = new Uint32Array(count).map((_, i) => i);
    }
    find(i: number): number {
        while (this.parent[i] !== i) {
            this.parent[i] = this.parent[this.parent[i]!]!;
            i = this.parent[i]!;
        }
        return i;
    }
    join(i: number, j: number): void {
        this.parent[this.find(i)] = this.find(j);
    }
}

/** Corners of faces that share an edge which is not sharp become one vertex. */
export function splitAtCreases(surface: Surface): Split {
    const { triangles, vertexCount } = surface;
    const normals = new Float32Array(triangles.length);
    faceNormals(surface.rest, triangles, normals);
    const corners = new Sets(triangles.length);
    const first = new Map<number, number>(); // edge → the corner where it begins, of one face
    const edgeCorners: number[] = [];
    for (let corner = 0; corner < triangles.length; corner++) {
        const face = corner - (corner % 3);
        const next = face + ((corner + 1) % 3);
        const a = triangles[corner]!;
        const b = triangles[next]!;
        const key = a < b ? a * vertexCount + b : b * vertexCount + a;
        const other = first.get(key);
        if (other === undefined) {
            first.set(key, corner);
            edgeCorners.push(corner, next);
            continue;
        }
        const otherFace = other - (other % 3);
        const otherNext = otherFace + ((other + 1) % 3);
        if (unitDot(normals, face, otherFace) < SHARP) continue;
        const same = triangles[other] === a;
        corners.join(corner, same ? other : otherNext);
        corners.join(next, same ? otherNext : other);
    }
    return numberCorners(triangles, corners, edgeCorners);
}

function numberCorners(triangles: Uint32Array, sets: Sets, edgeCorners: number[]): Split {
    const numbers = new Int32Array(triangles.length).fill(-1);
    const source: number[] = [];
    const corners = new Uint32Array(triangles.length);
    for (let corner = 0; corner < triangles.length; corner++) {
        const root = sets.find(corner);
        if (numbers[root]! < 0) {
            numbers[root] = source.length;
            source.push(triangles[corner]!);
        }
        corners[corner] = numbers[root]!;
    }
    return {
        count: source.length,
        source: Uint32Array.from(source),
        corners,
        edges: Uint32Array.from(edgeCorners, (c) => corners[c]!),
    };
}

export interface Hit {
    triangle: number;
    weights: [number, number, number];
    point: [number, number, number];
    distance: number;
}

export interface Ray {
    origin: { x: number; y: number; z: number };
    direction: { x: number; y: number; z: number };
}

/** Möller & Trumbore 1997 over all triangles: a few tenths of a millisecond for ten thousand. */
export function intersect(
    ray: Ray,
    x: Float32Array,
    triangles: Uint32Array,
    accepts: (px: number, py: number, pz: number) => boolean = () => true,
): Hit | null {
    const { x: ox, y: oy, z: oz } = ray.origin;
    const { x: dx, y: dy, z: dz } = ray.direction;
    let best: Hit | null = null;
    for (let f = 0; f < triangles.length; f += 3) {
        const a = 3 * triangles[f]!;
        const b = 3 * triangles[f + 1]!;
        const c = 3 * triangles[f + 2]!;
        const e1x = x[b]! - x[a]!;
        const e1y = x[b + 1]! - x[a + 1]!;
        const e1z = x[b + 2]! - x[a + 2]!;
        const e2x = x[c]! - x[a]!;
        const e2y = x[c + 1]! - x[a + 1]!;
        const e2z = x[c + 2]! - x[a + 2]!;
        const px = dy * e2z - dz * e2y;
        const py = dz * e2x - dx * e2z;
        const pz = dx * e2y - dy * e2x;
        const det = e1x * px + e1y * py + e1z * pz;
        if (det === 0) continue;
        const sx = ox - x[a]!;
        const sy = oy - x[a + 1]!;
        const sz = oz - x[a + 2]!;
        const u = (sx * px + sy * py + sz * pz) / det;
        if (u < 0 || u > 1) continue;
        const qx = sy * e1z - sz * e1y;
        const qy = sz * e1x - sx * e1z;
        const qz = sx * e1y - sy * e1x;
        const v = (dx * qx + dy * qy + dz * qz) / det;
        if (v < 0 || u + v > 1) continue;
        const t = (e2x * qx + e2y * qy + e2z * qz) / det;
        if (t <= 0 || (best && t >= best.distance)) continue;
        const hx = ox + t * dx;
        const hy = oy + t * dy;
        const hz = oz + t * dz;
        if (!accepts(hx, hy, hz)) continue;
        best = { triangle: f / 3, weights: [1 - u - v, u, v], point: [hx, hy, hz], distance: t };
    }
    return best;
}
