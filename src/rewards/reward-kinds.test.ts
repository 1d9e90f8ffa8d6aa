import { expect, test } from "vitest";
import { parseSettings } from "../core/settings.ts";
import type { Trajectory } from "../core/trajectory.ts";
import { applyRewards } from "./compose.ts";
import { refuseKeys, rewardsSchema } from "./config.ts";
import { createRewards } from "./create.ts";
import { episode, groupOf, quiet } from "./episodes.fixture.ts";
import { addRewards, rewardKinds } from "./kinds.ts";
import { defineReward, type FinishedEpisode, lastAnswer, type Reward, RewardError, type RewardPart } from "./reward.ts";

const parts = (rewards: unknown, code: readonly Reward[] = [], timeoutMs = 60_000) =>
  createRewards(parseSettings(rewardsSchema, rewards, "rewards"), { code, limits: {}, timeoutMs, folder: "none", env: {} });
const compare = (name = "best") => [{ kind: "compare", name }];
const verifiable = [{ kind: "verifiable", name: "right" }];
const played = () => [groupOf("a", [episode({ reward: 1 }), episode({ says: "8" })]), groupOf("b", [episode({})])];

test("a reward from code sees the whole episode, and is given a signal", async () => {
  const seen: FinishedEpisode[] = [];
  const signals: unknown[] = [];
  const right = defineReward({
    name: "right",
    verify: (given, { signal }) => {
      seen.push(given);
      signals.push(signal?.aborted);
      return given.answer === "7";
    },
  });
  const [first] = played();
  const { groups } = await applyRewards(parts(verifiable, [right]), [first], [{ id: "task of a" }], quiet);
  const { turns, ...shown } = first.trajectories[1] as Trajectory;
  expect(seen[1]).toEqual({
    ...{ task: { id: "task of a" }, answer: "8", conversation: shown.messages, reward: 0, scores: {}, stopReason: "done" },
    trajectory: { ...shown, turns },
  });
  expect(signals).toEqual([false, false]);
  expect(groups[0]?.trajectories.map(({ reward }) => reward)).toEqual([1, 0]);
});

test("an answer that does not come in time leaves its group out, with a warning and a count", async () => {
  const warned: string[] = [];
  const scored: number[] = [];
  const slow = defineReward({
    name: "best",
    compare: (group) => (group.length > 1 ? new Promise<never>(() => {}) : [0.5]),
  });
  const context = { ...quiet, warn: (text: string) => warned.push(text), onScored: (count: number) => scored.push(count) };
  const { metrics, scored: learned } = await applyRewards(parts(compare(), [slow], 5), played(), [], context);
  expect(warned).toEqual(['reward "best": group a is left out of the update: no answer within 5 ms (rollout.episodeTimeoutMs)']);
  expect(metrics).toEqual({ "reward/late": 1, reward: 0.5 });
  expect(learned.map(({ id }) => id)).toEqual(["b"]);
  expect(scored).toEqual([2, 1, 0]);
  await expect(applyRewards(parts(compare(), [slow], 5), played().slice(0, 1), [], quiet)).rejects.toThrow(
    new RewardError("best", "given to no group of this step", {
      expected: "at least one group that could be scored",
      hint: "The step would teach nothing. The warnings before this message say why each group was left out.",
    }),
  );
  const both = parts([{ kind: "environment" }, ...compare()], [slow], 5);
  await expect(applyRewards(both, played().slice(0, 1), [], quiet)).rejects.toThrow('reward "environment + best"');
  await expect(applyRewards(parts(compare(), [slow], 5), [], [], quiet)).resolves.toEqual({
    groups: [],
    scored: [],
    metrics: {},
  });
});

test("a reward that throws or gives no number ends the step, with its name and the group or the episode", async () => {
  const broken = new Error("no key");
  const thrown = (error: unknown) => [
    defineReward({
      name: "right",
      verify: () => {
        throw error;
      },
    }),
  ];
  const failing = applyRewards(parts(verifiable, thrown(broken)), played(), [], quiet);
  await expect(failing).rejects.toThrow(
    'reward "right" is no key; expected numbers for the episodes of group a. ' +
      "The function threw. Episodes that it cannot score should get a number that says so.",
  );
  await expect(failing).rejects.toMatchObject({ cause: broken });
  await expect(applyRewards(parts(verifiable, thrown("text")), played(), [], quiet)).rejects.toThrow('reward "right" is "text"');
  const giving = (values: unknown) =>
    applyRewards(parts(compare(), [defineReward({ name: "best", compare: () => values as never })]), played(), [], quiet);
  await expect(giving([1])).rejects.toThrow('reward "best" is "1 numbers"; expected 2: one for each episode of the group.');
  await expect(giving([1, "x"])).rejects.toThrow('reward "best" is "x"; expected a finite number for trajectory a/1.');
  await expect(giving([Number.NaN, 1])).rejects.toThrow('reward "best" is NaN; expected a finite number for trajectory a/0.');
  await expect(giving([1, undefined])).rejects.toThrow('reward "best" is missing; expected a finite number for trajectory a/1.');
  const words = [defineReward({ name: "right", verify: () => "yes" as never })];
  await expect(applyRewards(parts(verifiable, words), played(), [], quiet)).rejects.toThrow('reward "right" is "yes"');
});

test("an interruption ends the scoring with its reason, while a reward is asked and after it", async () => {
  for (const when of ["before", "within"]) {
    const stop = new AbortController();
    const reason = new Error("enough");
    const right = defineReward({
      name: "right",
      verify: () => {
        if (when === "within") stop.abort(reason);
        return 1;
      },
    });
    if (when === "before") stop.abort(reason);
    const scoring = applyRewards(parts(verifiable, [right]), played(), [], { ...quiet, signal: stop.signal });
    await expect(scoring).rejects.toBe(reason);
  }
});

test("rewards of turns count as the environment's part does", async () => {
  const [group] = played();
  const turns = [0.25, undefined].map((reward, turn) => ({
    ...(group.trajectories[0] as Trajectory).turns[0],
    ...{ turn, ...(reward === undefined ? {} : { reward }) },
  })) as Trajectory["turns"];
  const rewarded = [{ ...group, trajectories: [{ ...(group.trajectories[0] as Trajectory), turns }] }];
  const rewardsOf = async (list: readonly RewardPart[]) =>
    (await applyRewards(list, rewarded, [], quiet)).groups[0]?.trajectories[0]?.turns.map((turn) => [
      "reward" in turn,
      turn.reward,
    ]);
  expect(await rewardsOf(parts([{ kind: "environment", weight: 2 }]))).toEqual([
    [true, 0.5],
    [false, undefined],
  ]);
  for (const list of [[{ kind: "environment", weight: 0 }, { kind: "format" }], [{ kind: "format" }]])
    expect(await rewardsOf(parts(list))).toEqual([
      [false, undefined],
      [false, undefined],
    ]);
  const odd = { name: "odd", weight: 1, isCost: false };
  const left = { ...odd, score: () => ({ values: [undefined, [1]], metrics: { odd: 2, none: null } }) };
  const two = await applyRewards([...parts([{ kind: "environment" }]), left], [...rewarded, ...played().slice(1)], [], quiet);
  expect(two.groups[0]?.trajectories[0]?.turns.some((turn) => "reward" in turn)).toBe(false);
  expect(two.metrics).toEqual({ odd: 2, none: 0, reward: 1 });
});

test("metrics of parts are added up, and the mean reward is that of scored episodes", async () => {
  const counting = (name: string, metrics: Record<string, number>): RewardPart => ({
    ...{
      name,
      weight: 1,
      isCost: false,
      score: (groups) => ({ values: groups.map(({ trajectories }) => trajectories.map(() => 2)), metrics }),
    },
  });
  const groups = [groupOf("a", [episode({}), episode({ stopReason: "cancelled" })])];
  const { metrics, groups: rewarded } = await applyRewards(
    [counting("x", { n: 1 }), counting("y", { n: 2, m: 3 })],
    groups,
    [],
    quiet,
  );
  expect(metrics).toEqual({ n: 3, m: 3, reward: 4 });
  expect(rewarded[0]?.trajectories.map(({ reward, scores }) => [reward, scores])).toEqual([
    [4, { "reward:environment": 0, "reward:x": 2, "reward:y": 2 }],
    [0, { "reward:environment": 0, "reward:x": 0, "reward:y": 0 }],
  ]);
});

test("a part sees the groups by their tasks; one whose task is not known has its id alone", async () => {
  const seen: unknown[] = [];
  const looking: RewardPart = {
    ...{ name: "x", weight: 1, isCost: true },
    score: (groups) => {
      seen.push(...groups.map(({ id, task, trajectories }) => [id, task, trajectories.length]));
      return { values: groups.map(({ trajectories }) => trajectories.map(() => 0)) };
    },
  };
  const known = { id: "task of a", answer: 3 };
  const groups = [...played(), { id: "empty", trajectories: [] }];
  await applyRewards([looking], groups, [known], quiet);
  expect(seen).toEqual([
    ["a", known, 2],
    ["b", { id: "task of b" }, 1],
    ["empty", { id: "empty" }, 0],
  ]);
});

test("the last answer is the model's last message, and nothing where it wrote none", () => {
  const of = (messages: Trajectory["messages"]) => lastAnswer({ messages } as Trajectory);
  expect(
    of([
      { role: "assistant", content: "a" },
      { role: "assistant", content: "b" },
      { role: "user", content: "c" },
    ]),
  ).toBe("b");
  expect(of([{ role: "user", content: "c" }])).toBe("");
});

test("a kind that an extension adds is opened for all rewards of its kind, each by its place", () => {
  const opened: unknown[] = [];
  const kind = {
    settings: (rewardKinds.get("environment") as NonNullable<ReturnType<typeof rewardKinds.get>>).settings,
    open: (configs: unknown) => {
      opened.push(configs);
      return (_: unknown, index: number) => ({ score: () => ({ values: [[index]] }) });
    },
  };
  const before = rewardKinds.get("environment");
  addRewards({ environment: kind as never });
  const configs = [
    { kind: "format", weight: 1, toolCalls: true, tags: [] },
    { kind: "environment", weight: 3 },
  ] as never[];
  const made = createRewards(configs, { code: [], limits: {}, timeoutMs: 1, folder: "", env: {} });
  addRewards({ environment: before as never });
  expect(opened).toEqual([[configs[1]]]);
  expect(made.map(({ name, weight, isCost }) => [name, weight, isCost])).toEqual([
    ["format", 1, false],
    ["environment", 3, false],
  ]);
  expect(made[1]?.score([], quiet)).toEqual({ values: [[1]] });
});

test("names, weights, tags and costs are what their kinds allow", () => {
  const refused = (reward: object) => {
    try {
      parseSettings(rewardsSchema, [{ kind: "environment" }, reward], "rewards");
    } catch (error) {
      return (error as Error).message;
    }
    return "accepted";
  };
  const cases: readonly (readonly [object, string])[] = [
    [{ kind: "format", name: "a.b-c_1" }, "accepted"],
    [{ kind: "format", name: "a b" }, 'rewards.1.name is "a b"; expected a name of letters, digits, _, . and -.'],
    [{ kind: "format", name: "environment" }, expect.stringContaining('a name that no other reward has: "environment" is taken')],
    [{ kind: "format", tags: ["plan1"] }, "accepted"],
    [{ kind: "format", tags: ["<plan>"] }, 'rewards.1.tags.0 is "<plan>"; expected a tag\'s name, without brackets.'],
    [{ kind: "length", free: 0, perToken: 0.1 }, "accepted"],
    [{ kind: "length", free: -1, perToken: 0.1 }, "rewards.1.free is -1; expected at least 0."],
    [{ kind: "length", free: 0, perToken: 0 }, "rewards.1.perToken is 0; expected more than 0."],
    [{ kind: "length", free: 0, perToken: 1, cap: 0 }, "rewards.1.cap is 0; expected more than 0."],
    [{ kind: "tool-cost", perCall: 0.1 }, "accepted"],
    [{ kind: "tool-cost", tools: { find: 0.1 } }, "accepted"],
    [{ kind: "tool-cost", tools: { find: 0 } }, expect.stringContaining("a cost: perCall, or of a tool")],
    [{ kind: "tool-cost", perCall: -1 }, "rewards.1.perCall is -1; expected at least 0."],
    [{ kind: "tool-cost", tools: { find: -1 } }, "rewards.1.tools.find is -1; expected at least 0."],
  ];
  expect(cases.map(([reward]) => refused(reward))).toEqual(cases.map(([, message]) => message));
  expect(parseSettings(rewardsSchema, [{ kind: "environment" }, { kind: "length", free: 1, perToken: 2 }], "")).toEqual([
    { kind: "environment", weight: 1 },
    { kind: "length", weight: 1, free: 1, perToken: 2, cap: 1 },
  ]);
});

test("a group without an episode to look at is not asked of", async () => {
  const seen: number[] = [];
  const best = defineReward({
    name: "best",
    compare: (group) => {
      seen.push(group.length);
      return group.map(() => 1);
    },
  });
  const groups = [groupOf("a", [episode({ stopReason: "environment-error" })]), groupOf("b", [episode({})])];
  const { groups: rewarded } = await applyRewards(parts(compare(), [best]), groups, [], quiet);
  expect(seen).toEqual([1]);
  expect(rewarded.map(({ trajectories }) => trajectories[0]?.reward)).toEqual([0, 1]);
});

test("what may be a key is refused by the place where it is, with where keys belong", () => {
  const refused = (reward: object) => {
    try {
      refuseKeys([{ kind: "environment" }, reward]);
    } catch (error) {
      return (error as Error).message;
    }
    return "accepted";
  };
  const message = (setting: string, expected: string) =>
    `rewards.1.${setting} is "(not shown)"; expected ${expected}. ` +
    "Put the key into an environment variable, and that variable's name into apiKeyEnv.";
  const none = [
    "apiKey",
    "api_key",
    "API-KEY",
    "key",
    "token",
    "authToken",
    "accessSecret",
    "secretPassword",
    "header",
    "headers",
    "Authorization",
  ];
  expect(none.map((setting) => refused({ [setting]: 5 }))).toEqual(
    none.map((setting) => message(setting, "no setting of this name")),
  );
  expect(["keys", "myKey", "tokens", "keyword", "weight"].map((setting) => refused({ [setting]: "x" }))).toEqual(
    Array(5).fill("accepted"),
  );
  const variable = message("apiKeyEnv", "the name of an environment variable, in capitals");
  expect(["sk-1", "key", "1KEY", "MY KEY", ""].map((apiKeyEnv) => refused({ apiKeyEnv }))).toEqual(Array(5).fill(variable));
  expect(["MY_KEY_1", "_K", null].map((apiKeyEnv) => refused({ apiKeyEnv }))).toEqual(Array(3).fill("accepted"));
  const url = message("baseUrl", "a URL without user, password and query");
  expect(
    ["https://me@x.example", "https://:p@x.example", "https://x.example/?a=1"].map((baseUrl) => refused({ baseUrl })),
  ).toEqual(Array(3).fill(url));
  expect(["https://x.example/v1", "no address"].map((baseUrl) => refused({ baseUrl }))).toEqual(Array(2).fill("accepted"));
  expect(() => refuseKeys({ apiKey: "x" })).toThrow("rewards.0.apiKey");
  for (const nothing of [undefined, null, "text", [null, "text"]]) expect(() => refuseKeys(nothing)).not.toThrow();
});
