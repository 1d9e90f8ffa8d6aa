import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { randomStream } from "../src/core/random.ts";
import { flipBits } from "../src/runs/bit-flips.fixture.ts";
import { layout } from "../src/runs/layout.ts";
import { readEvaluations, readMetrics, readSummary, readTimings, readTrajectories } from "../src/runs/read.ts";
import { writeTinyModel } from "./tiny-model.ts";

/** Seconds on an idle machine, minutes on one whose cores are all taken. */
const patience = { timeout: 300_000 };

const folder = mkdtempSync(join(tmpdir(), "retrograde-resume-"));
const model = join(folder, "model");

/** @param lines SIGKILL after so many lines of output; never if left out */
function trainingProcess(
  out: string,
  { kind = "letters", resume = false, lines = Number.POSITIVE_INFINITY, ahead = 0 } = {},
): Promise<number | null> {
  const child = spawn(
    process.execPath,
    [
      ...["--import", "jiti/register", join(import.meta.dirname, "training-process.ts")],
      ...[kind, model, out, String(ahead), ...(resume ? ["resume"] : [])],
    ],
    { stdio: ["ignore", "pipe", "inherit"] },
  );
  let seen = 0;
  child.stdout.on("data", (chunk: Buffer) => {
    seen += chunk.toString().split("\n").length - 1;
    if (seen >= lines) child.kill("SIGKILL");
  });
  return new Promise((resolve) => child.on("close", (code) => resolve(code)));
}

const contentsOf = (run: string) => ({
  metrics: readFileSync(layout.metrics(run), "utf8"),
  evaluations: readEvaluations(run),
  trajectories: readMetrics(run).map(({ step }) => readTrajectories(run, step)),
  weights: readFileSync(join(layout.model(run), "model.safetensors")),
});

test("a real run that is killed three times and resumed ends as if it had never been killed", patience, async () => {
  await writeTinyModel(model);
  const [straight, killed] = [join(folder, "straight"), join(folder, "killed")];
  expect(await trainingProcess(straight)).toBe(0);
  expect(readTimings(straight)).toHaveLength(10);

  const random = randomStream(1, "kills");
  for (let kill = 0; kill < 3; kill++) {
    const lines = 20 + random.integer(50);
    expect(
      await trainingProcess(killed, { resume: existsSync(layout.run(killed)), lines }),
      `killed after ${lines} lines`,
    ).toBeNull();
  }
  expect(readSummary(killed)).toBeUndefined();
  expect(await trainingProcess(killed, { resume: true })).toBe(0);
  expect(contentsOf(killed)).toEqual(contentsOf(straight));
});

test("so does one whose rollouts are sampled ahead, and it writes the same bytes each time", patience, async () => {
  const [straight, killed] = [join(folder, "ahead-straight"), join(folder, "ahead-killed")];
  expect(await trainingProcess(straight, { ahead: 2 })).toBe(0);
  expect(await trainingProcess(killed, { ahead: 2, lines: 90 })).toBeNull();
  expect(await trainingProcess(killed, { ahead: 2, lines: 40, resume: existsSync(layout.run(killed)) })).toBeNull();
  expect(readSummary(killed)).toBeUndefined();
  expect(await trainingProcess(killed, { ahead: 2, resume: true })).toBe(0);
  expect(contentsOf(killed)).toEqual(contentsOf(straight));
  expect(readMetrics(straight).map(({ metrics }) => metrics.staleness)).toEqual([0, 1, 2, 2, 2, 2, 2, 2, 2, 2]);
});

test.each([
  ["adapter", "adapter/adapter_model.safetensors"],
  ["agent", "model.safetensors"],
  ["knowledge", "model.safetensors"],
])(
  "a killed run of kind %s goes on with the same bytes, and no flipped bit in it is read as other content",
  patience,
  async (kind, weights) => {
    await writeTinyModel(model);
    const [straight, killed] = [join(folder, `${kind}-straight`), join(folder, `${kind}-killed`)];
    expect(await trainingProcess(straight, { kind })).toBe(0);
    expect(await trainingProcess(killed, { kind, lines: 30 })).toBeNull();
    expect(readMetrics(killed).length).toBeLessThan(5);
    expect((await flipBits(killed, 100)).refused).toBeGreaterThan(0);
    expect(await trainingProcess(killed, { kind, resume: true })).toBe(0);
    for (const file of ["metrics.jsonl", join("model", weights)])
      expect(readFileSync(join(killed, file)).equals(readFileSync(join(straight, file))), file).toBe(true);
    expect((await flipBits(killed, 100)).refused).toBeGreaterThan(0);
  },
);

/** @param after milliseconds of the third update after which Ctrl-C comes; never if left out */
async function updateProcess(out: string, { after, resume = false }: { after?: number; resume?: boolean } = {}) {
  const { npm_lifecycle_event: _, npm_command: __, ...env } = process.env;
  const program = join(import.meta.dirname, "update-process.ts");
  const args = ["--import", "jiti/register", program, out, ...(resume ? ["resume"] : [])];
  const child = spawn(process.execPath, args, { env, stdio: ["ignore", "pipe", "ignore"] });
  let output = "";
  let asked = 0;
  const interrupt = () => {
    asked = performance.now();
    child.kill("SIGINT");
  };
  child.stdout.on("data", (data: Buffer) => {
    const began = !output.includes("update 3");
    output += data.toString();
    if (after !== undefined && began && output.includes("update 3")) setTimeout(interrupt, after);
  });
  await new Promise((resolve) => child.on("close", resolve));
  return { output, took: performance.now() - asked };
}

test(
  "one Ctrl-C between the optimiser steps of an update ends the run within three seconds, and no finished step is lost",
  patience,
  async () => {
    const [straight, stopped] = [join(folder, "update-straight"), join(folder, "update-stopped")];
    await updateProcess(straight);
    const { output, took } = await updateProcess(stopped, { after: 1_000 });
    expect(took).toBeLessThan(3_000);
    expect(output.trim().split("\n").slice(-2)).toEqual(["update 3", "checkpoint 2"]);
    expect((await updateProcess(stopped, { resume: true })).output).toMatch(/^rollout 3/);
    expect(contentsOf(stopped)).toEqual(contentsOf(straight));
  },
);

test("two real runs with the same seed write the same bytes", patience, async () => {
  const again = join(folder, "again");
  expect(await trainingProcess(again)).toBe(0);
  expect(contentsOf(again)).toEqual(contentsOf(join(folder, "straight")));
});
