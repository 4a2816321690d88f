// Files to the disk of whoever looks at the page.
import type { App } from '../app';

export function saveBlob(blob: Blob, name: string): void {
    const link = document.createElement('a');
    link.href = URL.createObjectURL(blob);
    link.download = name;
    link.click();
    window.setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

/** "beam" of "scenes/beam.json" */
export function baseName(app: App): string {
    const path = app.scene?.path ?? '';
    return (path.split('/').pop() ?? '').replace(/\.json$/, '') || 'scene';
}

export async function download(app: App, what: string, shape?: string): Promise<void> {
    try {
        const blob = await app.http.exported(what, shape);
        const ending = what.includes('.') ? what : `${what}`;
        const middle = shape && shape !== 'now' ? `-${shape}` : '';
        const name = what === 'scene.json' ? `${baseName(app)}.json` : `${baseName(app)}${middle}${what.includes('.') ? '-' : '.'}${ending}`;
        saveBlob(blob, name);
        app.toasts.show('good', `Saved ${name}`, '', 4, 'saved');
    } catch (error) {
        app.complain(error, `${what} could not be saved`);
    }
}

/** A design as a scene that sags into the loaded shape; its meshes are files, so that it is the server that writes. */
export async function saveDesign(app: App): Promise<void> {
    const done = await app.ask({ type: 'save', name: `${baseName(app)}-rest` }, 'The design could not be saved');
    if (!done?.scene) return;
    const folder = app.tables?.uploads ?? '';
    app.toasts.show('good', `Saved ${done.scene}`, `With its rest shape as mesh. It is in the gallery (O), and on the disk in ${folder}`, 12, 'saved');
}
