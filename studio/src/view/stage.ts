// The canvas: one renderer, one camera, one or two panes side by side that the camera links. Draws
// only when asked to; while things move on a machine without a GPU at the resolution that it keeps
// up with, and sharply as soon as they stand still.
import * as THREE from 'three';
import { OrbitControls } from 'three/examples/jsm/controls/OrbitControls.js';
import type { Ray } from './surface';

export interface Rect {
    x: number;
    y: number;
    width: number;
    height: number;
}

export class Pane {
    readonly scene = new THREE.Scene();
    rect: Rect = { x: 0, y: 0, width: 1, height: 1 };
}

const STILL_MS = 220;
const LATE_MS = 24; // from the wish to draw to the drawing: more, and the machine does not keep up

export class Stage {
    readonly canvas: HTMLCanvasElement;
    readonly renderer: THREE.WebGLRenderer;
    readonly camera = new THREE.PerspectiveCamera(32, 1, 0.01, 100);
    readonly software: boolean;
    panes: Pane[] = [new Pane()];
    /** What is called before a drawing, and after one. */
    onBeforeDraw: () => void = () => {};
    onAfterDraw: () => void = () => {};
    onResize: () => void = () => {};
    /** Whether more is to come: a sharp drawing takes several times as long, and would delay it. */
    isBusy: () => boolean = () => false;
    draws = 0;
    drawMs = 0;
    waitMs = 10;
    private controls: OrbitControls;
    private wanted = false;
    private stillTimer = 0;
    private still = true;
    private quality = 1;
    private center = new THREE.Vector3();
    private radius = 1;

    constructor(private readonly host: HTMLElement) {
        this.software = rendersInSoftware();
        this.renderer = new THREE.WebGLRenderer({
            antialias: !this.software,
            alpha: false, // opaque pages are put together at half the price without a GPU
            stencil: false,
            powerPreference: 'high-performance',
        });
        this.renderer.autoClear = false;
        this.canvas = this.renderer.domElement;
        this.canvas.tabIndex = 0;
        this.canvas.className = 'stage';
        host.append(this.canvas);
        this.controls = this.makeControls();
        new ResizeObserver(() => this.resize()).observe(host);
        this.resize();
    }

    private makeControls(): OrbitControls {
        const controls = new OrbitControls(this.camera, this.canvas);
        controls.enableDamping = false;
        controls.rotateSpeed = 0.9;
        controls.zoomSpeed = 1.1;
        controls.addEventListener('change', () => this.draw());
        return controls;
    }

    set orbiting(enabled: boolean) {
        this.controls.enabled = enabled;
    }

    /** The direction that is up in the scene (against gravity). */
    setUp(up: [number, number, number]): void {
        if (this.camera.up.distanceToSquared(new THREE.Vector3(...up)) < 1e-12) return;
        this.camera.up.set(...up);
        const target = this.controls.target.clone();
        this.controls.dispose();
        this.controls = this.makeControls();
        this.controls.target.copy(target);
    }

    private pixelRatio(): number {
        const device = Math.min(window.devicePixelRatio || 1, 3);
        if (!this.software) return device;
        // Without antialiasing by the hardware twice the pixels do it, once nothing moves any more.
        return this.still ? Math.max(2, device) : Math.min(device, 1) * this.quality;
    }

    private resize(): void {
        const { clientWidth: w, clientHeight: h } = this.host;
        if (w === 0 || h === 0) return;
        this.renderer.setPixelRatio(this.pixelRatio());
        this.renderer.setSize(w, h, false);
        this.onResize();
        this.drawNow();
    }

    /** Asks for a drawing in the next frame of the browser. */
    draw(): void {
        if (this.wanted) return;
        this.wanted = true;
        const asked = performance.now();
        requestAnimationFrame(() => {
            if (!this.wanted) return;
            this.waitMs += 0.1 * (Math.min(100, performance.now() - asked) - this.waitMs);
            if (this.software) this.moved();
            this.drawNow();
        });
    }

    private moved(): void {
        if (this.still) {
            this.still = false;
            this.renderer.setPixelRatio(this.pixelRatio());
        }
        this.awaitStillness();
    }

    private awaitStillness(): void {
        window.clearTimeout(this.stillTimer);
        this.stillTimer = window.setTimeout(() => {
            if (this.isBusy()) {
                this.awaitStillness();
                return;
            }
            this.still = true;
            this.renderer.setPixelRatio(this.pixelRatio());
            this.drawNow();
        }, STILL_MS);
    }

    /** Sharp from now on, whatever moves: for pictures. */
    drawSharp(ratio: number): void {
        this.renderer.setPixelRatio(ratio);
        this.drawNow();
    }

    drawSmooth(): void {
        this.renderer.setPixelRatio(this.pixelRatio());
        this.drawNow();
    }

    drawNow(): void {
        this.wanted = false;
        const begin = performance.now();
        this.onBeforeDraw();
        this.adjustClipping();
        const { clientWidth: w, clientHeight: h } = this.host;
        this.renderer.setScissorTest(false);
        this.renderer.clear();
        this.renderer.setScissorTest(true);
        for (const pane of this.panes) {
            const r = pane.rect;
            const x = Math.round(r.x * w);
            const width = Math.round(r.width * w);
            const y = Math.round((1 - r.y - r.height) * h);
            const height = Math.round(r.height * h);
            this.renderer.setViewport(x, y, width, height);
            this.renderer.setScissor(x, y, width, height);
            this.camera.aspect = width / Math.max(1, height);
            this.camera.updateProjectionMatrix();
            this.renderer.render(pane.scene, this.camera);
        }
        if (this.software) this.renderer.getContext().flush();
        this.draws++;
        this.onAfterDraw();
        this.drawMs += 0.1 * (performance.now() - begin - this.drawMs);
        this.adaptQuality();
    }

    setGround(colour: string): void {
        this.renderer.setClearColor(new THREE.Color(colour), 1);
        this.draw();
    }

    private adaptQuality(): void {
        if (!this.software || this.still) return;
        const factor = this.waitMs > LATE_MS ? 0.85 : this.waitMs < 14 ? 1.1 : 1;
        const bounded = Math.min(1, Math.max(0.6, this.quality * factor));
        if (bounded === this.quality || this.draws % 20 !== 0) return;
        this.quality = bounded;
        this.renderer.setPixelRatio(this.pixelRatio());
    }

    private adjustClipping(): void {
        const distance = this.camera.position.distanceTo(this.center);
        this.camera.near = Math.max(distance - 12 * this.radius, distance * 0.01, 1e-6);
        this.camera.far = distance + 60 * this.radius;
    }

    /** All corners of the box are seen, from the direction it looks from now, or from `from`. */
    fit(box: THREE.Box3, from?: THREE.Vector3): void {
        box.getCenter(this.center);
        this.radius = Math.max(box.getSize(new THREE.Vector3()).length() / 2, 1e-6);
        const direction = from
            ? from.clone().normalize()
            : this.camera.position.clone().sub(this.controls.target).normalize();
        if (direction.lengthSq() < 0.5) direction.set(0.5, 0.35, 0.8).normalize();
        this.controls.target.copy(this.center);
        this.camera.position.copy(this.center).addScaledVector(direction, this.fittingDistance(box, direction));
        this.controls.update();
        this.draw();
    }

    /** Whether all corners of a box are within this part of the view's width and height. */
    sees(box: THREE.Box3, part: number): boolean {
        const r = this.panes[0]!.rect;
        this.camera.aspect = (this.host.clientWidth * r.width) / Math.max(1, this.host.clientHeight * r.height);
        this.camera.updateProjectionMatrix();
        this.camera.updateMatrixWorld();
        const p = new THREE.Vector3();
        for (let i = 0; i < 8; i++) {
            p.set(i & 1 ? box.max.x : box.min.x, i & 2 ? box.max.y : box.min.y, i & 4 ? box.max.z : box.min.z);
            p.applyMatrix4(this.camera.matrixWorldInverse);
            if (p.z >= 0) return false;
            p.applyMatrix4(this.camera.projectionMatrix);
            if (Math.abs(p.x) > part || Math.abs(p.y) > part) return false;
        }
        return true;
    }

    /** Goes this part of the way to where the whole box is seen. */
    approach(box: THREE.Box3, part: number): void {
        const [place, target] = [this.camera.position.clone(), this.controls.target.clone()];
        this.fit(box);
        this.camera.position.lerpVectors(place, this.camera.position, part);
        this.controls.target.lerpVectors(target, this.controls.target, part);
        this.controls.update();
    }

    /** The least distance at which no corner is outside, with room for a body to sag. */
    private fittingDistance(box: THREE.Box3, direction: THREE.Vector3): number {
        const r = this.panes[0]!.rect;
        const aspect = (this.host.clientWidth * r.width) / Math.max(1, this.host.clientHeight * r.height);
        const tall = Math.tan((this.camera.fov * Math.PI) / 360);
        const right = new THREE.Vector3().crossVectors(this.camera.up, direction).normalize();
        const above = new THREE.Vector3().crossVectors(direction, right);
        let distance = 0;
        for (let i = 0; i < 8; i++) {
            const corner = new THREE.Vector3(
                i & 1 ? box.max.x : box.min.x,
                i & 2 ? box.max.y : box.min.y,
                i & 4 ? box.max.z : box.min.z,
            ).sub(this.center);
            const reach = Math.max(
                Math.abs(corner.dot(right)) / (tall * aspect),
                Math.abs(corner.dot(above)) / tall,
            );
            distance = Math.max(distance, corner.dot(direction) + 1.45 * reach);
        }
        return distance;
    }

    /** The view along an axis: 'x', 'y', 'z', with the sign. */
    lookAlong(direction: THREE.Vector3): void {
        const target = this.controls.target;
        const distance = this.camera.position.distanceTo(target);
        this.camera.position.copy(target).addScaledVector(direction, distance);
        this.controls.update();
        this.draw();
    }

    /** The pane at a place of the window, and the ray from there. */
    rayAt(clientX: number, clientY: number): { pane: number; ray: Ray } | null {
        const box = this.canvas.getBoundingClientRect();
        const u = (clientX - box.left) / box.width;
        const v = (clientY - box.top) / box.height;
        const pane = this.panes.findIndex(
            ({ rect: r }) => u >= r.x && u <= r.x + r.width && v >= r.y && v <= r.y + r.height,
        );
        return pane < 0 ? null : { pane, ray: this.rayIn(pane, u, v) };
    }

    private rayIn(pane: number, u: number, v: number): Ray {
        const r = this.panes[pane]!.rect;
        this.camera.aspect = (this.host.clientWidth * r.width) / (this.host.clientHeight * r.height);
        this.camera.updateProjectionMatrix();
        this.camera.updateMatrixWorld();
        const caster = new THREE.Raycaster();
        const at = new THREE.Vector2((2 * (u - r.x)) / r.width - 1, 1 - (2 * (v - r.y)) / r.height);
        caster.setFromCamera(at, this.camera);
        return caster.ray;
    }

    /** Where the ray of a place meets the plane through `point` that faces the camera. */
    dragPlane(clientX: number, clientY: number, pane: number, point: THREE.Vector3): THREE.Vector3 | null {
        const box = this.canvas.getBoundingClientRect();
        const ray = this.rayIn(pane, (clientX - box.left) / box.width, (clientY - box.top) / box.height);
        const normal = this.camera.getWorldDirection(new THREE.Vector3());
        const plane = new THREE.Plane().setFromNormalAndCoplanarPoint(normal, point);
        return (ray as THREE.Ray).intersectPlane(plane, new THREE.Vector3());
    }

    /** Pixels of the window at which a point is drawn in a pane. */
    project(point: THREE.Vector3, pane = 0): { x: number; y: number } {
        const r = this.panes[pane]!.rect;
        const box = this.canvas.getBoundingClientRect();
        this.camera.aspect = (box.width * r.width) / (box.height * r.height);
        this.camera.updateProjectionMatrix();
        this.camera.updateMatrixWorld();
        const p = point.clone().project(this.camera);
        return {
            x: box.left + box.width * (r.x + (r.width * (p.x + 1)) / 2),
            y: box.top + box.height * (r.y + (r.height * (1 - p.y)) / 2),
        };
    }

    /** Metres per pixel of the window at a point. */
    scaleAt(point: THREE.Vector3): number {
        const depth = this.camera.position.distanceTo(point);
        return (2 * depth * Math.tan((this.camera.fov * Math.PI) / 360)) / Math.max(1, this.host.clientHeight);
    }
}

function rendersInSoftware(): boolean {
    const gl = document.createElement('canvas').getContext('webgl2');
    if (!gl) return true;
    const info = gl.getExtension('WEBGL_debug_renderer_info');
    const name = String(gl.getParameter(info ? info.UNMASKED_RENDERER_WEBGL : gl.RENDERER));
    gl.getExtension('WEBGL_lose_context')?.loseContext();
    return /swiftshader|llvmpipe|software|basic render/i.test(name);
}
