// Pictures and films of the view, with its legend; models and numbers of the run.
import type { App } from '../app';
import { seconds } from '../units';
import { button, h, icon } from './dom';
import type { Legend } from './legend';
import type { Plots } from './plots';
import { baseName, download, saveBlob, saveDesign } from './save-file';

export class Record {
    readonly menu: HTMLElement;
    readonly badge = h('div', { class: 'record-badge' });
    private recorder: MediaRecorder | null = null;
    private readonly film = document.createElement('canvas');
    private filmBegan = 0;
    private recording = false;

    constructor(
        private readonly app: App,
        private readonly legend: Legend,
        private readonly plots: Plots,
    ) {
        const item = (name: Parameters<typeof icon>[0], text: string, note: string, id: string, action: () => void): HTMLElement =>
            h(
                'button',
                {
                    class: 'menu-item',
                    id,
                    attrs: { type: 'button' },
                    on: {
                        click: () => {
                            this.menu.hidden = true;
                            action();
                        },
                    },
                },
                icon(name),
                h('span', {}, h('b', { text }), h('i', { text: note })),
            );
        this.menu = h(
            'div',
            { class: 'menu', attrs: { role: 'menu' } },
            item('camera', 'Picture', 'PNG of the view (P)', 'save-png', () => void this.picture()),
            item('record', 'Film', 'WebM of the view; again to end it', 'save-webm', () => this.toggleFilm()),
            item('record', 'Animation', '.glb of the run; again to end it', 'save-animation', () => this.toggleAnimation()),
            item('chart', 'Plots', 'CSV, a row a step', 'save-csv', () => void this.csv()),
            item('download', 'Shape, STL', 'millimetres', 'save-stl', () => void download(app, 'stl', this.shape())),
            item('download', 'Shape, .glb', 'for viewers and Blender', 'save-glb', () => void download(app, 'glb', this.shape())),
            item('download', 'Shape, .vtu', 'with all fields, for ParaView', 'save-vtu', () => void download(app, 'vtu', this.shape())),
            item('code', 'Scene, JSON', 'with the edits made here', 'save-scene', () => void (app.scene?.mode === 'design' ? saveDesign(app) : download(app, 'scene.json'))),
        );
        this.menu.hidden = this.badge.hidden = true;
        app.on('recording', (r) => this.followAnimation(r.on, r.frames, r.seconds, r.full));
        app.stage.onAfterDraw = () => this.drawFilm();
    }

    private shape(): string {
        return this.app.world.data?.topology.shapes[0] ?? 'now';
    }

    /** The view and its legend, as large as the view is drawn. */
    private compose(target: HTMLCanvasElement): void {
        const source = this.app.stage.canvas;
        const context = target.getContext('2d')!;
        const ratio = source.width / source.clientWidth;
        const style = getComputedStyle(document.documentElement);
        context.drawImage(source, 0, 0, target.width, target.height);
        const scale = (target.width / source.width) * ratio;
        context.save();
        context.scale(scale, scale);
        this.legend.drawInto(context, source.clientWidth - 16, 14, style.getPropertyValue('--ink').trim());
        context.restore();
    }

    async picture(): Promise<Blob | null> {
        const target = document.createElement('canvas');
        const { stage } = this.app;
        stage.drawSharp(Math.max(2, devicePixelRatio));
        target.width = stage.canvas.width;
        target.height = stage.canvas.height;
        this.compose(target);
        stage.drawSmooth();
        const blob = await new Promise<Blob | null>((resolve) => target.toBlob(resolve, 'image/png'));
        if (blob) saveBlob(blob, `${baseName(this.app)}.png`);
        return blob;
    }

    private drawFilm(): void {
        if (this.recorder) this.compose(this.film);
    }

    toggleFilm(): void {
        if (this.recorder) {
            this.recorder.stop();
            return;
        }
        const { canvas } = this.app.stage;
        if (typeof MediaRecorder === 'undefined' || !('captureStream' in this.film)) {
            this.app.toasts.show('warn', 'This browser cannot record films', 'Pictures and .glb animations work.');
            return;
        }
        const even = (n: number): number => 2 * Math.round(n / 2);
        this.film.width = even(canvas.clientWidth);
        this.film.height = even(canvas.clientHeight);
        this.compose(this.film);
        const type = ['video/webm;codecs=vp9', 'video/webm;codecs=vp8', 'video/webm'].find((t) => MediaRecorder.isTypeSupported(t));
        const recorder = new MediaRecorder(this.film.captureStream(60), { mimeType: type, videoBitsPerSecond: 8e6 });
        const parts: Blob[] = [];
        recorder.ondataavailable = (e) => parts.push(e.data);
        recorder.onstop = () => {
            this.recorder = null;
            this.showBadge();
            saveBlob(new Blob(parts, { type: 'video/webm' }), `${baseName(this.app)}.webm`);
            this.app.toasts.show('good', `Saved ${baseName(this.app)}.webm`, '', 4, 'saved');
        };
        recorder.start(500);
        this.recorder = recorder;
        this.filmBegan = performance.now();
        this.showBadge();
        this.app.stage.draw();
    }

    private toggleAnimation(): void {
        if (this.recording) void this.endAnimation();
        else void this.app.ask({ type: 'record', on: true, rate: 30 });
    }

    private async endAnimation(): Promise<void> {
        if (await this.app.ask({ type: 'record', on: false })) await download(this.app, 'recording.glb');
    }

    private followAnimation(on: boolean, frames: number, time: number, full: boolean): void {
        this.recording = on;
        this.showBadge(`animation ${frames} frames, ${seconds(time)}${full ? ', full' : ''}`);
    }

    private showBadge(text = ''): void {
        const film = this.recorder !== null;
        this.badge.hidden = !film && !this.recording;
        const stop = button('Stop and save', () => (film ? this.toggleFilm() : void this.endAnimation()), { icon: 'stop' });
        const label = film ? `filming since ${new Date(Date.now() - (performance.now() - this.filmBegan)).toLocaleTimeString()}` : text;
        this.badge.replaceChildren(h('span', { class: 'dot' }), h('span', { text: label }), stop);
    }

    private async csv(): Promise<void> {
        if (this.plots.rows.length === 0) {
            this.app.toasts.show('info', 'There is nothing to save yet', 'Press play first.');
            return;
        }
        await download(this.app, 'history.csv');
    }
}
