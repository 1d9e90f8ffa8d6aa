import { expect, test } from "vitest";
import type { Environment } from "../../src/environments/environment.ts";
import "../../test/office.ts";
import { defineEnvironment } from "../../src/environments/define.ts";
import { meanInterval } from "../../src/statistics/intervals.ts";
import { resolveConfig } from "../../src/training/config/config.ts";
import { lettersChat, lettersVocabulary } from "../../test/letters.ts";
import { TableEngine } from "../../test/table-engine.ts";
import { checkEnvironment, signalIn, successIn } from "./check.ts";
import { findUnrepeatable } from "./repeats.ts";

const { rollout } = resolveConfig({ rollout: { groupSize: 2, maxTokens: 3 } });
const options = { seed: 1, tasks: 5, trainingTasks: 5, rollout };
const limits = { timeoutMs: 1000 };
const noChallenge = ["There is no challenge split."];
const bare = (more: Partial<Environment> = {}): Environment => ({
  ...(defineEnvironment({
    name: "bare",
    tasks: { train: [{ prompt: "a" }], validation: [{ prompt: "b" }], test: [{ prompt: "a" }, { prompt: "ab" }] },
    start: ({ prompt }) => ({ tools: [], reward: ({ answer }) => (answer === prompt ? 1 : 0.5) }),
  }) as Environment),
  ...more,
});

test("a report has all that was measured, what was not, and says what it is doing", async () => {
  const doing: string[] = [];
  const { policies, chance, ...rest } = await checkEnvironment(bare(), { ...options, onProgress: (what) => doing.push(what) });
  expect(rest).toEqual({
    ...{ environment: "bare", sizes: { train: 1, validation: 1, test: 2 }, split: "test", tasks: 2 },
    overlap: [
      { split: "validation", texts: 1, shared: 0 },
      { split: "test", texts: 2, shared: 1 },
    ],
    unrepeatable: [],
    unchecked: [
      ...noChallenge,
      "The environment has no expert (Environment.expert), so its success and policies that act as the expert are not known.",
      "Overlap is of the first messages only: later ones of the user are not known without an expert.",
      "No model was measured.",
    ],
  });
  expect(policies.map(({ name, success }) => [name, success.mean])).toEqual([
    ["does nothing and says nothing", 0],
    ['does nothing, always "Done."', 0],
    ["always asks", 0],
    ["always apologises", 0],
    ["always refuses by name", 0],
    ["repeats what the user says", 1],
    ["random calls and words", expect.any(Number)],
  ]);
  expect(chance?.mean).toBe(0);
  expect(doing).toEqual([
    ...["whether it repeats itself", "the expert", "policies that understand nothing", "overlap of the splits"],
  ]);
});

test("an expert that only speaks has no policies that act as it, and one that acts has", async () => {
  const played = (messages: readonly object[]) => ({
    behaviours: [],
    play: () => ({ messages: messages as never, score: { reward: 0.5, scores: { success: 1 } } }),
  });
  const talking = await checkEnvironment(bare({ expert: played([{ role: "assistant", content: "a" }]) }), options);
  expect(talking.expert?.mean).toBe(1);
  expect(talking.policies).toHaveLength(7);
  expect(talking.unchecked).toEqual([...noChallenge, "No model was measured."]);
  const acting = [
    { role: "assistant", content: "", toolCalls: [{ name: "x", arguments: {} }] },
    { role: "tool", name: "x", content: "" },
    { role: "assistant", content: "a" },
  ];
  const { policies } = await checkEnvironment(bare({ expert: played(acting) }), options);
  expect(policies.slice(7).map(({ name }) => name)).toEqual([
    'acts as the expert, always closes with "Done."',
    "acts as the expert, always apologises",
    'acts as the expert, always "Done. Sorry, I cannot."',
    "acts as the expert, says nothing",
    "acts as the expert, repeats the request",
    "acts as the expert, asks before everything",
    "says what the expert says, does nothing",
  ]);
});

test("a policy that cannot be played is named, and harms no other", async () => {
  const touchy = bare();
  const { start } = touchy;
  const environment: Environment = {
    ...touchy,
    start: async (task, seed) => {
      const episode = await start(task, seed);
      return {
        ...episode,
        reply: (message) => {
          if (message.content === "Which one?") throw new Error("no questions");
          return episode.reply(message);
        },
      };
    },
  };
  const { policies, unchecked } = await checkEnvironment(environment, options);
  expect(policies.map(({ name }) => name)).not.toContain("always asks");
  expect(unchecked.filter((each) => each.startsWith("The policy"))).toEqual(
    expect.arrayContaining([
      expect.stringMatching(/^The policy "always asks": left out, since playing it failed: .*no questions/),
    ]),
  );
});

test("splits of other names, and without end, and none at all", async () => {
  const own = bare({
    splits: ["easy", "hard"],
    size: (split) => (split === "hard" ? Number.POSITIVE_INFINITY : 0),
    task: (_, i) => ({ id: `${i}`, request: { prompt: "a" } }) as never,
  });
  const report = await checkEnvironment(own, { ...options, tasks: 3 });
  expect(report).toMatchObject({ split: "hard", tasks: 3, sizes: { easy: 0, hard: null }, overlap: [] });
  expect(report.unchecked.slice(0, 5)).toEqual([
    "There is no train split.",
    "There is no validation split.",
    "There is no test split.",
    "There is no challenge split.",
    "There is no easy split.",
  ]);
  expect(report.unchecked).toContain("The overlap of splits needs a training split and another one.");
  await expect(checkEnvironment(bare({ size: () => 0 }), options)).rejects.toThrow('the environment "bare" has no tasks');
  await expect(checkEnvironment(bare(), { ...options, task: 1 } as never)).rejects.toThrow(/checkEnvironment.*task/);
});

test("a model is measured greedily, sampled and in groups, and its prompts by their tokens", async () => {
  const doing: string[] = [];
  const model = { engine: new TableEngine(lettersVocabulary), chat: lettersChat() };
  const report = await checkEnvironment(bare(), { ...options, model, onProgress: (what) => doing.push(what) });
  // u, the text, its end and a.
  expect(report.model).toMatchObject({ prompt: { mean: 4.5, longest: 5 }, attempts: 4, groupSize: 2 });
  // Without weights the most likely letter is the first, "a", without an end.
  expect(report.model?.greedy.mean).toBe(0);
  expect(report.model?.sampled.mean).toBeGreaterThanOrEqual(0);
  expect(doing.slice(-3)).toEqual(["the model at temperature 0", "the model at temperature 1", "groups of a training step"]);
  expect(report.unchecked).not.toContain("No model was measured.");
});

const group = (...rewards: readonly number[]) => ({
  id: "g",
  trajectories: rewards.map((reward) => ({ reward, scores: {}, stopReason: "done", turns: [] })) as never,
});
test("success is the mean of shares of groups, and a signal is in those whose rewards differ", () => {
  const groups = [group(1, 0, 0, 0), group(1, 1, 1, 1), group(0.5, 0.25, 0.5, 0.5)];
  expect(successIn(groups, 1).mean).toBeCloseTo(1.25 / 3, 12);
  expect(signalIn(groups, 1).mean).toBeCloseTo(2 / 3, 12);
  // The intervals are simulated, by the seed.
  const [shares, differ] = [
    [0.25, 1, 0],
    [1, 0, 1],
  ];
  for (const seed of [1, 2]) {
    expect(successIn(groups, seed)).toEqual(meanInterval(shares, { seed }));
    expect(signalIn(groups, seed)).toEqual(meanInterval(differ, { seed }));
  }
  expect(successIn(groups, 1)).not.toEqual(successIn(groups, 2));
});

test("a task that is another one the second time is named with its difference, once", async () => {
  let times = 0;
  const drawn = bare({
    task: (split, index) =>
      ({ id: `${split}/${index}`, request: { prompt: `${"a".repeat(40)}${index > 0 ? times++ : ""}` } }) as never,
  });
  const whole = bare({ task: (_, index) => ({ id: `${index}`, request: { prompt: "a", big: BigInt(index) } }) as never });
  expect(await findUnrepeatable(whole, "test", limits)).toEqual([]);
  const found = await findUnrepeatable(drawn, "test", limits);
  expect(found).toHaveLength(1);
  expect(found[0]).toMatch(
    /^Task 1 of test is another one the second time: ….{1,60}… and then ….{1,60}…\. Draw tasks from the random numbers given\.$/,
  );
  expect(found[0]).toMatch(/a0"\}\}….*a1"\}\}…/);
});

test("an episode that is another one the second time is named with its message", async () => {
  let starts = 0;
  const shared = bare();
  const { start } = shared;
  const counting: Environment = {
    ...shared,
    start: async (task, seed) => ({ ...(await start(task, seed)), score: () => ({ reward: 0, scores: { n: starts++ } }) }),
  };
  expect(await findUnrepeatable(counting, "test", limits)).toEqual([
    expect.stringMatching(
      /^The episode of task 0 of test is another one the second time, from message 2 on: ….*"n":0\}\}… and then ….*"n":2\}\}…\. Make all state inside of start\(\), and draw from its random numbers\.$/,
    ),
  ]);
  expect(await findUnrepeatable(bare(), "test", limits)).toEqual([]);
});
