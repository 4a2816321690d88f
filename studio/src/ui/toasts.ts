// Messages at the edge of the view: short, one of a kind, gone by themselves unless they matter.
import { h, icon } from './dom';

export type Tone = 'info' | 'good' | 'warn' | 'bad';

export class Toasts {
    readonly element = h('div', { class: 'toasts', attrs: { role: 'status', 'aria-live': 'polite' } });
    private readonly shown = new Map<string, { element: HTMLElement; timer: number }>();

    /** A message replaces the one before of the same key. `seconds` 0: until it is closed. */
    show(tone: Tone, title: string, detail = '', seconds = 6, key = title): void {
        this.hide(key);
        const close = h('button', {
            class: 'toast-close',
            attrs: { type: 'button', 'aria-label': 'Close' },
            on: { click: () => this.hide(key) },
        });
        close.append(icon('close', 14));
        const element = h(
            'div',
            { class: `toast ${tone}` },
            icon(tone === 'good' ? 'check' : tone === 'info' ? 'help' : 'warn', 18),
            h('div', { class: 'toast-text' }, h('b', { text: title }), detail ? h('span', { text: detail }) : null),
            close,
        );
        this.element.append(element);
        while (this.element.children.length > 4) this.dropOldest();
        const timer = seconds > 0 ? window.setTimeout(() => this.hide(key), 1000 * seconds) : 0;
        this.shown.set(key, { element, timer });
    }

    hide(key: string): void {
        const toast = this.shown.get(key);
        if (!toast) return;
        window.clearTimeout(toast.timer);
        toast.element.remove();
        this.shown.delete(key);
    }

    /** What was said of another scene does not matter any more. */
    clear(): void {
        for (const key of [...this.shown.keys()]) if (key !== 'connection' && key !== 'connected') this.hide(key);
    }

    get texts(): string[] {
        return [...this.shown.values()].map((t) => t.element.textContent ?? '');
    }

    private dropOldest(): void {
        const oldest = this.shown.keys().next().value;
        if (oldest !== undefined) this.hide(oldest);
    }
}
