import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";

// textcraft.ts is played against its server in test/environment-sdks, rl-loop.ts in test/rl-loop.slow.test.ts.
const root = join(import.meta.dirname, "..");
const folder = mkdtempSync(join(tmpdir(), "retrograde-recipes-"));
const out = join(folder, "out");

/** Starts a recipe. @returns what it printed, to both streams */
function recipe(file: string, ...args: readonly string[]): Promise<string> {
  const command = [
    "--import",
    join(root, "node_modules/jiti/lib/jiti-register.mjs"),
    join(root, "research/recipes", file),
    ...args,
  ];
  return new Promise((resolve) =>
    execFile(process.execPath, command, { cwd: root }, (_, ...printed) => resolve(printed.join(""))),
  );
}

test("make-model.ts opens the engine and writes a model", async () => {
  expect(await recipe("make-model.ts", "--from", "models/office", "--stages", "0", "--out", out)).toContain("896 tokens");
  expect(existsSync(join(out, "model.safetensors"))).toBe(true);
});

test("calculator-agent.ts comes as far as the engine's settings", async () => {
  expect(await recipe("calculator-agent.ts", "--device", "nope", "--out", out)).toContain('engine.device is "nope"');
});

test("reasoning-gym.ts comes as far as the engine's settings, with tasks that were made before and without Python", async () => {
  const places = [...Array.from({ length: 128 }, (_, i) => ["train", i]), ["challenge", 0]];
  const rows = places.map(([split, index]) => ({ split, index, prompt: "Ada?", answers: ["Ada"], guesses: ["Ada", "Bo"] }));
  writeFileSync(join(folder, "tasks.jsonl"), rows.map((row) => JSON.stringify(row)).join("\n"));
  const run = await recipe("reasoning-gym.ts", "--python", "/nowhere", "--threads", "nope", "--out", folder);
  expect(run).toContain("engine.threads is NaN");
  expect(readFileSync(join(folder, "form.jsonl"), "utf8").split("\n")).toHaveLength(129);
});

test("reasoning-gym.ts names the Python that has no tasks", async () => {
  expect(await recipe("reasoning-gym.ts", "--python", "/nowhere", "--out", join(folder, "gym"))).toContain(
    "pip install reasoning-gym==0.1.25",
  );
});
