import { defineConfig } from 'vite';
import { svelte } from '@sveltejs/vite-plugin-svelte';

// Names without hashes: the router serves these three files, and asks browsers to look for news.
export default defineConfig({
  plugins: [svelte()],
  build: {
    target: 'es2022',
    modulePreload: { polyfill: false },
    rollupOptions: {
      output: {
        inlineDynamicImports: true,
        entryFileNames: 'console.js',
        assetFileNames: (asset) => (asset.names?.[0]?.endsWith('.css') ? 'console.css' : '[name][extname]'),
      },
    },
    cssCodeSplit: false,
  },
});
