// The scene file beside the view: checked while it is written, run and saved from here.
import type { App } from '../app';
import { RequestError } from '../net/connection';
import { button, h } from './dom';

const CHECK_MS = 350;

export class Editor {
    readonly element: HTMLElement;
    private readonly text = h('textarea', {
        class: 'editor-text',
        attrs: { spellcheck: 'false', autocapitalize: 'off', 'aria-label': 'Scene file', wrap: 'off' },
    });
    private readonly numbers = h('div', { class: 'editor-numbers', attrs: { 'aria-hidden': 'true' } });
    private readonly marker = h('div', { class: 'editor-marker' });
    private readonly message = h('button', { class: 'editor-message', attrs: { type: 'button' } });
    private readonly name = h('span', { class: 'editor-name' });
    private readonly saveButton: HTMLButtonElement;
    private path = '';
    private saved = '';
    private timer = 0;
    private errorAt: { line: number; column: number } | null = null;

    constructor(private readonly app: App) {
        this.saveButton = button('Save', () => void this.save(), { icon: 'save', title: 'Save (Ctrl+S)', id: 'editor-save' });
        this.element = h(
            'section',
            { class: 'editor', attrs: { 'aria-label': 'Scene file' } },
            h(
                'header',
                {},
                this.name,
                button('Run', () => void this.run(), { icon: 'play', title: 'Run this text (Ctrl+Enter)', class: 'primary', id: 'editor-run' }),
                this.saveButton,
            ),
            h('div', { class: 'editor-body' }, this.numbers, this.marker, this.text),
            this.message,
        );
        this.element.hidden = true;
        this.text.addEventListener('input', () => this.changed());
        this.text.addEventListener('scroll', () => this.follow());
        this.text.addEventListener('keydown', (e) => this.key(e));
        this.message.addEventListener('click', () => this.goToError());
        app.on('scene', (scene) => {
            if (!scene.edited && scene.text !== undefined) this.load(scene.path, scene.text);
        });
    }

    private load(path: string, text: string): void {
        this.path = path;
        this.saved = text;
        if (this.text.value !== text) this.text.value = text;
        this.number();
        this.showError(null);
        this.showName();
    }

    toggle(): void {
        this.element.hidden = !this.element.hidden;
        if (!this.element.hidden) this.number();
    }

    get dirty(): boolean {
        return this.text.value !== this.saved;
    }

    private showName(): void {
        this.name.textContent = `${this.path || 'untitled'}${this.dirty ? ' •' : ''}`;
        const writable = this.path.startsWith('here/') || this.path.startsWith('uploads/');
        this.saveButton.title = writable ? 'Save (Ctrl+S)' : 'Save a copy beside your files (Ctrl+S)';
    }

    private changed(): void {
        this.number();
        this.showName();
        window.clearTimeout(this.timer);
        this.timer = window.setTimeout(() => void this.check(), CHECK_MS);
    }

    private number(): void {
        const lines = this.text.value.split('\n').length;
        if (this.numbers.childElementCount !== lines)
            this.numbers.replaceChildren(
                ...Array.from({ length: lines }, (_, i) => h('div', { text: String(i + 1) })),
            );
        this.follow();
    }

    private follow(): void {
        this.numbers.scrollTop = this.text.scrollTop;
        this.marker.hidden = this.errorAt === null;
        if (this.errorAt) this.marker.style.top = `${10 + 19 * (this.errorAt.line - 1) - this.text.scrollTop}px`;
    }

    private async check(): Promise<void> {
        try {
            const answer = await this.app.http.check(this.path, this.text.value);
            if (answer.ok) this.showError(null);
            else this.showError(answer.error ?? 'this is not a scene', answer.line, answer.column);
        } catch (error) {
            this.showRefusal(error);
        }
    }

    private showRefusal(error: unknown): void {
        const message = error instanceof Error ? error.message : String(error);
        if (error instanceof RequestError) this.showError(message, error.line ?? undefined, error.column ?? undefined);
        else this.showError(message);
    }

    private showError(message: string | null, line?: number, column?: number): void {
        this.errorAt = message !== null && line ? { line, column: column ?? 1 } : null;
        this.message.classList.toggle('bad', message !== null);
        const where = this.errorAt ? `Line ${this.errorAt.line}, column ${this.errorAt.column}: ` : '';
        // The place is said already; what is left of the message begins with the key.
        const plain = (message ?? '').replace(/^\S*:\d+:\d+: /, '');
        this.message.textContent = message === null ? 'This scene is valid.' : where + plain;
        for (const [i, row] of [...this.numbers.children].entries())
            row.classList.toggle('bad', this.errorAt?.line === i + 1);
        this.follow();
    }

    private goToError(): void {
        if (!this.errorAt) return;
        const lines = this.text.value.split('\n');
        const start = lines.slice(0, this.errorAt.line - 1).reduce((n, l) => n + l.length + 1, 0);
        this.text.focus();
        this.text.setSelectionRange(start + this.errorAt.column - 1, start + this.errorAt.column);
        this.text.scrollTop = 19 * Math.max(0, this.errorAt.line - 6);
    }

    private key(event: KeyboardEvent): void {
        const command = event.ctrlKey || event.metaKey;
        if (event.key === 'Escape') this.text.blur();
        else if (command && event.key === 's') void this.save();
        else if (command && event.key === 'Enter') void this.run();
        else if (event.key === 'Tab') this.text.setRangeText('  ', this.text.selectionStart, this.text.selectionEnd, 'end');
        else {
            event.stopPropagation();
            return;
        }
        event.preventDefault();
        event.stopPropagation();
    }

    async run(): Promise<void> {
        try {
            await this.app.connection.ask({ type: 'scene', text: this.text.value, path: this.path });
            this.showError(null);
        } catch (error) {
            this.showRefusal(error);
        }
    }

    async save(): Promise<void> {
        const writable = this.path.startsWith('here/') || this.path.startsWith('uploads/');
        const base = this.path.split('/').pop() || 'scene.json';
        const path = writable ? this.path : `uploads/${base}`;
        try {
            const answer = await this.app.http.save(path, this.text.value);
            this.path = answer.path;
            this.saved = this.text.value;
            this.showName();
            this.app.toasts.show('good', 'Saved', answer.path, 4, 'saved');
        } catch (error) {
            this.showRefusal(error);
        }
    }

    /** For the tests: puts a text in as typing would. */
    setText(text: string): void {
        this.text.value = text;
        this.changed();
    }
}
