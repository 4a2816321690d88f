import { defineConfig } from 'vite';

// Relative addresses: the server puts the page wherever it likes.
export default defineConfig({
    base: './',
    build: { outDir: 'dist', target: 'es2021', chunkSizeWarningLimit: 1400, assetsInlineLimit: 8192 },
});
