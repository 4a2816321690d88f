// A load drawn as an arrow: its length against the size of the body is its force against the weight.
import * as THREE from 'three';
import type { App } from '../app';
import type { Vec3 } from '../net/protocol';
import { quantity } from '../units';
import { Arrows } from '../view/marks';
import { colours } from '../view/shape-view';
import type { Picked } from '../view/world-view';
import { Brush, isTooMuch } from './choose';

export class LoadDrag {
    private readonly arrow = new Arrows(colours.load);
    private readonly brush: Brush;
    private readonly foot: THREE.Vector3;
    private readonly force = new THREE.Vector3();

    constructor(
        private readonly app: App,
        event: PointerEvent,
        private readonly hit: Picked,
        radius: number,
    ) {
        this.foot = new THREE.Vector3(...hit.point);
        this.brush = new Brush(app.world, hit.shape, radius, event.pointerId);
        this.brush.dab(hit);
        app.stage.panes[hit.shape]!.scene.add(this.arrow.group);
    }

    /** Newtons of an arrow as long as the scene: twice the weight of the body, and 10 N at least
     * where it has none. */
    private newtons(): number {
        const body = this.app.scene?.bodies[this.app.world.bodyOf(this.hit.triangle)];
        const weight = (body?.mass ?? 0) * 9.81;
        return weight > 0 ? 2 * weight : 10;
    }

    move(event: PointerEvent, label: HTMLElement): void {
        const to = this.app.stage.dragPlane(event.clientX, event.clientY, this.hit.shape, this.foot);
        if (!to) return;
        const way = to.sub(this.foot);
        const size = this.app.world.data?.topology.size ?? 1;
        this.force.copy(way).multiplyScalar(this.newtons() / size);
        this.arrow.set(this.foot.toArray(), way.toArray());
        label.style.transform = `translate(${event.offsetX + 18}px, ${event.offsetY + 14}px)`;
        label.textContent = quantity(this.force.length(), 'N');
        label.hidden = false;
        this.app.stage.draw();
    }

    finish(apply: boolean): void {
        const selection = this.brush.selection();
        this.app.stage.panes[this.hit.shape]?.scene.remove(this.arrow.group);
        this.brush.clear();
        const pixels = this.force.length() / this.newtons();
        if (!apply || !selection || pixels < 0.004 || isTooMuch(this.app, selection)) return;
        void this.app.ask({ type: 'load', ...selection, force: this.force.toArray() as Vec3 });
    }
}
