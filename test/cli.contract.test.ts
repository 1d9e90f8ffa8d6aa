import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { readMetrics, readSummary } from "../src/runs/read.ts";
import { compiledProgram } from "./compiled.ts";
import { writeTinyModel } from "./tiny-model.ts";

const folder = mkdtempSync(join(tmpdir(), "retrograde-cli-"));
const program = compiledProgram();

beforeAll(async () => {
  await writeTinyModel(join(folder, "model"));
  writeFileSync(
    join(folder, "retrograde.config.ts"),
    `import { defineConfig } from "retrograde-rl";
     import { lettersEnvironment } from ${JSON.stringify(join(import.meta.dirname, "letters.ts"))};
     export default defineConfig({
       environment: lettersEnvironment(),
       model: "model",
       rollout: { tasksPerStep: 2, groupSize: 4, maxTokens: 6 },
       evaluation: { tasks: 4, k: 2 },
       engine: { threads: 1 },
     });`,
  );
});

interface Finished {
  readonly exitCode: number | null;
  readonly lines: readonly string[];
  readonly error: string;
}

/** Runs the command line as a process without a terminal. */
function retrograde(
  args: string,
  { onLine = () => {}, input = "" }: { onLine?: (line: string, child: ChildProcess) => void; input?: string } = {},
) {
  const child = spawn(process.execPath, [program, ...args.split(" ")], {
    cwd: folder,
    // Nothing of npm's: the program would take itself for one of its scripts.
    env: { PATH: process.env.PATH, NO_COLOR: "1" },
  });
  child.stdin.end(input);
  const text = { out: "", error: "" };
  child.stderr.on("data", (chunk: Buffer) => (text.error += chunk));
  child.stdout.on("data", (chunk: Buffer) => {
    text.out += chunk;
    for (const line of chunk.toString().split("\n")) onLine(line, child);
  });
  return new Promise<Finished>((resolve) =>
    child.on("close", (exitCode) => resolve({ exitCode, lines: text.out.split("\n"), error: text.error })),
  );
}

test("train without a terminal prints a line for each phase and step, and the last screen", async () => {
  const { lines, exitCode, error } = await retrograde("train --steps 2 --out done", {
    // Node would open its inspector, and say so.
    onLine: (line, child) => {
      if (line === "Run: done") child.kill("SIGUSR1");
    },
  });
  expect({ error, exitCode }).toEqual({ error: "", exitCode: 0 });
  expect(lines.filter((line) => line.includes("\r") || line.includes("\u001b"))).toEqual([]);
  expect(lines.slice(0, 3)).toEqual([
    'Training model in "letters" by seeupo: 2 steps of 2 tasks × 4 rollouts',
    "Run: done",
    "evaluating 8 episodes …",
  ]);
  expect(lines.filter((line) => /^ {4}[12] /.test(line))).toHaveLength(2);
  expect(lines).toContain("Success on 4 test tasks, with 95 % intervals");
  expect(lines).toContain("  npx retrograde-rl chat --model done");
});

test("a folder with a run is not written over, and says how to go on", async () => {
  const { exitCode, error } = await retrograde("train --steps 2 --out done");
  expect(exitCode).toBe(1);
  expect(error).toContain("Continue that run with --resume, or choose another folder with --out.");
});

test("Ctrl-C keeps what is done, says how to continue, and that command finishes the run", async () => {
  const interrupted = await retrograde("train --steps 5 --out stopped", {
    onLine: (line, child) => {
      if (/^ +2 /.test(line)) child.kill("SIGINT");
    },
  });
  expect(interrupted.exitCode).toBe(130);
  const steps = readMetrics(join(folder, "stopped")).length;
  expect(steps).toBeGreaterThanOrEqual(2);
  expect(interrupted.lines).toContain(`Interrupted. ${steps} finished steps kept in stopped`);
  expect(interrupted.lines).toContain("Continue: npx retrograde-rl train --resume --out stopped");

  expect((await retrograde("train --resume --out stopped")).exitCode).toBe(0);
  expect(readMetrics(join(folder, "stopped")).map(({ step }) => step)).toEqual([1, 2, 3, 4, 5]);
  expect(readSummary(join(folder, "stopped"))?.steps).toBe(5);
});

test("eval, runs and chat work on what train made", async () => {
  const evaluated = await retrograde("eval --model done --tasks 3 --k 2");
  expect(evaluated.lines.find((line) => line.startsWith("greedy"))).toMatch(/(success|reward) .*\[/);
  expect(evaluated.lines.find((line) => line.startsWith("sampled × 2"))).toMatch(/(success|reward) .*\[/);
  const compared = await retrograde("eval --compare evaluations/letters-done-1 model --tasks 3 --k 2 --json");
  expect(compared.exitCode).toBe(0);
  expect(JSON.parse(compared.lines.join("\n")).difference.sampled.success).toMatchObject({ tasks: 3, exact: true });
  expect(evaluated.lines).toContainEqual(expect.stringMatching(/^An episode that it fails \(/));

  expect((await retrograde("runs --in .")).lines[2]).toMatch(/^done +seeupo +2\/2 .*finished/);
  const shown = await retrograde("trajectory done step-2/1/3");
  expect(shown.lines.filter((line) => line.startsWith("user"))).toHaveLength(2);

  const chat = await retrograde("chat --model done --set rollout.maxTokens=200", { input: "a\n\nb\n/quit\nc\n" });
  expect(chat).toMatchObject({ exitCode: 0, error: "" });
  expect(chat.lines.filter((line) => line.startsWith("user"))).toEqual(["user       a", "user       b"]);
});

test("doctor measures this machine, and finds what is broken", async () => {
  const healthy = await retrograde("doctor --model model --set environment.name=office --threads 1");
  expect(healthy.lines.find((line) => line.includes("matrix products"))).toMatch(/^[✓!] .*\d GFLOP\/s/);
  expect(healthy.lines.find((line) => line.includes(" model "))).toMatch(/^✓ .*vocabulary 7/);

  const { lines, exitCode } = await retrograde("doctor --model nowhere --threads 1");
  expect(exitCode).toBe(1);
  expect(lines.find((line) => line.includes(" model "))).toMatch(/^✗ .*There is no folder/);
});
