import { defineConfig } from "vite";

/** The dashboard's page. `scripts/build.mjs` gives the output folder. */
export default defineConfig({
  root: import.meta.dirname,
  base: "./",
  logLevel: "warn",
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    emptyOutDir: true,
    target: "es2022",
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    reportCompressedSize: false,
  },
});
