// Springs between points of bodies and of the world: rods, coloured by whether they pull.
import * as THREE from 'three';

/** Of a row: both ends (6), the force (NaN: broken), the rest length. */
const ROW = 8;
/** Forces below this part of the greatest one are none. */
const SLACK = 1e-6;

export const springColours = { pulls: 0xc9791a, pushes: 0x2f6df0, slack: 0x8d97a8 } as const;

export class Springs {
    readonly group = new THREE.Group();
    readonly bounds = new THREE.Box3();
    private rods: THREE.InstancedMesh | null = null;
    private readonly geometry = new THREE.CylinderGeometry(1, 1, 1, 6, 1, true).translate(0, 0.5, 0);
    private readonly material = new THREE.MeshBasicMaterial({ color: 0xffffff, toneMapped: false });
    private readonly colours = {
        pulls: new THREE.Color(springColours.pulls),
        pushes: new THREE.Color(springColours.pushes),
        slack: new THREE.Color(springColours.slack),
    };
    /** Those that are drawn: what broke is not. */
    count = 0;

    constructor(private readonly radius: number) {}

    set(rows: Float32Array | null): void {
        const all = rows ? rows.length / ROW : 0;
        this.count = 0;
        this.bounds.makeEmpty();
        if (all === 0) {
            if (this.rods) this.rods.visible = false;
            return;
        }
        const rods = this.reserve(all);
        let greatest = 0;
        for (let i = 0; i < all; i++) greatest = Math.max(greatest, Math.abs(rows![ROW * i + 6]!) || 0);
        const [from, to] = [new THREE.Vector3(), new THREE.Vector3()];
        for (let i = 0; i < all; i++) {
            const force = rows![ROW * i + 6]!;
            from.fromArray(rows!, ROW * i);
            to.fromArray(rows!, ROW * i + 3);
            if (Number.isNaN(force)) continue;
            this.bounds.expandByPoint(from).expandByPoint(to);
            this.place(rods, from, to);
            const kind = Math.abs(force) <= SLACK * greatest ? 'slack' : force > 0 ? 'pulls' : 'pushes';
            rods.setColorAt(this.count++, this.colours[kind]);
        }
        rods.count = this.count;
        rods.visible = this.count > 0;
        rods.instanceMatrix.needsUpdate = true;
        if (rods.instanceColor) rods.instanceColor.needsUpdate = true;
    }

    private place(rods: THREE.InstancedMesh, from: THREE.Vector3, to: THREE.Vector3): void {
        const way = to.clone().sub(from);
        const length = way.length();
        const turn = new THREE.Quaternion();
        if (length > 0) turn.setFromUnitVectors(new THREE.Vector3(0, 1, 0), way.divideScalar(length));
        const size = new THREE.Vector3(this.radius, length, this.radius);
        rods.setMatrixAt(this.count, new THREE.Matrix4().compose(from, turn, size));
    }

    private reserve(count: number): THREE.InstancedMesh {
        if (this.rods && this.rods.instanceMatrix.count >= count) return this.rods;
        if (this.rods) this.group.remove(this.rods);
        this.rods?.dispose();
        this.rods = new THREE.InstancedMesh(this.geometry, this.material, count);
        this.rods.frustumCulled = false;
        this.group.add(this.rods);
        return this.rods;
    }

    dispose(): void {
        this.rods?.dispose();
        this.geometry.dispose();
        this.material.dispose();
    }
}
