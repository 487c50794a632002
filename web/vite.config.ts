import { defineConfig } from "vite";
import { viteSingleFile } from "vite-plugin-singlefile";

// One file, without source maps and without names that depend on the machine that builds it.
export default defineConfig({
  plugins: [viteSingleFile({ removeViteModuleLoader: true })],
  build: {
    outDir: "dist",
    emptyOutDir: true,
    target: "es2022",
    assetsInlineLimit: 1_000_000,
    rollupOptions: { input: "report.html" },
  },
});
