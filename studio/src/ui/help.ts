// The help card, and the keys that it tells of.
import { button, h } from './dom';

export interface Shortcut {
    keys: string;
    label: string;
    action?: () => void;
}

const mouse: Shortcut[] = [
    { keys: 'drag a body', label: 'pull it, with the tool in hand' },
    { keys: 'drag beside it', label: 'turn the view' },
    { keys: 'right drag', label: 'move the view' },
    { keys: 'wheel', label: 'nearer, farther' },
    { keys: 'Ctrl + drag', label: 'turn the view, also from on a body' },
    { keys: 'drop a file', label: 'a mesh becomes a body' },
];

export class Help {
    readonly element: HTMLElement;

    constructor(shortcuts: Shortcut[]) {
        const table = (rows: Shortcut[]): HTMLElement =>
            h('dl', {}, ...rows.flatMap((s) => [h('dt', {}, ...s.keys.split(' or ').map((text) => h('kbd', { text }))), h('dd', { text: s.label })]));
        const half = Math.ceil(shortcuts.length / 2);
        this.element = h(
            'div',
            { class: 'help', attrs: { role: 'dialog', 'aria-label': 'Help' } },
            h(
                'div',
                { class: 'help-card' },
                h('header', {}, h('h1', { text: 'Keys and mouse' }), button('', () => this.toggle(), { icon: 'close', title: 'Close (Esc)', class: 'round' })),
                h(
                    'div',
                    { class: 'help-columns' },
                    table(mouse),
                    table(shortcuts.slice(0, half)),
                    table(shortcuts.slice(half)),
                ),
            ),
        );
        this.element.hidden = true;
        this.element.addEventListener('click', (e) => {
            if (e.target === this.element) this.toggle();
        });
    }

    toggle(): void {
        this.element.hidden = !this.element.hidden;
    }
}

/** Keys where nothing is being typed. */
export function listen(shortcuts: Shortcut[]): void {
    // Before the controls see it: those of lil-gui keep keys to themselves.
    const hear = (event: KeyboardEvent): void => {
        const target = event.target as HTMLElement;
        if (event.key === 'Escape') target.blur();
        else if (/^(textarea|select)$/i.test(target.tagName)) return;
        else if (target instanceof HTMLInputElement && target.type !== 'range' && target.type !== 'checkbox') return;
        const name = keyName(event);
        const found = shortcuts.find((s) => s.action && s.keys.split(' or ').includes(name));
        if (!found) return;
        event.preventDefault();
        if (target !== document.body) target.blur(); // or the key works on that, too
        event.stopPropagation();
        found.action!();
    };
    window.addEventListener('keydown', hear, { capture: true });
}

function keyName(event: KeyboardEvent): string {
    const key = event.key === ' ' ? 'Space' : event.key === 'Escape' ? 'Esc' : event.key.length === 1 ? event.key.toUpperCase() : event.key;
    const command = event.ctrlKey || event.metaKey;
    if (command) return `Ctrl+${event.shiftKey ? 'Shift+' : ''}${key}`;
    return key;
}
