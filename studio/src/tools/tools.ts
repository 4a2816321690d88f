// What the pointer does on the view: pull, fix, release, load, paint. Where it does not meet a body
// it turns the view.
import * as THREE from 'three';
import type { App } from '../app';
import type { Selection, Vec3 } from '../net/protocol';
import { quantity } from '../units';
import { button, h, type IconName } from '../ui/dom';
import type { Picked } from '../view/world-view';
import { Brush, insideRectangle, isTooMuch } from './choose';
import { LoadDrag } from './load-drag';
import { PaintOptions } from './paint';

export type ToolName = 'pull' | 'fix' | 'unfix' | 'load' | 'paint' | 'orbit';
export type How = 'click' | 'brush' | 'box';

interface ToolSpec {
    name: ToolName;
    icon: IconName;
    title: string;
    hint: string;
}

const specs: ToolSpec[] = [
    { name: 'pull', icon: 'hand', title: 'Pull (G)', hint: 'Take any point and pull.' },
    { name: 'fix', icon: 'pin', title: 'Fix (F)', hint: 'Hold vertices where they are.' },
    { name: 'unfix', icon: 'close', title: 'Release (U)', hint: 'Let held vertices go.' },
    { name: 'load', icon: 'load', title: 'Load (L)', hint: 'Press on a body and draw an arrow.' },
    { name: 'paint', icon: 'brush', title: 'Paint a material (B)', hint: 'Brush a material onto a body.' },
    { name: 'orbit', icon: 'orbit', title: 'Look around only (V)', hint: 'Turn the view, whatever is below.' },
];

interface Pull {
    pointer: number;
    grab: number;
    pane: number;
    point: THREE.Vector3;
}

export class Tools {
    readonly rail = h('div', { class: 'rail', attrs: { role: 'toolbar', 'aria-label': 'Tools' } });
    readonly options = h('div', { class: 'tool-options' });
    readonly overlay = h('div', { class: 'tool-overlay' });
    readonly paint: PaintOptions;
    tool: ToolName = 'pull';
    how: How = 'brush';
    radius = 0.06; // of the size of what is shown
    stiffness = 1; // of a pull, times what the server would take
    private pull: Pull | null = null;
    private nextGrab = 1;
    private brush: Brush | null = null;
    private box: { pointer: number; x: number; y: number } | null = null;
    private load: LoadDrag | null = null;
    /** What was grabbed last, and where it is pulled to: for the tests. */
    grabbed: { triangle: number; weights: [number, number, number]; stiffness?: number } | null = null;
    target: Vec3 | null = null;
    private readonly buttons = new Map<ToolName, HTMLButtonElement>();
    private readonly label = h('div', { class: 'cursor-label' });
    private readonly band = h('div', { class: 'band' });
    private readonly ring = h('div', { class: 'ring' });

    constructor(private readonly app: App) {
        this.paint = new PaintOptions(app);
        for (const spec of specs) {
            const b = button('', () => this.choose(spec.name), { icon: spec.icon, title: spec.title, class: 'rail-button' });
            this.buttons.set(spec.name, b);
            this.rail.append(b);
        }
        this.overlay.append(this.label, this.band, this.ring);
        for (const e of [this.label, this.band, this.ring]) e.hidden = true;
        const canvas = app.stage.canvas;
        canvas.addEventListener('pointerdown', (e) => this.down(e), { capture: true });
        canvas.addEventListener('pointermove', (e) => this.moved(e));
        canvas.addEventListener('pointerup', (e) => this.up(e));
        canvas.addEventListener('pointercancel', (e) => this.up(e));
        canvas.addEventListener('pointerleave', () => (this.ring.hidden = true));
        canvas.addEventListener('contextmenu', (e) => e.preventDefault());
        app.on('frame', () => this.showForce());
        app.on('connection', () => this.cancel());
        app.on('scene', () => this.showOptions());
        this.choose('pull');
    }

    choose(tool: ToolName): void {
        this.tool = tool;
        for (const [name, b] of this.buttons) b.classList.toggle('on', name === tool);
        this.ring.hidden = true;
        this.showOptions();
    }

    private showOptions(): void {
        const spec = specs.find((s) => s.name === this.tool)!;
        this.options.replaceChildren(h('span', { class: 'hint', text: spec.hint }));
        if (this.tool === 'fix' || this.tool === 'unfix') this.options.append(this.howChoice());
        const design = this.app.scene?.mode === 'design';
        const sized = this.tool === 'paint' || this.tool === 'load' || (this.tool === 'pull' && design);
        if (sized || (this.tool !== 'pull' && this.tool !== 'orbit' && this.how === 'brush'))
            this.options.append(this.radiusSlider(design && this.tool === 'pull'));
        if (this.tool === 'pull' && !design) this.options.append(this.stiffnessSlider());
        if (this.tool === 'paint') this.options.append(this.paint.element);
    }

    private howChoice(): HTMLElement {
        const group = h('div', { class: 'segments' });
        for (const how of ['click', 'brush', 'box'] as const) {
            const b = button(how, () => {
                this.how = how;
                this.showOptions();
            });
            b.classList.toggle('on', how === this.how);
            group.append(b);
        }
        return group;
    }

    private radiusSlider(region: boolean): HTMLElement {
        const slider = h('input', {
            attrs: { type: 'range', min: region ? '0' : '0.005', max: '0.3', step: '0.005', 'aria-label': 'Radius' },
        });
        slider.value = String(region ? this.handleRadius : this.radius);
        slider.addEventListener('input', () => {
            if (region) this.handleRadius = Number(slider.value);
            else this.radius = Number(slider.value);
        });
        return h('label', { class: 'option' }, region ? 'Handle: point to region' : 'Radius', slider);
    }

    /** In design: 0 takes a point, more takes a region as one piece. */
    handleRadius = 0;

    private stiffnessSlider(): HTMLElement {
        const slider = h('input', {
            attrs: { type: 'range', min: '-2', max: '1', step: '0.05', 'aria-label': 'Strength of the pull' },
        });
        slider.value = String(Math.log10(this.stiffness));
        slider.addEventListener('input', () => (this.stiffness = 10 ** Number(slider.value)));
        return h('label', { class: 'option' }, 'Soft to firm', slider);
    }

    private refuse(): boolean {
        if (this.app.edits) return false;
        this.app.toasts.show('warn', 'Another page is editing', 'Take over with the button at the top.', 5, 'editor');
        return true;
    }

    private down(event: PointerEvent): void {
        if (this.pull || this.load || this.brush || this.box) return;
        const bare = event.button !== 0 || event.ctrlKey || event.metaKey || this.tool === 'orbit';
        if (bare) return;
        if ((this.tool === 'fix' || this.tool === 'unfix') && this.how === 'box') {
            if (this.refuse()) return;
            this.take(event);
            this.box = { pointer: event.pointerId, x: event.clientX, y: event.clientY };
            return;
        }
        const hit = this.app.world.pick(event.clientX, event.clientY);
        if (!hit) return;
        this.take(event);
        if (this.refuse()) return;
        if (this.tool === 'pull') this.beginPull(event, hit);
        else if (this.tool === 'load') this.load = new LoadDrag(this.app, event, hit, this.metres(this.radius));
        else if (this.tool === 'paint' || this.how === 'brush') this.beginBrush(event, hit);
        else this.clickVertex(hit);
    }

    /** The view does not turn with this press. */
    private take(event: PointerEvent): void {
        event.stopImmediatePropagation();
        event.preventDefault();
        this.app.stage.orbiting = false;
        this.app.stage.canvas.setPointerCapture(event.pointerId);
        this.app.stage.canvas.focus({ preventScroll: true });
    }

    /** Something is held or drawn. */
    get busy(): boolean {
        return this.pull !== null || this.load !== null || this.brush !== null || this.box !== null;
    }

    private metres(radius: number): number {
        return radius * (this.app.world.data?.topology.size ?? 1);
    }

    private beginPull(event: PointerEvent, hit: Picked): void {
        const grab = this.nextGrab++;
        const point = new THREE.Vector3(...hit.point);
        this.pull = { pointer: event.pointerId, grab, pane: hit.shape, point };
        const request = {
            type: 'grab',
            grab,
            shape: hit.shape,
            topology: this.app.world.data?.topology.topology ?? 0,
            target: this.app.world.toWorld(point),
            sent: performance.now(),
        };
        const design = this.app.scene?.mode === 'design';
        const firmness = design || this.stiffness === 1 ? {} : { stiffness: this.stiffness * this.guessStiffness(hit.triangle) };
        if (design && this.handleRadius > 0) {
            const brush = new Brush(this.app.world, hit.shape, this.metres(this.handleRadius));
            brush.dab(hit);
            point.copy(brush.center());
            const selection = brush.selection()!;
            if (isTooMuch(this.app, selection)) {
                brush.clear();
                this.forget();
                return;
            }
            void this.app.ask({ ...request, target: this.app.world.toWorld(point), ...selection });
            brush.clear();
            this.pull.point.set(...hit.point);
            this.regionOffset.copy(point).sub(this.pull.point);
            return;
        }
        this.regionOffset.set(0, 0, 0);
        this.grabbed = { triangle: hit.triangle, weights: hit.weights, ...firmness };
        void this.app.ask({ ...request, ...this.grabbed });
    }

    /** From the point that the pointer holds to the centre of the region that goes along. */
    private readonly regionOffset = new THREE.Vector3();

    /** E times the size of an element, as the server has it. */
    private guessStiffness(triangle: number): number {
        const { data } = this.app.world;
        const scene = this.app.scene;
        if (!data || !scene) return 1000;
        const young = scene.bodies[this.app.world.bodyOf(triangle)]?.material.young ?? 1e5;
        const cell = data.topology.size / Math.cbrt(Math.max(1, scene.tets / 5));
        return young * cell;
    }

    private beginBrush(event: PointerEvent, hit: Picked): void {
        this.brush = new Brush(this.app.world, hit.shape, this.metres(this.radius), event.pointerId);
        this.brush.dab(hit);
    }

    private clickVertex(hit: Picked): void {
        const nearest = hit.weights.indexOf(Math.max(...hit.weights));
        const drawn = hit.vertices[nearest]!;
        const number = this.app.world.data!.vertexNumbers[drawn]!;
        const selection: Selection = number >= 0 ? { vertices: [number] } : { triangles: [hit.triangle], topology: this.app.world.data!.topology.topology };
        this.sendFix(selection);
        this.app.stage.orbiting = true;
    }

    private sendFix(selection: Selection): void {
        if (isTooMuch(this.app, selection)) return;
        void this.app.ask({ type: this.tool === 'unfix' ? 'unfix' : 'fix', ...selection });
    }

    private moved(event: PointerEvent): void {
        if (this.pull && event.pointerId === this.pull.pointer) this.movePull(event);
        else if (this.load) this.load.move(event, this.label);
        else if (this.brush) {
            const hit = this.app.world.pick(event.clientX, event.clientY);
            if (hit && hit.shape === this.brush.shape) this.brush.dab(hit);
        } else if (this.box) this.showBand(event);
        this.showRing(event);
    }

    private movePull(event: PointerEvent): void {
        const pull = this.pull!;
        const target = this.app.stage.dragPlane(event.clientX, event.clientY, pull.pane, pull.point);
        this.label.style.transform = `translate(${event.offsetX + 18}px, ${event.offsetY + 14}px)`;
        if (!target) return;
        const place: Vec3 = this.app.world.toWorld(target.add(this.regionOffset));
        this.target = place;
        this.app.send({ type: 'move', grab: pull.grab, target: place, sent: performance.now() });
    }

    private showRing(event: PointerEvent): void {
        const brushes = this.tool === 'paint' || this.tool === 'load' ||
            ((this.tool === 'fix' || this.tool === 'unfix') && this.how === 'brush');
        const hit = brushes && event.pointerType === 'mouse' ? this.app.world.pick(event.clientX, event.clientY) : null;
        this.ring.hidden = hit === null;
        if (!hit) return;
        const pixels = this.metres(this.radius) / this.app.stage.scaleAt(new THREE.Vector3(...hit.point));
        this.ring.style.width = this.ring.style.height = `${2 * pixels}px`;
        this.ring.style.transform = `translate(${event.offsetX - pixels}px, ${event.offsetY - pixels}px)`;
    }

    private showBand(event: PointerEvent): void {
        const canvas = this.app.stage.canvas.getBoundingClientRect();
        const box = this.box!;
        const [x0, x1] = [Math.min(box.x, event.clientX), Math.max(box.x, event.clientX)];
        const [y0, y1] = [Math.min(box.y, event.clientY), Math.max(box.y, event.clientY)];
        this.band.hidden = false;
        this.band.style.transform = `translate(${x0 - canvas.left}px, ${y0 - canvas.top}px)`;
        this.band.style.width = `${x1 - x0}px`;
        this.band.style.height = `${y1 - y0}px`;
    }

    private up(event: PointerEvent): void {
        if (this.pull && event.pointerId === this.pull.pointer)
            this.app.send({ type: 'release', grab: this.pull.grab });
        else if (this.load) this.load.finish(this.tool === 'load');
        else if (this.brush) this.finishBrush();
        else if (this.box) this.finishBox(event);
        this.forget();
    }

    private forget(): void {
        this.pull = this.load = this.brush = this.box = null;
        this.label.hidden = this.band.hidden = true;
        this.app.stage.orbiting = true;
        this.app.stage.draw();
    }

    /** Lets go of whatever is under way. */
    cancel(): void {
        if (this.pull) this.app.send({ type: 'release', grab: this.pull.grab });
        this.load?.finish(false);
        this.brush?.clear();
        this.forget();
    }

    private finishBrush(): void {
        const brush = this.brush!;
        const selection = brush.selection();
        brush.clear();
        if (!selection || isTooMuch(this.app, selection)) return;
        if (this.tool === 'paint') void this.app.ask(this.paint.request(brush.body(), selection));
        else this.sendFix(selection);
    }

    private finishBox(event: PointerEvent): void {
        const { x, y } = this.box!;
        if (Math.hypot(event.clientX - x, event.clientY - y) < 4) return;
        const selection = insideRectangle(this.app, [x, y], [event.clientX, event.clientY]);
        if (!selection) this.app.toasts.show('info', 'No vertices in the rectangle', '', 3);
        else this.sendFix(selection);
    }

    /** The force of the pull, beside the cursor. */
    private showForce(): void {
        if (!this.pull) return;
        const { grabs } = this.app.world;
        for (let i = 0; i + 10 <= grabs.length; i += 10) {
            if (Math.round(grabs[i]!) !== this.pull.grab) continue;
            const force = Math.hypot(grabs[i + 7]!, grabs[i + 8]!, grabs[i + 9]!);
            const goal = new THREE.Vector3().fromArray(grabs, i + 4).sub(this.regionOffset);
            const way = goal.distanceTo(this.pull.point);
            const design = this.app.scene?.mode === 'design';
            const stands = !design && this.app.status?.playing === false;
            this.label.textContent = design ? `moved ${quantity(way, 'm', 3)}` : quantity(force, 'N');
            this.label.dataset.note = stands ? 'paused: Space plays' : '';
            this.label.hidden = false;
        }
    }

    get forceLabel(): string {
        return this.label.hidden ? '' : (this.label.textContent ?? '');
    }
}
