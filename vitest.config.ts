import { configDefaults, defineConfig } from "vitest/config";
import { softwareVulkan } from "./test/software-vulkan.ts";

const { exclude } = configDefaults;
const all = ["src", "extensions", "test", "bench", "studies"].map((folder) => `${folder}/**/*.test.ts`);

/** Rooms whose tests are arithmetic and text, and change nothing that is global: they share a process, which loads each module once. */
const arithmetic = [
  ...["actions", "algorithms", "chat", "core", "environments", "plot", "rollouts", "statistics"].map((room) => `src/${room}`),
  ...["arpo-protocol", "knowledge", "lab"].map((room) => `extensions/${room}`),
].map((room) => `${room}/**/*.test.ts`);
/** Those of them that watch the process's memory or its warnings. */
const watching = ["src/chat/template-memory.test.ts", "src/rollouts/rollout.test.ts"];

export default defineConfig({
  test: {
    globalSetup: ["test/temporary-folder.ts"],
    testTimeout: 120_000,
    hookTimeout: 120_000,
    pool: "forks",
    maxWorkers: 2,
    env: softwareVulkan(),
    projects: [
      { extends: true, test: { name: "arithmetic", include: arithmetic, exclude: [...exclude, ...watching], isolate: false } },
      { extends: true, test: { name: "processes", include: all, exclude: [...exclude, ...arithmetic] } },
      { extends: true, test: { name: "watching", include: watching } },
    ],
  },
});
