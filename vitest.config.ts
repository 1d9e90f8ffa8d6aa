import { defineConfig } from "vitest/config";
import { softwareVulkan } from "./test/software-vulkan.ts";

export default defineConfig({
  test: {
    include: ["src/**/*.test.ts", "extensions/**/*.test.ts", "test/**/*.test.ts", "bench/**/*.test.ts", "studies/**/*.test.ts"],
    globalSetup: ["test/temporary-folder.ts"],
    testTimeout: 120_000,
    hookTimeout: 120_000,
    pool: "forks",
    maxWorkers: 2,
    env: softwareVulkan(),
  },
});
