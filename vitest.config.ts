import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { defineConfig } from "vitest/config";
import { softwareVulkan } from "./test/software-vulkan.ts";

const folders = ["src", "extensions", "research", "test"];
const named = (ending: string) => `{${folders}}/**/*${ending}`;
const engines = "extensions/engines.ts";
const common = { pool: "forks" as const, setupFiles: [engines], env: softwareVulkan() };

/** What one file of tests would leave behind for the next, or find: modules, globals, timers, variables, kinds or doors. */
const replaces =
  /\bvi\.(?:mock|doMock|hoisted|spyOn|stub\w+|useFakeTimers)\(|\bprocess\.env\b|\badd(?:Engines|Environments|Rewards)\(|\bclocked-engine\b|\bdoorSheets\(/;
const alone = folders
  .filter((folder) => existsSync(folder))
  .flatMap((folder) => readdirSync(folder, { recursive: true, encoding: "utf8" }).map((file) => join(folder, file)))
  .filter((file) => file.endsWith(".test.ts") && !/\.(?:contract|slow)\.test\.ts$/.test(file))
  .filter((file) => replaces.test(readFileSync(file, "utf8")))
  .map((file) => file.replaceAll("\\", "/"));
const unit = {
  ...common,
  setupFiles: [engines, "test/unit-setup.ts"],
  testTimeout: 120_000,
  hookTimeout: 120_000,
};

/** Where a test belongs: CONTRIBUTING.md. */
export default defineConfig({
  test: {
    globalSetup: ["test/temporary-folder.ts"],
    maxWorkers: 2,
    projects: [
      // A third of the processor time of unit tests was the loading of the same modules by each file.
      {
        test: {
          ...unit,
          name: "unit",
          isolate: false,
          include: [named(".test.ts")],
          exclude: [named(".contract.test.ts"), named(".slow.test.ts"), ...alone],
        },
      },
      { test: { ...unit, name: "unit-alone", include: alone } },
      // No limit of real time that a busy machine could break: these end tests that hang.
      {
        test: { ...common, name: "contract", include: [named(".contract.test.ts")], testTimeout: 600_000, hookTimeout: 600_000 },
      },
      { test: { ...common, name: "slow", include: [named(".slow.test.ts")], testTimeout: 1_800_000, hookTimeout: 1_800_000 } },
    ],
  },
});
