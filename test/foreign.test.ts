import { spawn } from "node:child_process";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { readMessages } from "../src/runs/live.ts";
import { checkpointSteps, readMetrics } from "../src/runs/read.ts";
import { writeTinyModel } from "./tiny-model.ts";

const root = mkdtempSync(join(tmpdir(), "retrograde-foreign-"));
const model = join(root, "model");
const patience = { timeout: 120_000 };

beforeAll(() => writeTinyModel(model));

async function run(fault: string): Promise<{ output: string; ended: number | string | null; folder: string }> {
  const folder = join(root, fault);
  const program = join(import.meta.dirname, "foreign-process.ts");
  const child = spawn(process.execPath, ["--import", "jiti/register", program, model, folder, fault]);
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (data: Buffer) => (output += data.toString()));
  const ended = await new Promise<number | string | null>((resolve) =>
    child.on("close", (code, signal) => resolve(code ?? signal)),
  );
  return { output, ended, folder };
}

test("a rejected promise that nobody awaits is a warning with the name, and the run continues to its end", patience, async () => {
  const { output, folder } = await run("reject");
  expect(output).toContain("A promise of reply() of the environment was rejected and nobody waited for it: nobody waits for me.");
  expect(readMetrics(folder)).toHaveLength(4);
  expect(readMessages(folder).map(({ level }) => level)).toContain("warning");
});

test("an exception in a timer ends the run with the name, after a checkpoint of the finished steps", patience, async () => {
  const { output, ended, folder } = await run("throw");
  expect(output).toMatch(
    /ToolError: reply\(\) of the environment is "ended by an exception that nobody could catch \(thrown in a timer\)"/,
  );
  expect(ended).toBe(0);
  expect(checkpointSteps(folder)).toEqual([2]);
});

test("an endless loop after an await is ended by the watchdog, which names the code", patience, async () => {
  const { output, ended, folder } = await run("loop");
  expect(ended).toBe("SIGKILL");
  expect(output).toContain("reply() of the environment has not let the program continue for 2 s (rollout.episodeTimeoutMs)");
  expect(readMessages(folder).at(-1)?.message).toContain("--resume");
});

test("a task that never comes is an error after rollout.episodeTimeoutMs, and finished steps are kept", patience, async () => {
  const { output, folder } = await run("never");
  expect(output).toMatch(/EnvError: task \d+ of the train split of "letters" is no answer within 2000 ms/);
  expect(checkpointSteps(folder)).toEqual([2]);
});
