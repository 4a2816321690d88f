// What the tests see of the page: window.hookeStudio. Nothing on the page depends on it.
import * as THREE from 'three';
import type { App } from './app';
import type { Tools } from './tools/tools';
import type { Editor } from './ui/editor';
import type { Uploads } from './ui/gallery';
import type { Plots } from './ui/plots';
import type { Record } from './ui/record';

interface Parts {
    tools: Tools;
    editor: Editor;
    uploads: Uploads;
    plots: Plots;
    record: Record;
}

export interface StudioState {
    connected: boolean;
    scene: { path: string; title: string; mode: string; method: string; generation: number } | null;
    playing: boolean;
    busy: string | null;
    time: number;
    step: number;
    frames: number;
    draws: number;
    software: boolean;
    drawMs: number;
    field: string;
    range: [number, number];
    legend: string;
    toasts: string[];
    force: string;
    plotRows: number;
    design: App['design'];
    stats: App['stats'];
    latencies: number[]; // ms from an event of the pointer to the drawing of its answer
    answers: number[]; // of which the server took, from the message to the frame
}

export function exposeState(app: App, parts: Parts): void {
    const latencies: number[] = [];
    const answers: number[] = [];
    let newest = 0;
    // From the event of the pointer to the end of the drawing that shows its answer.
    const after = app.stage.onAfterDraw;
    app.stage.onAfterDraw = () => {
        after();
        const sent = app.world.frame?.sent ?? 0;
        if (sent <= newest) return;
        newest = sent;
        latencies.push(performance.now() - sent);
        answers.push(app.world.frame?.answerMs ?? 0);
    };
    const state = (): StudioState => ({
        connected: app.connection.open,
        scene: app.scene
            ? {
                  path: app.scene.path,
                  title: app.scene.title,
                  mode: app.scene.mode,
                  method: app.scene.solver.method,
                  generation: app.scene.generation,
              }
            : null,
        playing: app.status?.playing ?? false,
        busy: app.status?.busy ?? null,
        time: app.world.frame?.time ?? 0,
        step: app.world.frame?.step ?? 0,
        frames: app.world.frames,
        draws: app.stage.draws,
        software: app.stage.software,
        drawMs: app.stage.drawMs,
        field: app.world.field,
        range: app.world.range.range,
        legend: app.world.legend ? app.world.legend.title : '',
        toasts: app.toasts.texts,
        force: parts.tools.forceLabel,
        plotRows: parts.plots.rows.length,
        design: app.design,
        stats: app.stats,
        latencies: [...latencies],
        answers: [...answers],
    });
    const hook = {
        state,
        /** Positions on the screen, [vertices][3], and the numbers of the vertices in the model. */
        positions: (shape = 0): number[] => Array.from(app.world.shapes[shape]?.body.positions ?? []),
        vertexNumbers: (): number[] => Array.from(app.world.data?.vertexNumbers ?? []),
        flags: (): number[] => Array.from(app.world.data?.flags ?? []),
        materials: (): number[] => Array.from(app.world.data?.materials ?? []),
        sceneMessage: () => app.scene,
        triangles: (): number[] => Array.from(app.world.data?.surface.triangles ?? []),
        grab: () => ({ ...parts.tools.grabbed, target: parts.tools.target }),
        springs: (shape = 0) => app.world.shapes[shape]?.springs.count ?? 0,
        /** Where a drawn vertex is in the window, px. */
        project: (vertex: number, shape = 0) => {
            const x = app.world.shapes[shape]!.body.positions;
            return app.stage.project(new THREE.Vector3().fromArray(x, 3 * vertex), shape);
        },
        pick: (x: number, y: number) => app.world.pick(x, y),
        dragTarget: (x: number, y: number, pane: number, from: [number, number, number]) =>
            app.stage.dragPlane(x, y, pane, new THREE.Vector3(...from))?.toArray() ?? null,
        setEditorText: (text: string) => parts.editor.setText(text),
        upload: (name: string, text: string) => parts.uploads.take(new File([text], name)),
        dropConnection: () => app.connection.drop(),
        forgetLatencies: () => answers.splice(0).length + latencies.splice(0).length,
    };
    Object.defineProperty(window, 'hookeStudio', { value: Object.freeze(hook) });
}
