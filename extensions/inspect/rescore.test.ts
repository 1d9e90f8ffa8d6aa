import "../../test/office.ts";
import { mkdirSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";
import { RunError } from "../../src/core/errors.ts";
import { trajectoryOf } from "../../src/runs/store.fixture.ts";
import { createRun } from "../../src/runs/write.ts";
import { openModel, samplingUse } from "../../src/sdk/model.ts";
import { planRun } from "../../src/sdk/train.ts";
import { resolveConfig } from "../../src/training/config/config.ts";
import { writeTinyModel } from "../../test/tiny-model.ts";
import { rescoreSince } from "./rescore.ts";

async function tinyRun() {
  const folder = mkdtempSync(join(tmpdir(), "retrograde-rescore-"));
  await writeTinyModel(join(folder, "start"));
  const config = resolveConfig({ model: join(folder, "start"), engine: { kind: "local", device: "cpu", threads: 1 } });
  createRun(join(folder, "run"), config);
  return { run: join(folder, "run"), config };
}

test("an episode's tokens are scored by the weights that the run began with, turn by turn", async () => {
  const { run, config } = await tinyRun();
  const [first, second] = [trajectoryOf("step-1/0/0"), trajectoryOf("step-1/0/1")];
  const scored = await rescoreSince(run, [first, second], 0, 0.5);
  const { engine } = await openModel(config.model, config.engine, { use: samplingUse(config), seed: config.seed });
  const alone = await engine.logprobs(second.turns, { temperature: 0.5 });
  await engine.dispose();
  expect(scored.map(({ since }) => since)).toEqual([0, 0]);
  for (const [t, logprobs] of (scored[1]?.logprobs ?? []).entries())
    for (const [i, logprob] of logprobs.entries()) expect(logprob).toBeCloseTo(alone[t][i], 5);
  expect(scored[1]?.logprobs.map(({ length }) => length)).toEqual([3, 2]);
});

test("weights of a step without a checkpoint are an error that names those that are kept", async () => {
  const { run } = await tinyRun();
  const refused = rescoreSince(run, [trajectoryOf("step-1/0/0")], 3, 1);
  await expect(refused).rejects.toThrow(RunError);
  await expect(refused).rejects.toThrow('the checkpoint of step 3 is "not kept"; expected a step with weights: 0.');
});

test("--resume without a folder takes the newest run that has not finished, or says that there is none", async () => {
  const before = process.cwd();
  const here = mkdtempSync(join(tmpdir(), "retrograde-unfinished-"));
  mkdirSync(join(here, "runs"));
  const { config } = await tinyRun();
  process.chdir(here);
  try {
    await expect(planRun({}, { resume: true })).rejects.toThrow("expected a folder with an unfinished run");
    createRun("runs/stopped", config);
    expect((await planRun({}, { resume: true })).folder).toBe(resolve("runs/stopped"));
  } finally {
    process.chdir(before);
  }
});
