import "../../test/office.ts";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openModel } from "../../src/sdk/model.ts";
import { resolveConfig } from "../../src/training/config/config.ts";
import { lettersEnvironment } from "../../test/letters.ts";
import { writeTinyModel } from "../../test/tiny-model.ts";
import { tryOut } from "./cost.ts";

test("the cost of a run scales with its steps and evaluations, and measuring it changes nothing of the model", async () => {
  const folder = mkdtempSync(join(tmpdir(), "retrograde-cost-"));
  await writeTinyModel(folder);
  const config = resolveConfig({
    environment: "letters",
    rollout: { tasksPerStep: 4, groupSize: 4, maxTokens: 6 },
    evaluation: { tasks: 30, k: 2 },
    steps: 10,
  });
  const model = await openModel(folder, config.engine);
  const samples = [{ trajectory: "t", turn: 0, context: [1, 2], action: [3, 4] }];
  const before = await model.engine.logprobs(samples, { temperature: 1 });
  const started = performance.now();
  const trial = await tryOut(model, lettersEnvironment(), config, 60_000);
  const seconds = (performance.now() - started) / 1000;
  if (trial === undefined) throw new Error("nothing was measured");
  const { cost, groups } = trial;
  expect(groups.map(({ trajectories }) => trajectories.length)).toEqual([4, 4, 4, 4]);
  expect(cost.episodes).toBe(16);
  expect(cost.tokensPerEpisode).toBeGreaterThan(1);
  expect(cost.tokensPerEpisode).toBeLessThanOrEqual(12);
  expect(cost.samplingPerStep).toBeGreaterThan(0);
  expect(cost.samplingPerStep).toBeLessThan(seconds); // it played 16 episodes, as many as a step has
  expect(cost.trainingPerStep).toBeGreaterThan(0);
  expect(cost.evaluation / cost.samplingPerStep).toBeCloseTo((30 * 2) / 16, 9);
  expect(cost.whole).toBeCloseTo(10 * (cost.samplingPerStep + cost.trainingPerStep) + 2 * cost.evaluation, 9);
  expect(await model.engine.logprobs(samples, { temperature: 1 })).toEqual(before);
  expect(model.engine.weightVersion).toBe(0);
  const without = await tryOut(
    model,
    lettersEnvironment(),
    { ...config, evaluation: { ...config.evaluation, tasks: 0 } },
    60_000,
  );
  expect(without?.cost.evaluation).toBe(0);
  await model.engine.dispose();
});
