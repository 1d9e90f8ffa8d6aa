import { defineConfig } from "vitest/config";
import { softwareVulkan } from "./test/software-vulkan.ts";

const named = (ending: string) => `{src,extensions,research,test}/**/*${ending}`;
const engines = "extensions/engines.ts";
const common = { pool: "forks" as const, setupFiles: [engines], env: softwareVulkan() };

/** Where a test belongs: CONTRIBUTING.md. */
export default defineConfig({
  test: {
    globalSetup: ["test/temporary-folder.ts"],
    maxWorkers: 2,
    projects: [
      {
        test: {
          ...common,
          name: "unit",
          include: [named(".test.ts")],
          exclude: [named(".contract.test.ts"), named(".slow.test.ts")],
          setupFiles: [engines, "test/unit-setup.ts"],
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      },
      // No limit of real time that a busy machine could break: these end tests that hang.
      {
        test: { ...common, name: "contract", include: [named(".contract.test.ts")], testTimeout: 600_000, hookTimeout: 600_000 },
      },
      { test: { ...common, name: "slow", include: [named(".slow.test.ts")], testTimeout: 1_800_000, hookTimeout: 1_800_000 } },
    ],
  },
});
