// The scenes that there are, as pictures; and where files are dropped.
import type { App } from '../app';
import type { GalleryEntry, UploadAnswer, Vec3 } from '../net/protocol';
import { bytes, digits, quantity } from '../units';
import { button, h, icon } from './dom';

const TITLES: Record<string, string> = { here: 'Your folder', uploads: 'Your uploads', scenes: 'First scenes' };

/** "here/contact" → "Your folder: contact" */
function groupTitle(group: string): string {
    const [first, ...rest] = group.replaceAll('_', ' ').replaceAll('-', ' ').split('/');
    const name = TITLES[first ?? ''];
    return rest.length === 0 || !name ? (name ?? group) : first === 'scenes' ? rest.join(', ') : `${name}: ${rest.join(', ')}`;
}

export class Gallery {
    readonly element: HTMLElement;
    private readonly list = h('div', { class: 'gallery-list' });
    private readonly search = h('input', {
        class: 'gallery-search',
        attrs: { type: 'search', placeholder: 'Find a scene', 'aria-label': 'Find a scene' },
    });
    private stop = new AbortController();
    private entries: GalleryEntry[] = [];

    constructor(
        private readonly app: App,
        private readonly uploads: Uploads,
    ) {
        const file = h('input', { attrs: { type: 'file', multiple: '' } });
        file.hidden = true;
        file.addEventListener('change', () => {
            for (const f of file.files ?? []) void this.uploads.take(f);
            file.value = '';
            this.close();
        });
        const drop = h(
            'button',
            { class: 'gallery-drop', attrs: { type: 'button' }, on: { click: () => file.click() } },
            icon('download', 26),
            h('b', { text: 'Drop a mesh anywhere on this page' }),
            h('span', { text: 'or click to choose one: .obj .stl .ply .msh .vtu .mesh …' }),
        );
        this.element = h(
            'div',
            { class: 'gallery', attrs: { role: 'dialog', 'aria-label': 'Scenes' } },
            h(
                'div',
                { class: 'gallery-card' },
                h('header', {}, h('h1', { text: 'Open a scene' }), this.search, button('', () => this.close(), { icon: 'close', title: 'Close (Esc)', class: 'round' })),
                drop,
                file,
                this.list,
            ),
        );
        this.element.hidden = true;
        this.element.addEventListener('click', (e) => {
            if (e.target === this.element) this.close();
        });
        this.search.addEventListener('input', () => this.show());
    }

    get isOpen(): boolean {
        return !this.element.hidden;
    }

    async open(): Promise<void> {
        this.element.hidden = false;
        this.search.value = '';
        this.search.focus();
        try {
            this.entries = (await this.app.http.gallery()).scenes;
            this.show();
        } catch (error) {
            this.app.complain(error, 'The gallery could not be read');
        }
    }

    close(): void {
        this.stop.abort();
        this.element.hidden = true;
    }

    private show(): void {
        this.stop.abort();
        this.stop = new AbortController();
        const words = this.search.value.toLowerCase().split(/\s+/).filter(Boolean);
        const fits = this.entries.filter((e) =>
            words.every((w) => `${e.path} ${e.title} ${e.about}`.toLowerCase().includes(w)),
        );
        const groups = new Map<string, GalleryEntry[]>();
        for (const e of fits) groups.set(e.group, [...(groups.get(e.group) ?? []), e]);
        this.list.replaceChildren();
        if (fits.length === 0) this.list.append(h('p', { class: 'empty', text: 'No scene is called that.' }));
        for (const [group, entries] of groups) {
            this.list.append(h('h2', { text: groupTitle(group) }));
            this.list.append(h('div', { class: 'cards' }, ...entries.map((e) => this.card(e))));
        }
        void this.fetchPictures(this.stop.signal);
    }

    private card(entry: GalleryEntry): HTMLElement {
        const picture = h('div', { class: 'card-picture', attrs: { 'data-path': entry.path } });
        const size = entry.tets ? `${entry.tets.toLocaleString('en')} tets` : '';
        return h(
            'button',
            {
                class: 'card',
                title: `${entry.path}${entry.about ? `\n${entry.about}` : ''}`,
                attrs: { type: 'button', 'data-scene': entry.path },
                on: { click: () => void this.openScene(entry.path) },
            },
            picture,
            h('div', { class: 'card-text' }, h('b', { text: entry.title || entry.path }), h('span', { text: size || entry.about })),
        );
    }

    /** One after the other from the top: the server draws one at a time. */
    private async fetchPictures(stop: AbortSignal): Promise<void> {
        for (const place of this.list.querySelectorAll<HTMLElement>('.card-picture')) {
            if (stop.aborted) return;
            try {
                const blob = await this.app.http.thumbnail(place.dataset.path!, stop);
                if (!blob) {
                    place.classList.add('none');
                    continue;
                }
                const image = h('img', { attrs: { alt: '' } });
                image.src = URL.createObjectURL(blob);
                image.onload = () => URL.revokeObjectURL(image.src);
                place.replaceChildren(image);
            } catch {
                if (!stop.aborted) place.classList.add('none');
            }
        }
    }

    private async openScene(path: string): Promise<void> {
        if ((await this.app.ask({ type: 'open', scene: path }, `${path} could not be opened`)) !== null) this.close();
    }
}

/** Of the file's faces, or whatever the defect is of: each once. */
function numbersOf(numbers: readonly number[]): string {
    const different = [...new Set(numbers)];
    return different.length > 0 ? ` at ${different.slice(0, 5).join(', ')}${different.length > 5 ? ' …' : ''}` : '';
}

/** Mesh files that are dropped on the page, and what is wrong with them. */
export class Uploads {
    readonly element = h('div', { class: 'mesh-card' });
    readonly veil = h('div', { class: 'drop-veil' }, h('div', {}, icon('download', 40), h('b', { text: 'Drop a mesh to make a body of it' })));

    constructor(private readonly app: App) {
        this.element.hidden = this.veil.hidden = true;
        // The card is about a scene: with another one it goes.
        app.on('scene', (scene) => {
            if (!scene.edited && scene.path !== this.path && !this.element.hidden) this.hide();
        });
        let depth = 0;
        window.addEventListener('dragenter', (e) => {
            e.preventDefault();
            depth++;
            this.veil.hidden = false;
        });
        window.addEventListener('dragover', (e) => e.preventDefault());
        window.addEventListener('dragleave', () => {
            if (--depth <= 0) this.veil.hidden = true;
        });
        window.addEventListener('drop', (e) => {
            e.preventDefault();
            depth = 0;
            this.veil.hidden = true;
            for (const file of e.dataTransfer?.files ?? []) void this.take(file);
        });
    }

    private path: string | null = null;

    async take(file: File): Promise<void> {
        const { toasts } = this.app;
        toasts.show('info', `Reading ${file.name}`, `${bytes(file.size)} · filling it with tets where it is a surface`, 0, 'upload');
        try {
            const answer = await this.app.http.upload(file);
            toasts.hide('upload');
            await this.show(answer, file.name);
        } catch (error) {
            toasts.hide('upload');
            this.app.complain(error, `${file.name} could not be read`);
        }
    }

    private async show(answer: UploadAnswer, name: string): Promise<void> {
        if (answer.waits_for) {
            this.app.toasts.show('info', `${name} is here`, `Drop ${answer.waits_for} as well: the two are one mesh.`, 15);
            return;
        }
        this.path = answer.scene;
        if (answer.scene) await this.app.ask({ type: 'open', scene: answer.scene, play: true }, `${name} could not be simulated`);
        const defects = answer.report?.defects ?? [];
        this.showCard(answer, name);
        if (!answer.scene || !answer.report) return;
        const places = this.placesInScene(answer.report.bounds, defects.flatMap((d) => d.places));
        for (const shape of this.app.world.shapes) shape.setDefects(places);
        this.app.stage.draw();
    }

    /** From the units and the origin of the file to those of the scene that was made of it. */
    private placesInScene(bounds: [Vec3, Vec3], places: Vec3[]): Vec3[] {
        const topology = this.app.world.data?.topology;
        if (!topology) return [];
        const extent = (b: [Vec3, Vec3]): number => Math.max(...b[1].map((v, i) => v - b[0][i]!));
        const scale = extent(topology.bounds) / Math.max(extent(bounds), 1e-30);
        const middle = (b: [Vec3, Vec3], i: number): number => (b[0][i]! + b[1][i]!) / 2;
        return places.map((p) =>
            p.map((v, i) => middle(topology.bounds, i) - topology.origin[i]! + scale * (v - middle(bounds, i))) as Vec3,
        );
    }

    private showCard(answer: UploadAnswer, name: string): void {
        const report = answer.report;
        const defects = report?.defects.filter((d) => d.count > 0) ?? [];
        const close = button('', () => this.hide(), { icon: 'close', title: 'Close', class: 'round small' });
        this.element.className = `mesh-card ${answer.scene ? (defects.length > 0 ? 'warn' : 'good') : 'bad'}`;
        this.element.replaceChildren(
            h('header', {}, h('b', { text: answer.scene ? `${name} is a body now` : `${name} cannot be simulated` }), close),
        );
        if (report) {
            const scale = report.scale ?? 1;
            const size = report.bounds[1].map((v, i) => quantity(scale * (v - report.bounds[0][i]!), 'm', 2)).join(' × ');
            const facts = report.tets
                ? `${report.tets.toLocaleString('en')} tets`
                : `${report.triangles.toLocaleString('en')} triangles`;
            this.element.append(h('p', { text: `${facts} · ${size}${report.volume > 0 ? ` · ${digits(report.volume * scale ** 3 * 1e6)} cm³` : ''}` }));
        }
        for (const note of answer.notes ?? []) this.element.append(h('p', { class: 'note', text: note }));
        if (!answer.scene && report) this.element.append(h('p', { class: 'verdict', text: report.verdict }));
        if (defects.length > 0) this.element.append(h('h3', { text: answer.scene ? 'Defects of the file, marked in red' : 'Defects of the file' }));
        const list = h('ul', {});
        for (const d of defects)
            list.append(h('li', {}, h('b', { text: String(d.count) }), ` ${d.name}`, h('span', { title: d.places.slice(0, 5).map((p) => `(${p.map((v) => digits(v)).join(', ')})`).join(' '), text: numbersOf(d.numbers) })));
        this.element.append(list);
        this.element.hidden = false;
    }

    hide(): void {
        this.element.hidden = true;
        for (const shape of this.app.world.shapes) shape.setDefects([]);
        this.app.stage.draw();
    }
}
