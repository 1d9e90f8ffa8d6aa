import "../../test/office.ts";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { randomStream, seedOf } from "../../src/core/random.ts";
import type { Trajectory } from "../../src/core/trajectory.ts";
import type { Environment, Task } from "../../src/environments/environment.ts";
import { readMetrics } from "../../src/runs/read.ts";
import type { StepRecord } from "../../src/runs/records.ts";
import { trajectoryOf } from "../../src/runs/store.fixture.ts";
import { createRun } from "../../src/runs/write.ts";
import { resolveConfig } from "../../src/training/config/config.ts";
import { trainingTasks } from "../../src/training/config/tasks.ts";
import type { UserConfig } from "../../src/training/config/user-config.ts";
import { train } from "../../src/training/trainer.ts";
import { lettersChat, lettersEnvironment, lettersVocabulary } from "../../test/letters.ts";
import { TableEngine } from "../../test/table-engine.ts";
import { readIndex, TrajectoryReader } from "./read-index.ts";
import { beginningOf, type Origin, type ReplayDifference, replayEpisode } from "./replay.ts";

const chat = lettersChat();

const { rollout } = resolveConfig({ environment: "letters", rollout: { tasksPerStep: 4, groupSize: 2, maxTokens: 4 } });
const played = { config: { rollout, seed: 7 }, environment: lettersEnvironment(), steps: [] as StepRecord[] };

test.each<[string, Origin, Partial<StepRecord["metrics"]>[], number, string]>([
  // Of 4 tasks a batch: the batches of the steps before, then those of this step, then the group.
  ["step-1/3/0", { source: "train", step: 1 }, [], 3, "step-1/3"],
  ["step-3/1/0", { source: "train", step: 3 }, [{}, {}, {}], 9, "step-3/1"],
  ["step-3/1/0", { source: "train", step: 3 }, [{ batchesSampled: 5 }, {}, {}], 25, "step-3/1"],
  ["step-2/batch-12/3/0", { source: "train", step: 2 }, [{}, {}], 55, "step-2/batch-12/3"],
  ["before/11/0", { source: "before", step: 0, split: "test" }, [], 11, "test/11"],
])("the episode %s of %j behind %j began with the task at %i", async (id, origin, metrics, position, group) => {
  const steps = metrics.map((each, i) => ({ step: i + 1, metrics: each }) as StepRecord);
  const [task] =
    origin.source === "train" ? await trainingTasks(played.environment, position, 1, 7) : [{ id: `test/${position}` }];
  const recorded = trajectoryOf(id, { task: task.id });
  const begun = await beginningOf(recorded, origin, { ...played, steps });
  const seed = origin.source === "train" ? seedOf(7, "rollout", origin.step) : seedOf(7, "evaluation", "test");
  expect(begun).toEqual({ task: expect.objectContaining({ id: task.id }), seed, group });
  await expect(beginningOf({ ...recorded, task: "other" }, origin, { ...played, steps })).rejects.toThrow(
    `the episode's task is "other"; expected the task at its place, which is "${task.id}" now. The environment or its tasks are others`,
  );
});

test("where tasks were drawn by their outcomes, the task is found by its name", async () => {
  const config = {
    ...played.config,
    rollout: {
      ...rollout,
      tasks: resolveConfig({ environment: "letters", rollout: { tasks: { kind: "difficulty" } } }).rollout.tasks,
    },
  };
  const of = (environment: Environment, task: string) =>
    beginningOf(trajectoryOf("step-1/0/0", { task }), { source: "train", step: 1 }, { ...played, environment, config });
  expect((await of(lettersEnvironment(9), "train/5")).task.id).toBe("train/5");
  await expect(of(lettersEnvironment(5), "train/5")).rejects.toThrow(/which is "undefined" now/);
});

const [first] = (await trainingTasks(played.environment, 0, 1, 7)) as [Task & { readonly prompt: string }];

/** An episode of the first task: the user says its letter before each action, and all that was said is the next context. */
function saying(actions: readonly (readonly number[])[], changes: Partial<Trajectory> = {}): Trajectory {
  const asked = [4, "abc".indexOf(first.prompt), 6, 0];
  const [turn] = trajectoryOf("step-1/0/0").turns;
  let context: readonly number[] = [];
  const turns = actions.map((action, i) => {
    context = [...context, ...(actions[i - 1] ?? []), ...asked];
    return {
      ...turn,
      turn: i,
      context,
      action,
      samplerLogprobs: action.map(() => -1),
      entropies: action.map(() => 1),
      toolCalls: 0,
    };
  });
  return { ...trajectoryOf("step-1/0/0", { task: first.id, turns, scores: {} }), ...changes };
}
const b = [1, 6];
const differenceOf = async (recorded: Trajectory) =>
  (await replayEpisode(recorded, { source: "train", step: 1 }, { ...played, chat })).difference;

test("an episode is the same to its end: by the environment, by a cut action, or for want of room for another turn", async () => {
  expect(await differenceOf(saying([b, b]))).toBeUndefined();
  const cut = saying([b, [1, 1]], { stopReason: "max-tokens" });
  const turns = cut.turns.map((turn, i) => ({ ...turn, truncated: i === 1 }));
  expect(await differenceOf({ ...cut, turns })).toBeUndefined();
  expect(await differenceOf(saying([b], { stopReason: "max-tokens", reward: 1 }))).toBeUndefined();
});

test.each<[string, Trajectory, ReplayDifference]>([
  ["another turn", saying([b]), { turn: 1, recorded: "the end", replayed: "another turn" }],
  ["an earlier end", saying([b, b, b]), { turn: 2, recorded: "a turn", replayed: "the end: done" }],
  [
    "another end",
    saying([b, b], { stopReason: "max-turns" }),
    { recorded: "it ended by max-turns", replayed: "it ended by done" },
  ],
  ["another reward", saying([b, [0, 6]]), { recorded: "reward 1", replayed: "reward 0.5" }],
  [
    "another reward than the environment's own",
    saying([b, b], { reward: 0.25, scores: { "reward:environment": 0.75 } }),
    { recorded: "reward 0.75", replayed: "reward 1" },
  ],
  [
    "a longer context",
    { ...saying([b, b]), turns: saying([b, b]).turns.map((turn) => ({ ...turn, context: [...turn.context, 3] })) },
    { turn: 0, agree: 4, recorded: [3], replayed: [] },
  ],
])("%s is a difference, the first one is named", async (_, recorded, difference) => {
  expect(await differenceOf(recorded)).toEqual(difference);
});

/** The letters, where the second message of a user is drawn by the episode's seed. */
function seeded(second: (seed: number) => string): Environment {
  const letters = lettersEnvironment(5);
  return {
    ...letters,
    start: async (task, seed) => {
      const episode = await letters.start(task as Parameters<typeof letters.start>[0], seed);
      let replies = 0;
      return {
        ...episode,
        reply: () => (++replies < 2 ? { done: false, messages: [{ role: "user", content: second(seed) }] } : { done: true }),
      };
    },
  } as Environment;
}
const bySeed = seeded((seed) => randomStream(seed, "second").pick(["a", "b", "c"]));

test("every episode of a run, of training and of evaluations, is played once more id for id", async () => {
  const folder = join(mkdtempSync(join(tmpdir(), "retrograde-replay-")), "run");
  const settings: UserConfig = {
    ...{ environment: "letters", steps: 3, seed: 7, rollout: { tasksPerStep: 4, groupSize: 2, maxTokens: 4 } },
    // Dynamic sampling takes several batches of tasks in a step.
    algorithm: { kind: "dapo", dynamicSampling: { maxBatches: 3 } },
    evaluation: { tasks: 4, k: 1 },
  };
  const config = resolveConfig(settings);
  createRun(folder, config);
  await train({ config, engine: new TableEngine(lettersVocabulary), chat, environment: bySeed, folder });
  const steps = readMetrics(folder);
  const reader = new TrajectoryReader(folder);
  const replays = (environment: Environment) =>
    readIndex(folder).flatMap((line) =>
      [...line.id.keys()].map((at) =>
        replayEpisode(
          reader.read(line, at),
          line.source === "train"
            ? { source: line.source, step: line.step }
            : { source: line.source, step: line.step, split: line.split ?? "" },
          { config, chat, environment, steps },
        ),
      ),
    );
  const same = await Promise.all(replays(bySeed));
  expect(same.length).toBeGreaterThan(30);
  expect(same.filter(({ difference }) => difference !== undefined)).toEqual([]);
  // Another second message is another context of the second turn; another score is a difference at the end.
  const others = await Promise.all(replays(seeded(() => "u")));
  const differing = others.flatMap(({ difference }) => difference ?? []);
  expect(differing.length).toBeGreaterThan(10);
  for (const difference of differing) expect(difference).toMatchObject({ turn: 1, agree: expect.any(Number) });
  const scored: Environment = {
    ...bySeed,
    start: async (task, seed) => ({ ...(await bySeed.start(task, seed)), score: () => ({ reward: 0.125 }) }),
  };
  const [first] = await Promise.all(replays(scored));
  expect(first.difference).toMatchObject({ replayed: "reward 0.125" });
  const [refused] = await Promise.allSettled(replays({ ...bySeed, task: () => ({ id: "another" }) }));
  expect(refused).toMatchObject({ reason: { message: expect.stringMatching(/the episode's task.*another/s) } });
});
