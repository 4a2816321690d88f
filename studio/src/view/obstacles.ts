// Obstacles: planes as a grid that fades away, everything else as a plain surface.
import * as THREE from 'three';
import type { TopologyMessage } from '../net/protocol';
import { BodyMesh } from './body';

const planeFragment = /* glsl */ `
precision highp float;
uniform vec3 ink, fill, center;
uniform float cell, reach;
in vec3 vWorld;
in vec2 vPlane;
out vec4 colour;
void main() {
    float far = length(vWorld - center) / reach;
    float fade = 1.0 - smoothstep(0.35, 1.0, far);
    vec2 g = abs(fract(vPlane / cell - 0.5) - 0.5) / fwidth(vPlane / cell);
    float line = 1.0 - min(min(g.x, g.y), 1.0);
    colour = vec4(mix(fill, ink, line * 0.5), fade * mix(0.42, 0.75, line));
}`;
const planeVertex = /* glsl */ `
precision highp float;
uniform mat4 modelMatrix, modelViewMatrix, projectionMatrix;
in vec3 position;
in vec2 uv;
out vec3 vWorld;
out vec2 vPlane;
void main() {
    vPlane = uv;
    vWorld = (modelMatrix * vec4(position, 1.0)).xyz;
    gl_Position = projectionMatrix * modelViewMatrix * vec4(position, 1.0);
}`;

class PlaneMesh {
    readonly object: THREE.Mesh<THREE.BufferGeometry, THREE.RawShaderMaterial>;
    private readonly plane: THREE.Plane;

    constructor(positions: Float32Array, triangles: Uint32Array, center: THREE.Vector3, size: number) {
        const at = (i: number): THREE.Vector3 => new THREE.Vector3().fromArray(positions, 3 * triangles[i]!);
        const normal = at(1).sub(at(0)).cross(at(2).sub(at(0))).normalize();
        const plane = new THREE.Plane().setFromNormalAndCoplanarPoint(normal, at(0));
        this.plane = plane;
        const foot = plane.projectPoint(center, new THREE.Vector3());
        const across = new THREE.Vector3(1, 0, 0);
        if (Math.abs(normal.x) > 0.9) across.set(0, 1, 0);
        across.addScaledVector(normal, -across.dot(normal)).normalize();
        const other = normal.clone().cross(across);
        const reach = 3.2 * size;
        const points: number[] = [];
        const uv: number[] = [];
        for (const [u, v] of [[-1, -1], [1, -1], [1, 1], [-1, 1]] as const) {
            const p = foot.clone().addScaledVector(across, u * reach).addScaledVector(other, v * reach);
            points.push(p.x, p.y, p.z);
            uv.push(u * reach, v * reach);
        }
        const geometry = new THREE.BufferGeometry();
        geometry.setAttribute('position', new THREE.Float32BufferAttribute(points, 3));
        geometry.setAttribute('uv', new THREE.Float32BufferAttribute(uv, 2));
        geometry.setIndex([0, 1, 2, 0, 2, 3]);
        const cell = 10 ** Math.round(Math.log10(size / 4));
        const material = new THREE.RawShaderMaterial({
            glslVersion: THREE.GLSL3,
            vertexShader: planeVertex,
            fragmentShader: planeFragment,
            transparent: true,
            depthWrite: false,
            side: THREE.DoubleSide,
            uniforms: {
                ink: { value: new THREE.Color() },
                fill: { value: new THREE.Color() },
                center: { value: foot },
                cell: { value: cell },
                reach: { value: reach },
            },
        });
        this.object = new THREE.Mesh(geometry, material);
        this.object.renderOrder = -1;
        this.object.frustumCulled = false;
    }

    /** On the plane as it is now: it may move. */
    footOf(point: THREE.Vector3): THREE.Vector3 {
        this.object.updateMatrixWorld();
        return this.plane.clone().applyMatrix4(this.object.matrix).projectPoint(point, new THREE.Vector3());
    }

    setTheme(dark: boolean): void {
        const u = this.object.material.uniforms;
        (u.ink!.value as THREE.Color).setRGB(...(dark ? [0.62, 0.68, 0.78] : [0.42, 0.48, 0.58]) as [number, number, number]);
        (u.fill!.value as THREE.Color).setRGB(...(dark ? [0.2, 0.23, 0.29] : [0.84, 0.87, 0.91]) as [number, number, number]);
    }
}

/** The square that stands for a plane: flat, and far wider than the bodies. */
function isWide(x: Float32Array, [first, count]: [number, number], triangles: Uint32Array, size: number): boolean {
    const at = (v: number): THREE.Vector3 => new THREE.Vector3().fromArray(x, 3 * v);
    const [a, b, c] = [at(triangles[0]!), at(triangles[1]!), at(triangles[2]!)];
    const plane = new THREE.Plane().setFromCoplanarPoints(a, b, c);
    const box = new THREE.Box3();
    for (let v = first; v < first + count; v++) {
        if (Math.abs(plane.distanceToPoint(at(v))) > 1e-4 * size) return false;
        box.expandByPoint(at(v));
    }
    return box.getSize(new THREE.Vector3()).length() > 5 * size;
}

export class Obstacles {
    readonly group = new THREE.Group();
    private readonly movers: THREE.Object3D[] = [];
    private readonly planes: PlaneMesh[] = [];
    private readonly solids: BodyMesh[] = [];

    constructor(topology: TopologyMessage, positions: Float32Array, triangles: Uint32Array) {
        const [low, high] = topology.bounds;
        const center = new THREE.Vector3().addVectors(new THREE.Vector3(...low), new THREE.Vector3(...high));
        center.multiplyScalar(0.5).sub(new THREE.Vector3(...topology.origin));
        for (const part of topology.obstacles) {
            const [first, count] = part.triangles;
            const own = triangles.slice(3 * first, 3 * (first + count));
            const mover = count > 0 && (part.plane || isWide(positions, part.vertices, own, topology.size))
                ? this.addPlane(positions, own, center, topology.size)
                : this.addSolid(positions, own, part.vertices);
            mover.matrixAutoUpdate = false;
            this.movers.push(mover);
            this.group.add(mover);
        }
    }

    private addPlane(x: Float32Array, triangles: Uint32Array, center: THREE.Vector3, size: number): THREE.Object3D {
        const plane = new PlaneMesh(x, triangles, center, size);
        this.planes.push(plane);
        return plane.object;
    }

    private addSolid(x: Float32Array, triangles: Uint32Array, [first, count]: [number, number]): THREE.Object3D {
        const rest = x.slice(3 * first, 3 * (first + count));
        const solid = new BodyMesh({
            vertexCount: count,
            triangles: triangles.map((v) => v - first),
            rest,
        });
        solid.setGrey();
        this.solids.push(solid);
        return solid.group;
    }

    /** [count][12]: rotation, row-major, then translation. */
    move(frames: Float32Array): void {
        this.movers.forEach((mover, i) => {
            const m = frames.subarray(12 * i, 12 * i + 12);
            if (m.length < 12) return;
            mover.matrix.set(
                m[0]!, m[1]!, m[2]!, m[9]!,
                m[3]!, m[4]!, m[5]!, m[10]!,
                m[6]!, m[7]!, m[8]!, m[11]!,
                0, 0, 0, 1,
            );
            mover.matrixWorldNeedsUpdate = true;
        });
    }

    /** With all that is about as large as the bodies, and the ground below them. */
    addTo(box: THREE.Box3, size: number): void {
        const around = box.clone().expandByScalar(2 * size);
        const part = new THREE.Box3();
        for (const solid of this.solids) {
            solid.group.updateMatrixWorld();
            part.setFromArray(solid.positions).applyMatrix4(solid.group.matrix);
            if (part.getSize(new THREE.Vector3()).length() < 4 * size && around.intersectsBox(part)) box.union(part);
        }
        const corners = [box.min.clone(), box.max.clone()];
        for (const plane of this.planes)
            for (const corner of corners) {
                const foot = plane.footOf(corner);
                if (foot.distanceTo(corner) < 3 * size) box.expandByPoint(foot);
            }
    }

    setTheme(dark: boolean): void {
        for (const plane of this.planes) plane.setTheme(dark);
        for (const solid of this.solids) solid.setTheme(dark);
    }

    setUp(up: THREE.Vector3, ratio: number): void {
        for (const solid of this.solids) solid.setUp(up, ratio);
    }

    dispose(): void {
        for (const plane of this.planes) {
            plane.object.geometry.dispose();
            plane.object.material.dispose();
        }
        for (const solid of this.solids) solid.dispose();
    }
}
