import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { flipBits } from "../extensions/inspect/bit-flips.fixture.ts";
import { randomStream } from "../src/core/random.ts";
import { layout } from "../src/runs/layout.ts";
import { readEvaluations, readMetrics, readSummary, readTimings, readTrajectories } from "../src/runs/read.ts";
import { slowdown } from "./slowdown.ts";
import { writeTinyModel } from "./tiny-model.ts";
import { type Kind, trainKind } from "./training-process.ts";
import { trainLongUpdates } from "./update-process.ts";

const folder = mkdtempSync(join(tmpdir(), "retrograde-resume-"));
const model = join(folder, "model");
/** RETROGRADE_KILLS=100 kills more often than the tests do. */
const kills = Number(process.env.RETROGRADE_KILLS ?? 3);

beforeAll(() => writeTinyModel(model));

/** Trains in a process of its own, and kills it. @param lines SIGKILL after so many lines of output */
async function kill(kind: Kind, out: string, lines: number): Promise<void> {
  const program = join(import.meta.dirname, "training-process.ts");
  const args = ["--import", "jiti/register", program, kind, model, out];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  let seen = 0;
  child.stdout.on("data", (chunk: Buffer) => {
    seen += chunk.toString().split("\n").length - 1;
    if (seen >= lines) child.kill("SIGKILL");
  });
  const code = await new Promise<number | null>((resolve) => child.on("close", (status) => resolve(status)));
  expect(code, `killed after ${lines} lines`).toBeNull();
}

/** Trains to the end, in this process. */
const whole = (kind: Kind, out: string) => trainKind(kind, model, out, () => {});

const contentsOf = (run: string) => ({
  metrics: readFileSync(layout.metrics(run), "utf8"),
  evaluations: readEvaluations(run),
  trajectories: readMetrics(run).map(({ step }) => readTrajectories(run, step)),
  // As a digest: to compare millions of bytes one by one takes a minute.
  weights: createHash("sha256")
    .update(readFileSync(join(layout.model(run), "model.safetensors")))
    .digest("hex"),
});

test(`a real run that is killed ${kills} times and resumed ends as if it had never been killed`, async () => {
  const [straight, killed] = [join(folder, "straight"), join(folder, "killed")];
  await whole("letters", straight);
  expect(readTimings(straight)).toHaveLength(10);

  const random = randomStream(1, "kills");
  for (let n = 0; n < kills; n++) {
    // Three kills a run: a fourth could come after its end.
    const last = `${killed}-${Math.floor(n / 3)}`;
    await kill("letters", last, 20 + random.integer(50));
    if (n % 3 < 2 && n < kills - 1) continue;
    expect(readSummary(last)).toBeUndefined();
    await whole("letters", last);
    expect(contentsOf(last)).toEqual(contentsOf(straight));
  }
});

test("so does one whose rollouts are sampled ahead, and it writes the same bytes each time", async () => {
  const [straight, killed] = [join(folder, "ahead-straight"), join(folder, "ahead-killed")];
  await whole("ahead", straight);
  await kill("ahead", killed, 90);
  await kill("ahead", killed, 40);
  expect(readSummary(killed)).toBeUndefined();
  await whole("ahead", killed);
  expect(contentsOf(killed)).toEqual(contentsOf(straight));
  expect(readMetrics(straight).map(({ metrics }) => metrics.staleness)).toEqual([0, 1, 2, 2, 2, 2, 2, 2, 2, 2]);
});

test.each([
  ["adapter", "adapter/adapter_model.safetensors"],
  ["agent", "model.safetensors"],
] as const)(
  "a killed run of kind %s goes on with the same bytes, and no flipped bit in it is read as other content",
  async (kind, weights) => {
    const [straight, killed] = [join(folder, `${kind}-straight`), join(folder, `${kind}-killed`)];
    await whole(kind, straight);
    await kill(kind, killed, 30);
    expect(readMetrics(killed).length).toBeLessThan(5);
    expect((await flipBits(killed, 100)).refused).toBeGreaterThan(0);
    await whole(kind, killed);
    for (const file of ["metrics.jsonl", join("model", weights)])
      expect(readFileSync(join(killed, file)).equals(readFileSync(join(straight, file))), file).toBe(true);
    expect((await flipBits(killed, 100)).refused).toBeGreaterThan(0);
  },
);

/** Interrupts a run of long updates, a while after the second has begun. @returns its output, and milliseconds until it ended */
async function interrupted(out: string, after: number) {
  const { npm_lifecycle_event: _, npm_command: __, ...env } = process.env;
  const program = join(import.meta.dirname, "update-process.ts");
  const child = spawn(process.execPath, ["--import", "jiti/register", program, out], {
    env,
    stdio: ["ignore", "pipe", "ignore"],
  });
  let output = "";
  let asked = 0;
  const interrupt = () => {
    asked = performance.now();
    child.kill("SIGINT");
  };
  child.stdout.on("data", (data: Buffer) => {
    const began = !output.includes("update 2");
    output += data.toString();
    if (began && output.includes("update 2")) setTimeout(interrupt, after);
  });
  await new Promise((resolve) => child.on("close", resolve));
  return { output, took: performance.now() - asked };
}

test("one Ctrl-C between the optimiser steps of an update ends the run within three seconds, and no finished step is lost", async () => {
  const [straight, stopped] = [join(folder, "update-straight"), join(folder, "update-stopped")];
  await trainLongUpdates(straight, false, () => {});
  const { output, took } = await interrupted(stopped, 300);
  expect(took).toBeLessThan(3_000 * slowdown());
  expect(output.trim().split("\n").slice(-2)).toEqual(["update 2", "checkpoint 1"]);
  const phases: string[] = [];
  await trainLongUpdates(stopped, true, (phase) => phases.push(phase));
  expect(phases[0]).toBe("rollout 2");
  expect(contentsOf(stopped)).toEqual(contentsOf(straight));
});
