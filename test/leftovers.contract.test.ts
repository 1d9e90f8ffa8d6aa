import { spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { compiledProgram } from "./compiled.ts";
import { writeTinyModel } from "./tiny-model.ts";

/** An environment whose tasks change the current folder and leave a timer behind. */
const config = `
import { defineConfig, defineEnvironment } from "retrograde-rl";
setInterval(() => process.exitCode === 0 && Promise.reject(new Error("late")), 500); // once the command has its exit code
const environment = defineEnvironment({
  name: "careless",
  tasks: () => ({ prompt: "abc" }),
  start: () => {
    process.chdir(process.env.ELSEWHERE);
    return { tools: [], reward: ({ answer }) => answer.length % 2 };
  },
});
export default defineConfig({
  environment, model: "model", algorithm: "grpo", steps: 2, engine: { threads: 1 },
  rollout: { tasksPerStep: 2, groupSize: 2, maxTokens: 4 }, evaluation: { tasks: 0 },
});
`;

test("a run stays in one folder where its code changes the current one, and ends where a timer is left", async () => {
  const folder = mkdtempSync(join(tmpdir(), "retrograde-leftovers-"));
  const elsewhere = join(folder, "elsewhere");
  mkdirSync(elsewhere);
  await writeTinyModel(join(folder, "model"));
  writeFileSync(join(folder, "careless.mjs"), config);
  const args = [compiledProgram(), "train", "--config", "careless.mjs", "--no-dashboard"];
  const child = spawn(process.execPath, args, { cwd: folder, env: { ...process.env, NO_COLOR: "1", ELSEWHERE: elsewhere } });
  const output: string[] = [];
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk: Buffer) => output.push(chunk.toString()));
  const code = await new Promise((resolve) => child.on("close", resolve));
  expect(output.join("")).toContain("a timer of a tool, reward or environment is still open. Ended without it.");
  expect(output.join("").match(/The work is done, but what it left open failed: late/g)).toHaveLength(1);
  expect(code).toBe(0);
  expect(readdirSync(elsewhere)).toEqual([]);
  expect(existsSync(join(folder, "runs/careless-grpo-1/summary.json"))).toBe(true);
  expect(existsSync(join(folder, "runs/careless-grpo-1/.lock"))).toBe(false);
});
