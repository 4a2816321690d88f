// Play, pause, step, reset, speed; and how the run goes.
import type { App } from '../app';
import { digits, seconds } from '../units';
import { button, h, setIcon } from './dom';

const speeds = [0.1, 0.25, 0.5, 1, 2, 5, 0] as const;

export class Transport {
    readonly element: HTMLElement;
    private readonly playButton: HTMLButtonElement;
    private readonly speed = h('select', { class: 'select', title: 'Seconds of the world per second' });
    private readonly time = h('span', { class: 'readout time', title: 'Time of the simulation' });
    private readonly pace = h('span', { class: 'readout' });
    private readonly outcome = h('span', { class: 'pill', id: 'outcome' });

    constructor(private readonly app: App) {
        this.playButton = button('', () => this.toggle(), {
            icon: 'play',
            title: 'Play or pause (Space)',
            class: 'primary round',
            id: 'play',
        });
        for (const s of speeds)
            this.speed.append(h('option', { text: s === 0 ? 'fastest' : `${s} ×`, attrs: { value: String(s) } }));
        this.speed.value = '1';
        this.speed.addEventListener('change', () => {
            void app.ask({ type: 'speed', value: Number(this.speed.value) });
            this.speed.blur();
        });
        this.element = h(
            'div',
            { class: 'transport' },
            this.playButton,
            button('', () => this.step(), { icon: 'step', title: 'One step (.)', class: 'round', id: 'step' }),
            button('', () => this.reset(), { icon: 'reset', title: 'Back to the start (R)', class: 'round', id: 'reset' }),
            this.speed,
            this.time,
            this.pace,
            this.outcome,
        );
        app.on('status', (status) => {
            setIcon(this.playButton, status.playing ? 'pause' : 'play');
            const known = speeds.some((s) => s === status.speed);
            if (known) this.speed.value = String(status.speed);
            this.element.hidden = status.mode === 'design';
        });
        app.on('stats', () => this.showStats());
        app.on('frame', (frame) => {
            this.time.textContent = seconds(frame.time);
            if (frame.step !== 0) return;
            this.outcome.hidden = true;
            this.pace.textContent = '';
        });
        app.on('scene', () => this.clear());
    }

    private clear(): void {
        if (this.app.scene?.edited) return;
        this.time.textContent = seconds(0);
        this.pace.textContent = '';
        this.outcome.textContent = '';
        this.outcome.className = 'pill';
    }

    private showStats(): void {
        const s = this.app.stats;
        if (!s) return;
        const running = this.app.status?.playing ?? false;
        this.pace.textContent = running
            ? `${digits(s.ms_per_step, 2)} ms a step · ${s.rate.toFixed(0)} fps · ${digits(s.realtime, 2)} × real time`
            : s.step > 0
              ? `step ${s.step} · ${digits(s.ms_per_step, 2)} ms`
              : '';
        this.outcome.textContent = s.step > 0 ? s.reason : '';
        this.outcome.className = `pill ${s.outcome === 'converged' || s.reason === 'fixed work' ? 'good' : s.outcome === 'failed' ? 'bad' : 'warn'}`;
        this.outcome.title = s.detail || 'How the last step ended';
        this.outcome.hidden = s.step === 0;
    }

    toggle(): void {
        void this.app.ask({ type: this.app.status?.playing ? 'pause' : 'play' });
    }

    step(): void {
        void this.app.ask({ type: 'step', count: 1 });
    }

    reset(): void {
        void this.app.ask({ type: 'reset' });
    }
}
