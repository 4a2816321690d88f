// Draws the pictures of docs/studio.md and of the README again, into docs/images:
//   CHROMIUM=/usr/bin/chromium node test/pictures.mjs
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { folder, hooke, Page, root, run, scene, Server, sleep } from './studio.mjs';

const server = new Server();
const page = new Page();
const images = join(root, 'docs/images');
const shot = (name) => page.page.screenshot({ path: join(images, `studio-${name}.png`) });

async function dragFrom(direction, way, shape = 0) {
    const from = await page.bodyNear((await page.vertexAlong(direction, shape)).at);
    await page.page.mouse.move(from.x, from.y);
    await page.page.mouse.down();
    for (let i = 1; i <= 24; i++) {
        await page.page.mouse.move(from.x + (way[0] * i) / 24, from.y + (way[1] * i) / 24);
        await sleep(25);
    }
}

scene('bracket', [{
    name: 'bracket',
    mesh: { box: { size: [0.12, 0.012, 0.03], cells: [32, 4, 8] } },
    material: { model: 'neo_hookean', young: 4e5, poisson: 0.45, density: 1100 },
    fix: [{ box: [[-0.0001, -1, -1], [0.0001, 1, 1]] }],
}], { time: { step: 0.01, end: 4 } });

process.on('exit', () => server.stop());
await server.start(join(root, 'scenes/studio/creature.json'));
await page.open(server, { width: 1200, height: 750 });
// The view: pulled by the hand.
await page.page.locator('.lil-controller', { hasText: 'Colour by' }).locator('select').selectOption('Displacement');
setTimeout(() => void page.page.keyboard.press('Space'), 300);
await dragFrom([1, 0.8, 0.2], [120, -60]);
await sleep(300);
await shot('pull');
await page.page.mouse.up();
await page.page.keyboard.press('Space');

// From a mesh file to a body that swings.
const out = join(folder, 'creature.obj');
run(hooke, 'mesh', 'make', 'figure', '--height', '0.12', '--cells', '22', '-o', out);
await page.call('upload', 'creature.obj', readFileSync(out, 'utf8'));
await page.until('a body that moves', (s) => s.playing && s.step > 40 && !s.busy, 60);
await page.page.keyboard.press('Space');
await sleep(500);
await shot('drop');
await page.page.keyboard.press('Escape');

// Springs and a sheet, stressed and not.
await page.openScene('scenes/hammock.json');
await page.page.keyboard.press('Space');
await page.until('a ball that lies', (s) => s.step > 60, 90);
await page.page.keyboard.press('Space');
await sleep(900);
await shot('springs');

// A blade through jelly.
await page.openScene('scenes/cut-jelly.json');
await page.page.keyboard.press('Space');
await page.until('two halves', (s) => s.step > 36, 90);
await page.page.keyboard.press('Space');
await page.until('a pause', (s) => !s.playing);
await sleep(900);
await shot('torn');

await page.close();
server.stop();

// From a drawn shape to one to print.
await server.start(join(folder, 'bracket.json'));
await page.open(server, { width: 1200, height: 750 });
await page.page.keyboard.press('2');
await page.until('the rest shape', (s) => s.design?.state === 'converged', 60);
await sleep(500);
await dragFrom([1, 0.5, 0.5], [-6, -50]);
await sleep(400);
await page.page.mouse.up();
await page.until('the rest shape', (s) => s.design.state === 'converged' && s.design.handles === 0, 60);
await page.page.keyboard.press('a');
await page.page.keyboard.press('w');
await sleep(800);
await shot('design');
const field = page.page.locator('.log-row', { hasText: "Young's modulus" }).locator('.log-text');
await field.fill('9 kPa');
await field.press('Enter');
await page.until('no shape', (s) => s.design.state === 'failed', 90);
await sleep(500);
await shot('no-rest-shape');
await page.page.keyboard.press('Control+z');
await page.until('the rest shape', (s) => s.design.state === 'converged', 60);
await page.page.keyboard.press('w');

await page.page.click('#mode-compare');
await page.until('compare', (s) => s.scene.mode === 'compare' && !s.busy);
await page.page.keyboard.press('Space');
await sleep(4000);
await page.page.keyboard.press('Space');
await page.page.keyboard.press('a');
await page.page.click('#convergence');
await page.page.locator('.convergence canvas').waitFor({ timeout: 60000 });
await sleep(500);
await shot('compare');
await page.page.click('#mode-live');
await page.until('live', (s) => s.scene.mode === 'live' && !s.busy);
await page.page.keyboard.press('t');
await page.page.keyboard.press('e');
const text = page.page.locator('.editor-text');
await text.fill(JSON.stringify(JSON.parse(await text.inputValue()), null, 2).replace('"young"', '"yuong"'));
await page.page.locator('.editor-message.bad').waitFor();
await page.page.keyboard.press('Escape');
await page.page.keyboard.press('x');
await page.page.keyboard.press('w');
await page.page.keyboard.press('a');
await sleep(900);
await shot('editor');
await page.browser.close();
server.stop();
