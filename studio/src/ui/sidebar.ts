// The panel on the right: what is seen, and all that can be set of the world. Methods, options,
// materials and fields come from the tables of the server.
import GUI from 'lil-gui';
import '../../node_modules/lil-gui/dist/lil-gui.css';
import type { App } from '../app';
import type { Material, MethodTable, OptionTable, SceneBody, SolverChoice, Vec3 } from '../net/protocol';
import { h } from './dom';
import { logSlider } from './log-slider';

const LABELS = { axis: 'axis', place: 'place', flip: 'other side' };

export class Sidebar {
    readonly element = h('div', { class: 'sidebar' });
    private gui: GUI | null = null;
    private readonly folders = new Map<string, boolean>();
    private refreshers: (() => void)[] = [];
    private signature = '';

    constructor(private readonly app: App) {
        app.on('scene', () => this.follow());
        app.on('topology', () => this.follow());
        app.on('status', () => this.follow());
        app.on('welcome', () => this.follow());
    }

    /** Built anew where what there is has changed, else only brought up to date. */
    private follow(): void {
        const { scene } = this.app;
        if (!scene) return;
        const bodies = scene.bodies.map((b) => [
            b.name,
            shapeOf(b.material),
            b.regions.map((r) => shapeOf(r.material)),
            b.loads.length,
        ]);
        const signature = JSON.stringify([
            scene.generation,
            scene.mode,
            scene.solver.method,
            scene.solvers?.map((s) => s.method),
            bodies,
            this.app.world.data?.topology.springs,
        ]);
        if (signature !== this.signature) this.build();
        else for (const refresh of this.refreshers) refresh();
        this.signature = signature;
    }

    private build(): void {
        this.gui?.destroy();
        this.refreshers = [];
        const gui = new GUI({ container: this.element, autoPlace: false, injectStyles: false, title: '' });
        gui.domElement.classList.add('studio-gui');
        this.gui = gui;
        this.buildView(this.folder('View'));
        const mode = this.app.scene!.mode;
        const { solvers } = this.app.scene!;
        if (mode === 'live') this.buildSolver(this.folder('Method'), this.app.scene!.solver);
        // Of a comparison: which methods, the bar below the view says.
        else solvers?.forEach((s, k) => this.buildSolver(this.folder(`Method: ${s.method}`), s, k));
        this.buildWorld(this.folder(mode === 'design' ? 'Forces' : 'World'));
        this.app.scene!.bodies.forEach((body, i) => this.buildBody(body, i));
        this.buildAbout(this.folder('About this scene', true));
    }

    private folder(title: string, closed = false): GUI {
        const folder = this.gui!.addFolder(title);
        if (this.folders.get(title) ?? closed) folder.close();
        folder.onOpenClose((f) => {
            if (f === folder) this.folders.set(title, folder._closed);
        });
        return folder;
    }

    private buildView(folder: GUI): void {
        const { world } = this.app;
        const fields: Record<string, string> = { Material: 'material' };
        for (const f of this.app.tables?.fields ?? [])
            if (f.name !== 'none' && f.name !== 'material') fields[capital(f.label)] = f.name;
        const colour = folder.add(world, 'field', fields).name('Colour by');
        colour.onChange(() => {
            this.app.fieldOfSolids = null;
            world.range.forget();
            this.app.askForFields();
            world.applyLook();
            this.app.stage.draw();
        });
        this.refreshers.push(() => colour.updateDisplay());
        const shown = (key: keyof typeof world.shown, name: string): void => {
            const c = folder.add(world.shown, key).name(name);
            c.onChange(() => {
                world.applyShown();
                if (key === 'contacts') this.app.askForFields();
            });
            this.refreshers.push(() => c.updateDisplay());
        };
        shown('wireframe', 'Wireframe (W)');
        shown('ghost', 'Rest shape (H)');
        shown('fixed', 'Held vertices');
        shown('loads', 'Loads');
        shown('obstacles', 'Obstacles');
        if (this.app.scene!.contact) shown('contacts', 'Contact forces');
        if ((world.data?.topology.springs ?? 0) > 0) shown('springs', 'Springs');
        this.buildRange(folder);
        this.buildSection(folder);
    }

    private buildRange(folder: GUI): void {
        const { world } = this.app;
        const state = { hold: world.range.fixed !== null };
        folder
            .add(state, 'hold')
            .name('Hold the range')
            .onChange((hold: boolean) => {
                world.range.fixed = hold ? [...world.range.range] : null;
            });
    }

    private buildSection(folder: GUI): void {
        const { section } = this.app.world;
        const sub = folder.addFolder('Section plane (X)');
        if (!section.on) sub.close();
        const change = (): void => this.app.world.applySection();
        const on = sub.add(section, 'on').name('cut').onChange(change);
        this.refreshers.push(() => on.updateDisplay());
        sub.add(section, 'axis', ['x', 'y', 'z']).name(LABELS.axis).onChange(change);
        sub.add(section, 'place', 0, 1, 0.001).name(LABELS.place).onChange(change);
        sub.add(section, 'flip').name(LABELS.flip).onChange(change);
    }

    private buildSolver(folder: GUI, solver: SolverChoice, world?: number): void {
        const { app } = this;
        const methods = app.tables?.methods ?? [];
        const table = methods.find((m) => m.name === solver.method);
        const values = { method: solver.method, iterations: solver.iterations, tolerance: solver.tolerance };
        const options: Record<string, number | string> = { ...solver.options };
        const ask = (): void => {
            const which = world === undefined ? {} : { world };
            app.askGently(`solver ${world ?? ''}`, { type: 'solver', ...which, ...values, options: changed(table, options) });
        };
        if (world === undefined) {
            const choice = folder.add(values, 'method', methods.map((m) => m.name)).name('Method');
            choice.onChange((method: string) => void app.ask({ type: 'solver', method }));
            choice.domElement.title = table?.summary ?? '';
        }
        const iterations = folder.add(values, 'iterations', 1, undefined, 1).name('Iterations').onChange(ask);
        iterations.domElement.title = 'At most so many in a step';
        logSlider(folder, 'Tolerance', '', values.tolerance, [1e-12, 1e-1], (v) => {
            values.tolerance = v;
            ask();
        });
        if (table && table.options.length > 0) {
            const sub = folder.addFolder(`Options of ${table.name}`);
            sub.close();
            for (const option of table.options) this.buildOption(sub, option, options, ask);
        }
    }

    private buildOption(
        folder: GUI,
        option: OptionTable,
        options: Record<string, number | string>,
        ask: () => void,
    ): void {
        const now = options[option.name] ?? option.fallback;
        options[option.name] = now;
        const name = option.name.replaceAll('_', ' ');
        const c =
            option.words && option.words.length > 0
                ? folder.add(options, option.name, option.words)
                : folder.add(options, option.name, option.minimum ?? undefined, undefined);
        c.name(name).onFinishChange(ask);
        c.domElement.title = option.help;
    }

    private buildWorld(folder: GUI): void {
        const { app } = this;
        const scene = app.scene!;
        const strength = Math.hypot(...scene.gravity);
        const direction: Vec3 = strength > 0 ? (scene.gravity.map((g) => g / strength) as Vec3) : [0, -1, 0];
        const state = { gravity: strength, air: scene.damping.air, viscous: scene.damping.viscous };
        const gravity = folder.add(state, 'gravity', 0, 30, 0.01).name('Gravity, m/s²');
        gravity.onChange((g: number) =>
            app.askGently('gravity', { type: 'gravity', value: direction.map((d) => d * g) }),
        );
        this.refreshers.push(() => {
            state.gravity = Math.hypot(...app.scene!.gravity);
            gravity.updateDisplay();
        });
        if (scene.mode === 'design') return;
        logSlider(folder, 'Time step', 's', scene.step, [1e-4, 0.1], (value) =>
            app.askGently('step', { type: 'time_step', value }),
        );
        const damp = (key: 'air' | 'viscous', name: string, most: number, help: string): void => {
            const c = folder.add(state, key, 0, most).name(name);
            c.domElement.title = help;
            c.onChange((value: number) => app.askGently(key, { type: 'damping', [key]: value }));
        };
        damp('air', 'Air drag, 1/s', 5, 'Slows all motion, as thin air does');
        damp('viscous', 'Viscosity, s', 0.1, 'Slows deformation, as in rubber');
    }

    private buildBody(body: SceneBody, number: number): void {
        const folder = this.folder(`Body: ${body.name || number}`, number > 1);
        const now = (): SceneBody | undefined => this.app.scene?.bodies[number];
        this.buildMaterial(folder, `${number}`, () => now()?.material ?? body.material, body, (material) => ({
            type: 'material',
            body: number,
            material,
        }));
        body.regions.forEach((region, r) => {
            const own = /^region \d+$/.test(region.name) ? `Region ${r + 1}` : `Region: ${region.name}`;
            const part = folder.addFolder(region.added ? `Painted ${r + 1}` : own);
            part.close();
            this.buildMaterial(part, `${number} ${r}`, () => now()?.regions[r]?.material ?? region.material, body, (material) => ({
                type: 'material',
                body: number,
                region: r,
                material,
            }));
        });
        if (body.loads.length > 0) {
            const clear = { clear: () => void this.app.ask({ type: 'load', clear: true, body: number }) };
            folder.add(clear, 'clear').name(`Remove the loads (${body.loads.length})`);
        }
    }

    private buildMaterial(
        folder: GUI,
        place: string,
        now: () => Material,
        { sheet, rope }: { sheet: boolean; rope?: boolean },
        request: (material: Record<string, unknown>) => { type: string } & Record<string, unknown>,
    ): void {
        const { app } = this;
        const material = now();
        const use = rope ? 'ropes' : sheet ? 'sheets' : 'solids';
        const models = (app.tables?.materials ?? []).filter((m) => m.use === use).map((m) => m.name);
        const state = { model: material.model, poisson: material.poisson ?? 0.45 };
        const gently = (key: string, value: Record<string, unknown>): void =>
            app.askGently(`material ${place} ${key}`, request(value));
        const decades = (name: string, unit: string, key: 'young' | 'density' | 'thickness', range: [number, number]): void => {
            const value = material[key] ?? null;
            if (value === null) return;
            const set = logSlider(folder, name, unit, value, range, (v) => gently(key, { [key]: v }));
            this.refreshers.push(() => set(now()[key] ?? value));
        };
        if (models.length > 1)
            folder.add(state, 'model', models).name('Material').onChange((model: string) => gently('model', { model }));
        decades("Young's modulus", 'Pa', 'young', [1e3, 2.5e11]);
        if (material.poisson !== null) {
            const poisson = folder.add(state, 'poisson', 0, 0.495, 0.005).name("Poisson's ratio");
            poisson.onChange((value: number) => gently('poisson', { poisson: value }));
            this.refreshers.push(() => {
                state.poisson = now().poisson ?? state.poisson;
                poisson.updateDisplay();
            });
        }
        decades('Thickness', 'm', 'thickness', [1e-5, 0.1]);
        const perArea = material.model === 'mass_spring';
        decades('Density', perArea ? 'kg/m²' : 'kg/m³', 'density', perArea ? [0.01, 100] : [10, 2e4]);
        const parameters = { ...(material.parameters ?? {}) };
        for (const name of Object.keys(parameters)) {
            const field = folder.add(parameters, name).name(name.replaceAll('_', ' '));
            field.onFinishChange((value: number) => gently(name, { parameters: { [name]: value } }));
            this.refreshers.push(() => {
                parameters[name] = now().parameters?.[name] ?? parameters[name]!;
                field.updateDisplay();
            });
        }
    }

    private buildAbout(folder: GUI): void {
        const { scene } = this.app;
        if (!scene) return;
        const host = folder.$children;
        const rows: [string, string][] = [
            ['vertices', scene.vertices.toLocaleString('en')],
            ['tets', scene.tets.toLocaleString('en')],
        ];
        if (scene.triangles) rows.push(['triangles of sheets', scene.triangles.toLocaleString('en')]);
        if (scene.lines) rows.push(['lines of ropes', scene.lines.toLocaleString('en')]);
        const springs = this.app.world.data?.topology.springs ?? 0;
        if (springs > 0) rows.push(['springs', springs.toLocaleString('en')]);
        if (scene.integrator) rows.push(['integrator', scene.integrator]);
        if (scene.backend) rows.push(['computed by', `${scene.backend}, ${scene.threads} threads`]);
        if (scene.setup_ms !== undefined) rows.push(['set up in', `${scene.setup_ms.toFixed(0)} ms`]);
        const list = h('dl', { class: 'facts' });
        for (const [name, value] of rows) list.append(h('dt', { text: name }), h('dd', { text: value }));
        host.append(list);
        if (scene.describe) host.append(h('pre', { class: 'describe', text: scene.describe }));
    }
}

/** What there is to set of a material, without the values. */
function shapeOf(material: Material): unknown[] {
    const { model, young, poisson, density, thickness, parameters } = material;
    const known = [young, poisson, density, thickness ?? null].map((v) => v !== null);
    return [model, known, Object.keys(parameters ?? {})];
}

function capital(text: string): string {
    return text.charAt(0).toUpperCase() + text.slice(1);
}

/** Options that differ from what the method has anyway. */
function changed(
    table: MethodTable | undefined,
    options: Record<string, number | string>,
): Record<string, number | string> {
    const different = (table?.options ?? []).filter((o) => options[o.name] !== o.fallback);
    return Object.fromEntries(different.map((o) => [o.name, options[o.name]!]));
}
