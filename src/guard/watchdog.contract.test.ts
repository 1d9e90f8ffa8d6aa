import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";

test.runIf(process.platform === "linux")("code that waits for a busy processor is not blamed", () => {
  const program = [process.execPath, "--import", "jiti/register", join(import.meta.dirname, "busy-process.fixture.ts")];
  const { stdout, stderr, signal } = spawnSync("taskset", ["-c", "0", ...program], { encoding: "utf8" });
  expect([stdout.trim(), stderr.replaceAll(/^npm.*\n/gm, ""), signal]).toEqual(["unharmed", "", null]);
});
