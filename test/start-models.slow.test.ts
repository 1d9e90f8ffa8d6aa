import "../research/install.ts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { checkModel } from "../extensions/check/check.ts";
import type { ModelReport } from "../extensions/check/report.ts";
import { createEnvironment } from "../src/environments/registry.ts";
import { type Model, modelFolder, openModel } from "../src/sdk/model.ts";
import { resolveConfig } from "../src/training/config/config.ts";
import { evaluationTasks } from "../src/training/config/tasks.ts";

/** What a bundled model can do in its world before training: enough to be tried, little by its majority. */
describe("the start model of the office", () => {
  let model: Model;
  let report: ModelReport;

  beforeAll(async () => {
    const config = resolveConfig({ engine: { threads: 2 } });
    model = await openModel(await modelFolder(config), config.engine);
    const environment = createEnvironment("office", {});
    const tasks = await evaluationTasks(environment, "test", 160);
    report = await checkModel(environment, tasks, { seed: 1, rollout: config.rollout }, model);
  }, 900_000);

  afterAll(() => model.engine.dispose());

  test("at temperature 0 it solves at most 35 %, and about as much as when it is sampled", () => {
    const { greedy, sampled } = report;
    expect(greedy.mean).toBeLessThan(0.35);
    expect(Math.abs(greedy.mean - sampled.mean)).toBeLessThan(0.1); // two means of 160 tasks
  });

  test("at least half of the groups of a training step have a signal", () => {
    expect(report.signal.mean).toBeGreaterThanOrEqual(0.5);
  });
});
