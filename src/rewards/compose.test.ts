import fc from "fast-check";
import { expect, test } from "vitest";
import { real } from "../../test/reals.ts";
import { parseSettings } from "../core/settings.ts";
import type { StopReason } from "../core/trajectory.ts";
import { applyRewards } from "./compose.ts";
import { rewardsSchema } from "./config.ts";
import { createRewards } from "./create.ts";
import { episode, groupOf, quiet } from "./episodes.fixture.ts";
import type { RewardConfig } from "./kinds.ts";
import { defineReward, type Reward, RewardError } from "./reward.ts";

const configured = (rewards: unknown): RewardConfig[] => parseSettings(rewardsSchema, rewards, "rewards");
const parts = (rewards: unknown, code: readonly Reward[] = []) =>
  createRewards(configured(rewards), { code, limits: {}, timeoutMs: 60_000, folder: "not-used", env: {} });
const rewardsOf = async (...args: Parameters<typeof applyRewards>) =>
  (await applyRewards(...args)).groups.map(({ trajectories }) => trajectories.map(({ reward }) => reward));

const reward = real(-10, 10);
const groups = fc.array(fc.array(reward, { minLength: 1, maxLength: 5 }), { minLength: 1, maxLength: 4 }).map((all) =>
  all.map((rewards, g) =>
    groupOf(
      `g${g}`,
      rewards.map((value) => episode({ reward: value })),
    ),
  ),
);

test("without rewards nothing is touched: the groups are the very same objects", async () => {
  const played = [groupOf("g", [episode({ reward: 0.3 }), episode({ reward: 1 })])];
  const { groups, scored, metrics } = await applyRewards([], played, [], quiet);
  expect(groups).toBe(played);
  expect(scored).toBe(played);
  expect(metrics).toEqual({});
});

test("the environment alone, with weight 1, is every reward bit for bit", async () => {
  await fc.assert(
    fc.asyncProperty(groups, async (played) => {
      const composed = await rewardsOf(parts([{ kind: "environment" }]), played, [], quiet);
      expect(composed).toEqual(played.map(({ trajectories }) => trajectories.map(({ reward }) => reward + 0)));
    }),
  );
});

test("the reward is the weighted sum of the parts that the scores show", async () => {
  const weight = real(-3, 3);
  await fc.assert(
    fc.asyncProperty(groups, weight, weight, weight, async (played, a, b, c) => {
      const code = [
        defineReward({ name: "words", weight: b, verify: ({ answer }) => answer.length }),
        defineReward({ name: "rank", weight: c, compare: (group) => group.map((_, i) => i) }),
      ];
      const list = [
        { kind: "environment", weight: a },
        { kind: "verifiable", name: "words", weight: b },
        { kind: "compare", name: "rank", weight: c },
      ];
      const { groups: composed } = await applyRewards(parts(list, code), played, [], quiet);
      for (const [g, { trajectories }] of composed.entries())
        for (const [i, { reward, scores }] of trajectories.entries()) {
          expect(scores["reward:environment"]).toBe(played[g].trajectories[i].reward);
          expect(scores["reward:rank"]).toBe(i);
          const sum = a * scores["reward:environment"] + b * scores["reward:words"] + c * scores["reward:rank"];
          expect(reward).toBeCloseTo(sum, 12);
        }
    }),
  );
});

test("the order of parts changes no reward, and a part of weight 0 is measured without moving one", async () => {
  const played = [groupOf("g", [episode({ reward: 1, actions: [4, 3] }), episode({ reward: 0, calls: ["find", "find"] })])];
  const list = [
    { kind: "environment" },
    { kind: "length", free: 2, perToken: 0.01 },
    { kind: "tool-cost", perCall: 0.1, weight: 0 },
  ];
  const forward = await applyRewards(parts(list), played, [], quiet);
  const backward = await rewardsOf(parts([...list].reverse()), played, [], quiet);
  expect(forward.groups[0].trajectories.map(({ reward }) => reward)).toEqual(backward[0]);
  expect(backward[0]).toEqual([1 - 0.05, 0]);
  expect(forward.groups[0].trajectories[1].scores["reward:tool-cost"]).toBeCloseTo(-0.2);
});

test("what the environment gave is kept where it does not count", async () => {
  const played = [groupOf("g", [episode({ reward: 1 })])];
  const [[{ reward, scores }]] = (await applyRewards(parts([{ kind: "format" }]), played, [], quiet)).groups.map(
    ({ trajectories }) => trajectories,
  );
  expect(reward).toBe(1);
  expect(scores).toMatchObject({ "reward:environment": 1, "reward:format": 1 });
});

test.each<[StopReason]>([["environment-error"], ["environment-timeout"], ["invalid-reward"], ["cancelled"], ["max-tokens"]])(
  "an episode that failed (%s) earns nothing and pays its costs",
  async (stopReason) => {
    const failed = episode({ reward: 0, stopReason, error: "it broke", actions: [10], calls: ["find"] });
    const seen: string[] = [];
    const code = [
      defineReward({
        name: "seen",
        verify: ({ trajectory }) => {
          seen.push(trajectory.stopReason);
          return true;
        },
      }),
    ];
    const list = [
      { kind: "environment" },
      { kind: "format" },
      { kind: "verifiable", name: "seen" },
      { kind: "length", free: 0, perToken: 0.01 },
      { kind: "tool-cost", perCall: 0.1 },
    ];
    const [[bad, good]] = await rewardsOf(
      parts(list, code),
      [groupOf("g", [failed, episode({ reward: 0, actions: [10] })])],
      [],
      quiet,
    );
    expect(seen).toEqual(["done"]);
    expect(bad).toBeCloseTo(-0.1 - 0.1);
    expect(good).toBeCloseTo(0 + 1 + 1 - 0.1);
  },
);

test("limits that an environment means are no failures", async () => {
  const ended = [episode({ reward: 0.5, stopReason: "max-turns" }), episode({ reward: 0.25, stopReason: "max-tokens" })];
  expect(await rewardsOf(parts([{ kind: "environment" }, { kind: "format" }]), [groupOf("g", ended)], [], quiet)).toEqual([
    [1.5, 1.25],
  ]);
});

test("a reward from code sees the environment's own task", async () => {
  interface Sum {
    readonly id: string;
    readonly answer: number;
  }
  const right = defineReward<Sum>({ name: "right", verify: ({ task, answer }) => answer === String(task.answer) });
  const played = [groupOf("g", [episode({ says: "7" }), episode({ says: "8" })], "sum/1")];
  const tasks: Sum[] = [
    { id: "sum/0", answer: 7 },
    { id: "sum/1", answer: 8 },
  ];
  expect(await rewardsOf(parts([{ kind: "verifiable", name: "right" }], [right]), played, tasks, quiet)).toEqual([[0, 1]]);
});

test.each([
  ["NaN", defineReward({ name: "bad", verify: () => Number.NaN }), "finite number"],
  ["too few numbers", defineReward({ name: "bad", compare: () => [1] }), "one for each episode"],
  [
    "an exception",
    defineReward({
      name: "bad",
      verify: () => {
        throw new Error("no such answer");
      },
    }),
    "no such answer",
  ],
])("a reward from code that gives %s stops with its name", async (_, code, said) => {
  const kind = "compare" in code ? "compare" : "verifiable";
  const scoring = applyRewards(parts([{ kind, name: "bad" }], [code]), [groupOf("g", [episode({}), episode({})])], [], quiet);
  await expect(scoring).rejects.toThrow(RewardError);
  await expect(scoring).rejects.toThrow('reward "bad"');
  await expect(scoring).rejects.toThrow(said);
});

test("groups that a part cannot score are left out, with equal rewards; none at all is an error", async () => {
  const odd = { name: "odd", weight: 1, isCost: false };
  const played = [groupOf("a", [episode({ reward: 1 }), episode({ reward: 0 })]), groupOf("b", [episode({ reward: 1 })])];
  const score = (left: number) => () => ({
    values: played.map((group, i) => (i < left ? undefined : group.trajectories.map(() => 1))),
  });
  const environment = parts([{ kind: "environment" }]);
  const { groups, scored, metrics } = await applyRewards([...environment, { ...odd, score: score(1) }], played, [], quiet);
  expect(groups.map(({ trajectories }) => trajectories.map(({ reward }) => reward))).toEqual([[0, 0], [2]]);
  expect(groups[0].trajectories[0].scores).toEqual({ "reward:environment": 1 });
  expect(scored.map(({ id }) => id)).toEqual(["b"]);
  expect(metrics.reward).toBe(2);
  await expect(applyRewards([{ ...odd, score: score(2) }], played, [], quiet)).rejects.toThrow("no group of this step");
});

test("every part reports each episode once, whether it reports or not", async () => {
  let scored = 0;
  const code = [defineReward({ name: "told", verify: () => 1 })];
  const played = [groupOf("a", [episode({}), episode({ stopReason: "environment-error" })])];
  const onScored = (count: number) => {
    scored += count;
  };
  await applyRewards(parts([{ kind: "environment" }, { kind: "verifiable", name: "told" }], code), played, [], {
    ...quiet,
    onScored,
  });
  expect(scored).toBe(4);
});
