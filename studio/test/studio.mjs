// A server and a headless Chromium for the tests of the page.
import { spawn, execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium } from 'playwright-core';

export const root = new URL('../..', import.meta.url).pathname;
export const hooke = process.env.HOOKE ?? join(root, 'build/hooke');
export const folder = mkdtempSync(join(tmpdir(), 'hooke-studio-'));

// As a laptop without a GPU: WebGL in software, and the page put together without it.
const flags = [
    '--use-angle=swiftshader', '--enable-unsafe-swiftshader', '--disable-gpu-compositing', '--no-sandbox',
    '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update',
    '--disable-sync',
];

export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

export async function until(what, condition, seconds = 20) {
    const end = Date.now() + 1000 * seconds;
    for (;;) {
        const value = await condition();
        if (value) return value;
        if (Date.now() > end) throw new Error(`it did not come to: ${what}`);
        await sleep(40);
    }
}

export class Server {
    async start(scene, port = 0) {
        const uploads = join(folder, 'uploads');
        mkdirSync(uploads, { recursive: true });
        const args = ['studio', ...(scene ? [scene] : []), '--no-open', '--uploads', uploads, '--page', process.env.STUDIO_PAGE ?? join(root, 'studio/dist')];
        if (port) args.push('--port', String(port));
        this.process = spawn(hooke, args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] });
        this.log = '';
        this.process.stderr.on('data', (d) => (this.log += d));
        let out = '';
        this.process.stdout.on('data', (d) => (out += d));
        await until('the address of the server', () => {
            if (this.process.exitCode !== null) throw new Error(`the server ended: ${this.log}`);
            return /http:\S+/.test(out);
        });
        this.url = new URL(/http:\S+/.exec(out)[0]);
        this.token = this.url.searchParams.get('token');
        return this;
    }

    async fetch(path, query) {
        const url = new URL(path, this.url);
        for (const [k, v] of Object.entries({ ...query, token: this.token })) url.searchParams.set(k, v);
        const response = await fetch(url);
        if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
        return Buffer.from(await response.arrayBuffer());
    }

    stop() {
        this.process?.kill();
    }
}

export class Page {
    async open(server, { width = 1280, height = 800, scale = 1 } = {}) {
        this.browser ??= await chromium.launch({ executablePath: process.env.CHROMIUM, args: flags });
        this.context = await this.browser.newContext({ viewport: { width, height }, deviceScaleFactor: scale, acceptDownloads: true });
        this.page = await this.context.newPage();
        this.errors = [];
        this.page.setDefaultTimeout(10000);
        this.page.on('console', (m) => m.type() === 'error' && this.errors.push(m.text()));
        this.page.on('pageerror', (e) => this.errors.push(String(e.stack)));
        await this.page.goto(server.url.href);
        await this.ready();
        return this;
    }

    /** A scene is there and its first frame is drawn. */
    ready() {
        return until('a scene on the page', () => this.page.evaluate(() => {
            const s = window.hookeStudio?.state();
            return s && s.connected && s.scene !== null && s.frames > 0 && s.draws > 0 && !s.busy;
        }));
    }

    state() {
        return this.page.evaluate(() => window.hookeStudio.state());
    }

    call(name, ...args) {
        return this.page.evaluate(([n, a]) => window.hookeStudio[n](...a), [name, args]);
    }

    until(what, condition, seconds) {
        return until(what, async () => condition(await this.state()), seconds);
    }

    async openScene(path, mode = 'live') {
        const before = (await this.state()).scene?.generation ?? -1;
        await this.page.keyboard.press('Escape');
        await this.page.click('#open-gallery');
        await this.page.click(`[data-scene="${path}"]`, { timeout: 15000 });
        await this.until(`the scene ${path}`, (s) => s.scene.generation !== before && s.scene.path === path && !s.busy);
        if (mode !== 'live') await this.page.click(`#mode-${mode}`);
        await this.until(`mode ${mode}`, (s) => s.scene.mode === mode && !s.busy);
        await sleep(150);
    }

    /** Single steps until the world has made so many. */
    async steps(count) {
        for (let k = (await this.state()).step + 1; k <= count; k++) {
            await this.page.keyboard.press('.');
            await this.until(`step ${k}`, (s) => s.step >= k);
        }
    }

    /** The drawn vertex that is farthest along a direction, and where it is in the window. */
    vertexAlong(direction, shape = 0) {
        return this.page.evaluate(([d, k]) => {
            const x = window.hookeStudio.positions(k);
            const reach = (i) => d[0] * x[3 * i] + d[1] * x[3 * i + 1] + d[2] * x[3 * i + 2];
            let best = 0;
            for (let i = 0; i < x.length / 3; i++) if (reach(i) > reach(best)) best = i;
            return { vertex: best, at: window.hookeStudio.project(best, k), position: x.slice(3 * best, 3 * best + 3) };
        }, [direction, shape]);
    }

    /** A place in the window that is on a body, near another one. */
    async bodyNear(at) {
        const place = await this.page.evaluate(({ x, y }) => {
            for (let r = 4; r < 60; r += 4)
                for (let a = 0; a < 12; a++) {
                    const p = { x: x + r * Math.cos(a * 0.5236), y: y + r * Math.sin(a * 0.5236) };
                    if (window.hookeStudio.pick(p.x, p.y)) return p;
                }
            return null;
        }, at);
        if (!place) throw new Error('there is no body there');
        return place;
    }

    async close() {
        await this.context?.close();
    }
}

export function scene(name, bodies, more = {}) {
    const path = join(folder, `${name}.json`);
    writeFileSync(path, JSON.stringify({ gravity: [0, -9.81, 0], ...more, bodies }));
    return path;
}

export function bar(cells, material = {}) {
    return {
        name: 'bar',
        mesh: { box: { size: [1, 0.2, 0.2], cells } },
        material: { model: 'neo_hookean', young: 8.5e5, poisson: 0.45, density: 1000, ...material },
        fix: [{ box: [[-0.001, -1, -1], [0.001, 1, 1]] }],
    };
}

export function run(...args) {
    execFileSync(args[0], args.slice(1), { stdio: ['ignore', 'ignore', 'pipe'] });
}

/** Rows of vertex,x,y,z as flat numbers. */
export function points(text) {
    const rows = text.toString().trim().split('\n').slice(1);
    return Float64Array.from(rows.flatMap((r) => r.split(',').slice(1).map(Number)));
}

export const readPoints = (path) => points(readFileSync(path));

/** The greatest distance between what the page draws and the model has. */
export async function distance(page, expected, shape = 0) {
    const drawn = await page.call('positions', shape);
    const numbers = await page.call('vertexNumbers');
    let most = 0;
    numbers.forEach((v, i) => {
        for (let c = 0; c < 3; c++) most = Math.max(most, Math.abs(drawn[3 * i + c] - expected[3 * v + c]));
    });
    if (numbers.length === 0) throw new Error('nothing is drawn');
    return most;
}
