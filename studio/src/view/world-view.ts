// What is seen of the world of the server: takes topologies and frames, draws the newest.
import * as THREE from 'three';
import { floats, integers, What, type Packet } from '../net/binary';
import type { FieldTable, TopologyMessage, Vec3 } from '../net/protocol';
import type { LegendSpec } from '../ui/legend';
import { FieldRange, legendFor, legendOfMaterials, scaleFor, scaleTexture } from './fields';
import { ShapeView, type Shown, type WorldData } from './shape-view';
import { Pane, type Stage } from './stage';
import { intersect, type Hit } from './surface';

export interface Picked extends Hit {
    shape: number;
    vertices: [number, number, number]; // of the triangle, drawn ones
}

const nothing = new Float32Array(0);

export class WorldView {
    readonly shapes: ShapeView[] = [];
    data: WorldData | null = null;
    /** "material", or a field of the server. */
    field = 'von_mises';
    readonly range = new FieldRange();
    readonly shown: Shown = {
        wireframe: false,
        ghost: false,
        fixed: true,
        loads: true,
        obstacles: true,
        contacts: false,
        springs: true,
    };
    readonly section = { on: false, axis: 'x' as 'x' | 'y' | 'z', place: 0.5, flip: false };
    legend: LegendSpec | null = null;
    grabs: Float32Array = nothing;
    /** Of the frame on the screen. */
    frame: Packet | null = null;
    frames = 0;
    private pending: Packet | null = null;
    private lastStep = 0;
    private dark = false;
    private fieldTables: FieldTable[] = [];
    private announced: TopologyMessage | null = null;
    onTopology: (fresh: boolean) => void = () => {};
    onFrame: (packet: Packet) => void = () => {};

    constructor(readonly stage: Stage) {
        stage.onBeforeDraw = () => this.beforeDraw();
    }

    setFieldTables(tables: FieldTable[]): void {
        this.fieldTables = tables;
    }

    announce(message: TopologyMessage): void {
        this.announced = message;
    }

    /** The binary message that follows a topology. */
    takeTopology(packet: Packet): void {
        const topology = this.announced;
        if (!topology || topology.topology !== packet.topology) return;
        const triangles = integers(packet, What.Triangles);
        const rest = floats(packet, What.Rest);
        if (!(triangles instanceof Uint32Array) || !rest) return;
        const count = rest.length / 3;
        const data: WorldData = {
            topology,
            surface: { vertexCount: count, triangles, rest },
            flags: asBytes(integers(packet, What.Flags), count),
            vertexNumbers: asNumbers(integers(packet, What.VertexNumbers), count),
            materials: Uint32Array.from(integers(packet, What.Materials) ?? []),
            loads: floats(packet, What.LoadForces) ?? new Float32Array(3 * count),
            obstaclePositions: floats(packet, What.ObstaclePositions) ?? nothing,
            obstacleTriangles: Uint32Array.from(integers(packet, What.ObstacleTriangles) ?? []),
        };
        const same = this.data !== null && sameSurface(this.data, data);
        // A body that tears has another surface, and is what was looked at all the same.
        const fresh = !same && this.generation !== this.shownGeneration;
        this.shownGeneration = this.generation;
        this.rebuild(data, same, fresh);
        this.onTopology(fresh);
    }

    /** Of the scene that was announced, and of the one that is shown. */
    generation = '';
    private shownGeneration = '-';

    private rebuild(data: WorldData, same: boolean, fresh: boolean): void {
        const old = this.shapes.splice(0);
        const bodies = same ? old.map((s) => s.body) : [];
        for (const shape of old) shape.dispose(same);
        this.data = data;
        this.pending = null;
        const count = Math.max(1, data.topology.shapes.length);
        this.stage.panes = Array.from({ length: count }, (_, i) => {
            const pane = new Pane();
            pane.rect = { x: i / count, y: 0, width: 1 / count, height: 1 };
            return pane;
        });
        for (let i = 0; i < count; i++)
            this.shapes.push(new ShapeView(this.stage.panes[i]!, data, bodies[i] ?? null));
        for (const body of bodies.slice(count)) body.dispose();
        if (fresh) this.range.forget();
        this.range.scales.size = data.topology.size;
        this.setTheme(this.dark);
        this.applyShown();
        this.applySection();
        this.applyLook();
    }

    takeFrame(packet: Packet): void {
        if (!this.data || packet.topology !== this.data.topology.topology) return;
        const waits = this.pending !== null;
        this.pending = packet;
        this.frames++;
        if (!waits) this.stage.draw();
    }

    private beforeDraw(): void {
        const packet = this.pending;
        if (packet) this.apply(packet);
        this.pending = null;
        const up = new THREE.Vector3().copy(this.stage.camera.up);
        up.transformDirection(this.stage.camera.matrixWorldInverse);
        const ratio = this.stage.renderer.getPixelRatio();
        for (const shape of this.shapes) shape.beforeDraw(up, ratio);
    }

    private apply(packet: Packet): void {
        this.frame = packet;
        let values: Float32Array | null = null;
        this.shapes.forEach((shape, i) => {
            const x = floats(packet, What.Positions, i);
            if (x && x.length === shape.body.positions.length) shape.setPositions(x);
            const field = floats(packet, What.Field, i);
            if (field) shape.body.setValues(field);
            if (field && (i === 0 || !values)) values = field;
            shape.setPulls(floats(packet, What.Grabs, i));
            const contacts = floats(packet, What.ContactForces, i);
            if (contacts || this.shown.contacts) shape.setContacts(contacts);
            shape.springs.set(floats(packet, What.Springs, i));
            const obstacles = floats(packet, What.Obstacles, 0);
            if (obstacles) shape.moveObstacles(obstacles);
        });
        this.grabs = floats(packet, What.Grabs, 0) ?? floats(packet, What.Grabs, 1) ?? nothing;
        if (packet.step === 0 && this.lastStep > 0) this.range.forget();
        this.lastStep = packet.step;
        if (values) this.range.follow(this.field, values);
        this.applyLook();
        this.onFrame(packet);
    }

    applyLook(): void {
        const coloured = this.field !== 'material';
        const look = { coloured, scale: scaleTexture(scaleFor(this.field)), range: this.range.range };
        for (const shape of this.shapes) shape.setLook(look);
        const table = this.fieldTables.find((t) => t.name === this.field);
        if (!coloured) this.legend = legendOfMaterials(this.data?.topology.materials ?? []);
        else this.legend = this.range.known ? legendFor(table, this.field, this.range.range) : null;
    }

    applyShown(): void {
        for (const shape of this.shapes) shape.show(this.shown);
        this.stage.draw();
    }

    applySection(): void {
        const plane = this.sectionPlane();
        for (const shape of this.shapes) shape.setPlane(plane);
        this.stage.draw();
    }

    private sectionPlane(): THREE.Vector4 {
        const { on, axis, place, flip } = this.section;
        if (!on || !this.data) return new THREE.Vector4(0, 0, 0, 1); // nothing is beyond it
        const k = { x: 0, y: 1, z: 2 }[axis];
        const [low, high] = this.data.topology.bounds;
        const origin = this.data.topology.origin[k]!;
        const at = low[k]! + place * (high[k]! - low[k]!) - origin;
        const sign = flip ? -1 : 1;
        const normal = [0, 0, 0];
        normal[k] = sign;
        return new THREE.Vector4(normal[0], normal[1], normal[2], sign * at);
    }

    setTheme(dark: boolean): void {
        this.dark = dark;
        for (const shape of this.shapes) shape.setTheme(dark);
        this.stage.draw();
    }

    /** All of what is shown, from the side that bodies show best. */
    fit(from?: THREE.Vector3): void {
        const box = new THREE.Box3();
        for (const shape of this.shapes) box.union(shape.surroundings);
        if (box.isEmpty()) return;
        this.stage.fit(box, from);
    }

    /** Moves the camera back, within some tenths of a second, where a body has left the view. */
    keepInView(atOnce = false): void {
        const now = performance.now();
        const part = 1 - Math.exp(-Math.min(now - this.chasedAt, 200) / 160);
        this.chasedAt = now;
        const box = new THREE.Box3();
        for (const shape of this.shapes) box.union(shape.bodyBox);
        if (box.isEmpty()) return;
        this.chasing = !this.stage.sees(box, this.chasing ? 0.86 : 0.99);
        if (!this.chasing) return;
        for (const shape of this.shapes) box.union(shape.surroundings);
        this.stage.approach(box, atOnce ? 1 : part);
    }

    private chasing = false;
    private chasedAt = 0;

    pick(clientX: number, clientY: number): Picked | null {
        const at = this.stage.rayAt(clientX, clientY);
        const shape = at ? this.shapes[at.pane] : undefined;
        if (!at || !shape) return null;
        const plane = this.sectionPlane();
        const { triangles } = shape.data.surface;
        const hit = intersect(
            at.ray,
            shape.body.positions,
            triangles,
            (x, y, z) => plane.x * x + plane.y * y + plane.z * z <= plane.w,
        );
        if (!hit) return null;
        const t = 3 * hit.triangle;
        return { ...hit, shape: at.pane, vertices: [triangles[t]!, triangles[t + 1]!, triangles[t + 2]!] };
    }

    /** Body that a drawn triangle belongs to. */
    bodyOf(triangle: number): number {
        const bodies = this.data?.topology.bodies ?? [];
        return Math.max(0, bodies.findIndex(({ triangles: [first, n] }) => triangle >= first && triangle < first + n));
    }

    /** World coordinates of what the page draws relative to the topology's origin. */
    toWorld(p: THREE.Vector3 | readonly number[]): Vec3 {
        const o = this.data?.topology.origin ?? [0, 0, 0];
        const [x, y, z] = p instanceof THREE.Vector3 ? p.toArray() : (p as [number, number, number]);
        return [x + o[0], y + o[1], z + o[2]];
    }
}

function sameSurface(a: WorldData, b: WorldData): boolean {
    const s = a.surface;
    const t = b.surface;
    return (
        s.vertexCount === t.vertexCount &&
        s.triangles.length === t.triangles.length &&
        a.topology.shapes.length === b.topology.shapes.length &&
        s.triangles.every((v, i) => v === t.triangles[i]) &&
        s.rest.every((v, i) => v === t.rest[i])
    );
}

function asBytes(data: Uint32Array | Int32Array | Uint8Array | null, count: number): Uint8Array {
    return data instanceof Uint8Array ? data : new Uint8Array(count);
}

function asNumbers(data: Uint32Array | Int32Array | Uint8Array | null, count: number): Int32Array {
    return data instanceof Int32Array ? data : new Int32Array(count).fill(-1);
}
