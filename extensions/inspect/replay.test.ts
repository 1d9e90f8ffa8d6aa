import "../../test/office.ts";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { randomStream } from "../../src/core/random.ts";
import type { Environment } from "../../src/environments/environment.ts";
import { readMetrics } from "../../src/runs/read.ts";
import { createRun } from "../../src/runs/write.ts";
import { resolveConfig } from "../../src/training/config/config.ts";
import type { UserConfig } from "../../src/training/config/user-config.ts";
import { train } from "../../src/training/trainer.ts";
import { lettersChat, lettersEnvironment, lettersVocabulary } from "../../test/letters.ts";
import { TableEngine } from "../../test/table-engine.ts";
import { readIndex, TrajectoryReader } from "./read-index.ts";
import { replayEpisode } from "./replay.ts";

const chat = lettersChat();

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
