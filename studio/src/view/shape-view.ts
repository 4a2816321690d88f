// One shape of the world in one pane: its surface, the ghost of its rest shape, and the marks.
import * as THREE from 'three';
import type { TopologyMessage } from '../net/protocol';
import { BodyMesh, type Look } from './body';
import { Arrows, Dots, PullLine } from './marks';
import { Obstacles } from './obstacles';
import { Springs } from './springs';
import type { Pane } from './stage';
import type { Surface } from './surface';

export function boundsOf(x: Float32Array): THREE.Box3 {
    const box = new THREE.Box3();
    const p = new THREE.Vector3();
    for (let i = 0; i < x.length; i += 3) {
        p.set(x[i]!, x[i + 1]!, x[i + 2]!);
        if (Number.isFinite(p.x + p.y + p.z)) box.expandByPoint(p);
    }
    return box;
}

export interface WorldData {
    topology: TopologyMessage;
    surface: Surface;
    flags: Uint8Array; // per vertex
    vertexNumbers: Int32Array;
    materials: Uint32Array; // per triangle
    loads: Float32Array; // N, [vertexCount][3]
    obstaclePositions: Float32Array;
    obstacleTriangles: Uint32Array;
}

export interface Shown {
    wireframe: boolean;
    ghost: boolean;
    fixed: boolean;
    loads: boolean;
    obstacles: boolean;
    contacts: boolean;
    springs: boolean;
}

export const colours = {
    fixed: 0xd6453d,
    roller: 0xe0913a,
    load: 0x8a4bd0,
    contact: 0x1f9d76,
    pull: 0x2f6df0,
    defect: 0xe0242f,
    chosen: 0xffb020,
} as const;

export class ShapeView {
    readonly body: BodyMesh;
    readonly pulls: PullLine[] = [];
    private ghost: BodyMesh | null = null;
    readonly springs: Springs;
    private readonly obstacles: Obstacles;
    private readonly fixedDots = new Dots(colours.fixed, 7);
    private readonly rollerDots = new Dots(colours.roller, 7);
    private readonly defectDots = new Dots(colours.defect, 12, true);
    readonly chosenDots = new Dots(colours.chosen, 6);
    private readonly loadArrows = new Arrows(colours.load);
    private readonly contactArrows = new Arrows(colours.contact, true); // they lie inside of bodies
    private readonly fixedVertices: Uint32Array;
    private readonly rollerVertices: Uint32Array;
    private readonly loadFeet: Uint32Array;
    private readonly loadVectors: Float32Array;
    private contactForces: Float32Array | null = null;
    private dark = false;
    private shown: Shown | null = null;

    constructor(
        readonly pane: Pane,
        readonly data: WorldData,
        keep: BodyMesh | null,
    ) {
        this.body = keep ?? new BodyMesh(data.surface);
        this.setTints();
        this.obstacles = new Obstacles(data.topology, data.obstaclePositions, data.obstacleTriangles);
        this.springs = new Springs(0.0022 * data.topology.size);
        const numbers = Uint32Array.from(data.flags.keys());
        this.fixedVertices = numbers.filter((i) => (data.flags[i]! & 7) === 7 || (data.flags[i]! & 40) !== 0);
        this.rollerVertices = numbers.filter((i) => (data.flags[i]! & 7) !== 0 && (data.flags[i]! & 7) !== 7);
        [this.loadFeet, this.loadVectors] = this.chooseLoads();
        pane.scene.clear();
        pane.scene.add(
            this.obstacles.group,
            this.springs.group,
            this.body.group,
            this.loadArrows.group,
            this.contactArrows.group,
            ...[this.fixedDots, this.rollerDots, this.defectDots, this.chosenDots].map((d) => d.points),
        );
        this.placeMarks();
    }

    private setTints(): void {
        const { surface, materials, topology } = this.data;
        const ofVertex = new Uint32Array(surface.vertexCount);
        materials.forEach((m, t) => {
            for (let c = 0; c < 3; c++) ofVertex[surface.triangles[3 * t + c]!] = m;
        });
        const sheets = topology.bodies.filter((b) => b.sheet).map((b) => b.vertices);
        this.body.setTints(ofVertex, (v) => sheets.some(([first, n]) => v >= first && v < first + n));
    }

    /** At most 24 arrows, each for as many vertices: where all were drawn there would be a thicket. */
    private chooseLoads(): [Uint32Array, Float32Array] {
        const { loads, surface, topology } = this.data;
        const loaded: number[] = [];
        let greatest = 0;
        for (let i = 0; i < surface.vertexCount; i++) {
            const size = Math.hypot(loads[3 * i] ?? 0, loads[3 * i + 1] ?? 0, loads[3 * i + 2] ?? 0);
            if (size > 0) loaded.push(i);
            greatest = Math.max(greatest, size);
        }
        const stride = Math.ceil(loaded.length / 24);
        const feet = Uint32Array.from(loaded.filter((_, k) => k % Math.max(1, stride) === 0));
        const vectors = new Float32Array(3 * feet.length);
        feet.forEach((v, k) => {
            for (let c = 0; c < 3; c++)
                vectors[3 * k + c] = (loads[3 * v + c]! / greatest) * 0.16 * topology.size;
        });
        return [feet, vectors];
    }

    setPositions(x: Float32Array): void {
        this.body.setPositions(x);
        this.placeMarks();
    }

    private placeMarks(): void {
        const x = this.body.positions;
        this.fixedDots.set(x, this.shown?.fixed === false ? [] : this.fixedVertices);
        this.rollerDots.set(x, this.shown?.fixed === false ? [] : this.rollerVertices);
        const feet = new Float32Array(3 * this.loadFeet.length);
        this.loadFeet.forEach((v, k) => {
            for (let c = 0; c < 3; c++)
                feet[3 * k + c] = x[3 * v + c]! - this.loadVectors[3 * k + c]!;
        });
        this.loadArrows.set(feet, this.loadVectors);
        this.loadArrows.group.visible = this.shown?.loads !== false;
    }

    /** f32[n][7]: vertex, place, force. */
    setContacts(forces: Float32Array | null): void {
        this.contactForces = forces;
        const count = forces ? forces.length / 7 : 0;
        let greatest = 0;
        for (let i = 0; i < count; i++)
            greatest = Math.max(greatest, Math.hypot(forces![7 * i + 4]!, forces![7 * i + 5]!, forces![7 * i + 6]!));
        const feet = new Float32Array(3 * count);
        const vectors = new Float32Array(3 * count);
        const scale = greatest > 0 ? (0.14 * this.data.topology.size) / greatest : 0;
        for (let i = 0; i < count; i++)
            for (let c = 0; c < 3; c++) {
                feet[3 * i + c] = forces![7 * i + 1 + c]!;
                vectors[3 * i + c] = forces![7 * i + 4 + c]! * scale;
            }
        this.contactArrows.set(feet, vectors);
    }

    /** Of the body, what it hangs from, and what is in its way. */
    get surroundings(): THREE.Box3 {
        const box = this.bodyBox;
        if (this.springs.group.visible) box.union(this.springs.bounds);
        if (this.obstacles.group.visible && !box.isEmpty()) this.obstacles.addTo(box, this.data.topology.size);
        return box;
    }

    get bodyBox(): THREE.Box3 {
        return boundsOf(this.body.positions);
    }

    get contactCount(): number {
        return this.contactForces ? this.contactForces.length / 7 : 0;
    }

    moveObstacles(frames: Float32Array): void {
        this.obstacles.move(frames);
    }

    /** f32[n][10]: number, point, target, force. */
    setPulls(grabs: Float32Array | null): void {
        const count = grabs ? grabs.length / 10 : 0;
        while (this.pulls.length < count) {
            const pull = new PullLine(colours.pull);
            this.pulls.push(pull);
            this.pane.scene.add(pull.group);
        }
        this.pulls.forEach((pull, i) => {
            if (i >= count) pull.hide();
            else {
                const g = Array.from(grabs!.subarray(10 * i, 10 * i + 10));
                pull.set(g.slice(1, 4), g.slice(4, 7));
            }
        });
    }

    setDefects(places: readonly (readonly number[])[]): void {
        this.defectDots.set(places.flat());
    }

    setLook(look: Look): void {
        this.body.setLook(look);
    }

    show(shown: Shown): void {
        this.shown = { ...shown };
        this.body.lines.visible = shown.wireframe;
        this.obstacles.group.visible = shown.obstacles;
        this.contactArrows.group.visible = shown.contacts;
        this.springs.group.visible = shown.springs;
        if (shown.ghost && !this.ghost) {
            this.ghost = new BodyMesh(this.data.surface, true);
            this.ghost.setGrey();
            this.ghost.setTheme(this.dark);
            this.pane.scene.add(this.ghost.group);
        }
        if (this.ghost) this.ghost.group.visible = shown.ghost;
        this.placeMarks();
    }

    setTheme(dark: boolean): void {
        this.dark = dark;
        this.body.setTheme(dark);
        this.ghost?.setTheme(dark);
        this.obstacles.setTheme(dark);
    }

    setPlane(plane: THREE.Vector4): void {
        this.body.setPlane(plane);
        for (const dots of [this.fixedDots, this.rollerDots, this.chosenDots]) dots.setPlane(plane);
    }

    beforeDraw(viewUp: THREE.Vector3, ratio: number): void {
        this.body.setUp(viewUp, ratio);
        this.ghost?.setUp(viewUp, ratio);
        this.obstacles.setUp(viewUp, ratio);
        for (const dots of [this.fixedDots, this.rollerDots, this.defectDots, this.chosenDots])
            dots.setPixelRatio(ratio);
        for (const pull of this.pulls) pull.setPixelRatio(ratio);
    }

    dispose(keepBody: boolean): void {
        if (!keepBody) this.body.dispose();
        this.ghost?.dispose();
        this.obstacles.dispose();
        this.springs.dispose();
    }
}
