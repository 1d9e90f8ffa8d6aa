import "../../test/clocked-engine.ts";
import { beforeEach, expect, test } from "vitest";
import type { Environment } from "../../src/environments/environment.ts";
import { resolveConfig } from "../../src/training/config/config.ts";
import { startClock, TimedEngine } from "../../test/clocked-engine.ts";
import { lettersChat, lettersEnvironment, lettersVocabulary } from "../../test/letters.ts";
import { tryOut } from "./cost.ts";

beforeEach(startClock);
const configOf = (more: object = {}) =>
  resolveConfig({
    environment: "letters",
    ...{ rollout: { tasksPerStep: 6, groupSize: 10 }, evaluation: { tasks: 30, k: 2, challenge: true }, steps: 10, seed: 3 },
    ...more,
  } as never);
const tried = (config = configOf(), size?: number, limitMs = 60_000) =>
  tryOut(
    { engine: new TimedEngine(lettersVocabulary), chat: lettersChat(), device: "a clock" },
    lettersEnvironment(size),
    config,
    limitMs,
  );

test("at most four tasks of eight rollouts are played, and scaled to a step, an evaluation and the run", async () => {
  const trial = await tried();
  expect(trial?.groups.map(({ trajectories }) => trajectories.length)).toEqual([8, 8, 8, 8]);
  // Each of the 32 episodes is two answers of a second. Eight are scored, in a quarter of a second: three passes of it.
  expect(trial?.cost).toEqual({
    ...{ episodes: 32, tokensPerEpisode: 4 },
    samplingPerStep: 2 * 60,
    trainingPerStep: (60 * 3 * 0.25) / 8,
    // 30 tasks of two splits, two attempts each, two seconds each.
    evaluation: 2 * 30 * 2 * 2,
    whole: 10 * (120 + (60 * 3 * 0.25) / 8) + 2 * 240,
  });
  expect(trial?.groups[0]?.trajectories[0]?.id).toMatch(/^cost\//);
});

test("fewer tasks and rollouts than that are all played, and splits that are smaller are measured whole", async () => {
  const config = configOf({ rollout: { tasksPerStep: 2, groupSize: 3 }, evaluation: { tasks: 30, k: 1, challenge: false } });
  const trial = await tried(config, 5);
  expect(trial?.groups.map(({ trajectories }) => trajectories.length)).toEqual([3, 3]);
  expect(trial?.cost).toMatchObject({ samplingPerStep: 12, trainingPerStep: (6 * 3 * 0.25) / 3, evaluation: 5 * 2 });
  const unmeasured = await tried(configOf({ evaluation: { tasks: 0 } }));
  expect(unmeasured?.cost.evaluation).toBe(0);
});

test("without an episode that ends in time there is no cost", async () => {
  const letters = lettersEnvironment();
  const slow: Environment = {
    ...letters,
    start: async (task, seed) => {
      await new Promise((go) => setTimeout(go, 40));
      return letters.start(task as never, seed);
    },
  } as Environment;
  const model = { engine: new TimedEngine(lettersVocabulary), chat: lettersChat(), device: "a clock" };
  expect(await tryOut(model, slow, configOf(), 5)).toBeUndefined();
});
