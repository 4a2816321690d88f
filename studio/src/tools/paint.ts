// The material that the brush has: stiffness by a slider over decades, and the model.
import type { App } from '../app';
import type { Request, Selection } from '../net/protocol';
import { quantity } from '../units';
import { h } from '../ui/dom';

export class PaintOptions {
    readonly element = h('div', { class: 'paint' });
    young = 1e6;
    model = '';
    private readonly model_ = h('select', { class: 'select', title: 'Material' });
    private readonly slider = h('input', {
        attrs: { type: 'range', min: '3', max: '11.3', step: '0.05', 'aria-label': "Young's modulus" },
    });
    private readonly text = h('output', { class: 'paint-value' });

    constructor(private readonly app: App) {
        this.slider.addEventListener('input', () => this.set(10 ** Number(this.slider.value)));
        this.model_.addEventListener('change', () => (this.model = this.model_.value));
        this.element.append(
            h('label', { class: 'option' }, 'Stiffness', this.slider, this.text),
            h('label', { class: 'option' }, 'Law', this.model_),
        );
        app.on('scene', (scene) => {
            if (scene.edited) return;
            const material = scene.bodies[0]?.material;
            // Ten times stiffer than the body is: paint that would show nothing is no use.
            this.set(10 * (material?.young ?? 1e5));
            this.fillModels();
        });
    }

    private fillModels(): void {
        const solids = (this.app.tables?.materials ?? []).filter((m) => m.use === 'solids');
        this.model_.replaceChildren(
            h('option', { text: 'as the body', attrs: { value: '' } }),
            ...solids.map((m) => h('option', { text: m.name, title: m.summary, attrs: { value: m.name } })),
        );
        this.model = '';
    }

    private set(young: number): void {
        this.young = Number(young.toPrecision(2));
        this.slider.value = String(Math.log10(this.young));
        this.text.textContent = quantity(this.young, 'Pa', 2);
    }

    request(body: number, selection: Selection): Request {
        const material = this.model ? { model: this.model, young: this.young } : { young: this.young };
        return { type: 'material', body, ...selection, material };
    }
}
