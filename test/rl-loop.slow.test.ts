import { execFile } from "node:child_process";
import { existsSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const root = join(import.meta.dirname, "..");

test("the loop in one file learns the office from the public entries alone", async () => {
  const folder = mkdtempSync(join(tmpdir(), "retrograde-rl-loop-"));
  const loader = join(root, "node_modules/jiti/lib/jiti-register.mjs");
  const program = join(root, "research/recipes/rl-loop.ts");
  const { stdout } = await promisify(execFile)(process.execPath, ["--import", loader, program, "2"], { cwd: folder });
  const [before, after] = [/before: (\S+) %/, /after: (\S+) %/].map((line) => Number(line.exec(stdout)?.[1]));
  expect(after - before).toBeGreaterThan(10);
  expect(existsSync(join(folder, "runs/rl-loop-model/model.safetensors"))).toBe(true);
});
