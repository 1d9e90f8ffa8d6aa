import "../research/install.ts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { checkModel } from "../extensions/check/check.ts";
import type { ModelReport } from "../extensions/check/report.ts";
import { createEnvironment } from "../src/environments/registry.ts";
import { type Model, modelFolder, openModel } from "../src/sdk/model.ts";
import { resolveConfig } from "../src/training/config/config.ts";
import { evaluationTasks } from "../src/training/config/tasks.ts";

/** Of what the expert copies in the conversation, the share that a start model must write too. Only ids and names of calls count in the office. */
const copied = { office: 0.99, knowledge: 0.9 } as const;

/** What a bundled model can do in its world before training: enough to be tried, little by its majority. */
describe.each(["office", "knowledge"] as const)("the start model of %s", (name) => {
  let model: Model;
  let report: ModelReport;

  beforeAll(async () => {
    const config = resolveConfig({ environment: name, engine: { threads: 2 } });
    model = await openModel(await modelFolder(config), config.engine);
    const environment = createEnvironment(name, {});
    const tasks = await evaluationTasks(environment, "test", 160);
    const played = tasks.flatMap((task) => environment.expert?.play(task) ?? []);
    report = await checkModel(environment, tasks, played, { seed: 1, rollout: config.rollout }, model);
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

  test("what behaviours need can be copied", () => {
    const places = report.copying.filter(
      ({ place }) => name === "knowledge" || (place !== "words" && place !== "move_file.folder"),
    );
    const values = places.reduce((sum, place) => sum + place.values, 0);
    expect(places.reduce((sum, place) => sum + place.values * place.copied, 0) / values).toBeGreaterThan(copied[name]);
  });
});
