import { defineConfig } from 'vite';

// The icons of lil-gui are a font in its style sheet, which the server's content security policy does
// not let in; the characters that stand for them do as well.
const withoutFonts = {
    name: 'without-fonts',
    enforce: 'pre',
    transform: (code, id) =>
        id.endsWith('lil-gui.css') ? code.replace(/@font-face\s*\{[^}]*\}/g, '') : undefined,
};

// Relative addresses: the server puts the page wherever it likes.
export default defineConfig({
    base: './',
    plugins: [withoutFonts],
    build: { outDir: 'dist', target: 'es2021', chunkSizeWarningLimit: 1400, assetsInlineLimit: 8192 },
});
