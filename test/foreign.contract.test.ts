import { spawn } from "node:child_process";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { readMessages } from "../src/runs/live.ts";
import { checkpointSteps, readMetrics } from "../src/runs/read.ts";
import { compiledProgram } from "./compiled.ts";
import { writeTinyModel } from "./tiny-model.ts";

const root = mkdtempSync(join(tmpdir(), "retrograde-foreign-"));
const model = join(root, "model");
const retrograde = compiledProgram();

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

test("a rejected promise that nobody awaits is a warning with the name, and the run continues to its end", async () => {
  const { output, folder } = await run("reject");
  expect(output).toContain("A promise of reply() of the environment was rejected and nobody waited for it: nobody waits for me.");
  expect(readMetrics(folder)).toHaveLength(4);
  expect(readMessages(folder).map(({ level }) => level)).toContain("warning");
});

test("an exception in a timer ends the run with the name, after a checkpoint of the finished steps", async () => {
  const { output, ended, folder } = await run("throw");
  expect(output).toMatch(
    /ToolError: reply\(\) of the environment is "ended by an exception that nobody could catch \(thrown in a timer\)"/,
  );
  expect(ended).toBe(0);
  expect(checkpointSteps(folder)).toEqual([1, 2]);
});

test("an endless loop after an await is ended by the watchdog, which names the code", async () => {
  const { output, ended, folder } = await run("loop");
  expect(ended).toBe("SIGKILL");
  expect(output).toContain("reply() of the environment has not let the program continue for 2 s (rollout.episodeTimeoutMs)");
  expect(readMessages(folder).at(-1)?.message).toContain("--resume");
});

test("a task that never comes is an error after rollout.episodeTimeoutMs, and finished steps are kept", async () => {
  const { output, folder } = await run("never");
  expect(output).toMatch(/EnvError: the error of task \d+ of the train split of "letters" is no answer within 2000 ms/);
  expect(checkpointSteps(folder)).toEqual([1, 2]);
});

/** Runs a command of a project whose environment misbehaves where an episode starts for the second time. */
async function command(fault: string, ...args: readonly string[]): Promise<{ output: string; ended: number | string | null }> {
  const project = mkdtempSync(join(root, "project-"));
  writeFileSync(
    join(project, "retrograde.config.mjs"),
    `let started = 0;
    export default {
      environment: {
        name: "faulty",
        size: (split) => (split === "test" ? 8 : 0),
        task: (split, index) => ({ id: String(index) }),
        start: async () => {
          if (++started > 1) { ${fault} }
          return { messages: [{ role: "user", content: "ab" }], tools: [], reply: () => ({ done: true }), score: () => ({ reward: 0 }) };
        },
      },
      model: ${JSON.stringify(model)},
      engine: { kind: "local", threads: 1 },
      rollout: { maxTokens: 4, episodeTimeoutMs: 1500 },
      evaluation: { tasks: 4, k: 1 },
    };`,
  );
  const child = spawn(process.execPath, [retrograde, ...args], { cwd: project });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (data: Buffer) => (output += data.toString()));
  child.stdin.write("ab\nab\n"); // for chat; the input stays open
  const ended = await new Promise<number | string | null>((resolve) =>
    child.on("close", (code, signal) => resolve(code ?? signal)),
  );
  return { output: output.replace(/\s+/g, " "), ended };
}

test.each([
  ["eval", "the same command with --resume continues"],
  ["chat", "then start again"],
  ["doctor --play", "Mend the code, then start again."],
  ["env check --no-sampling", "Mend the code, then start again."],
])("%s is ended by the watchdog where the environment loops without end", async (name, advice) => {
  const { output, ended } = await command("await 0; for (;;);", ...name.split(" "));
  expect(ended).toBe("SIGKILL");
  expect(output).toMatch(/start\(\) of .* has not let the program continue for 2 s \(rollout.episodeTimeoutMs\)/);
  expect(output).toContain(advice);
});

test.each(["eval", "chat", "doctor --play", "env check --no-sampling"])(
  "%s ends with the name of the code whose timer throws",
  async (name) => {
    const fault = 'setTimeout(() => { throw new Error("thrown in a timer"); }); await new Promise((go) => setTimeout(go, 50));';
    const { output, ended } = await command(fault, ...name.split(" "));
    expect(output).toMatch(/start\(\) of .* is "ended by an exception that nobody could catch \(thrown in a timer\)"/);
    expect(ended).toBe(1);
  },
);
