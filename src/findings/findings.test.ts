import "../../test/office.ts";
import { expect, test } from "vitest";
import type { Message } from "../core/messages.ts";
import type { Group, Trajectory, Turn } from "../core/trajectory.ts";
import { wholeContext } from "../core/whole-context.ts";
import type { EvaluationRecord, StepRecord } from "../runs/records.ts";
import { resolveConfig } from "../training/config/config.ts";
import type { UserConfig } from "../training/config/user-config.ts";
import { causeOf } from "./cause.ts";
import { requireMeasured, requireWorkingEnvironment } from "./environment-faults.ts";
import { evaluationWarnings, stepWarnings } from "./findings.ts";
import type { StepFacts } from "./rule.ts";

interface Shape extends Partial<Omit<Trajectory, "turns">> {
  readonly turns?: readonly Partial<Turn>[];
  /** Names of tools called in one message, with the answer to each. */
  readonly calls?: readonly string[];
  readonly answers?: string;
}

const turnOf = (turn: Partial<Turn>, index: number): Turn => ({
  ...{ trajectory: "t", turn: index, context: [1], action: [2], samplerLogprobs: [-1], entropies: [1], weightVersion: 0 },
  ...{ truncated: false, rewritten: false, toolCalls: 0, invalidToolCalls: 0, ...turn },
});

const episodes = (...shapes: readonly Shape[]): Trajectory[] =>
  shapes.map(({ turns = [{ toolCalls: 1 }], calls = [], answers = "found", ...rest }, i) => ({
    ...{ id: `e${i}`, group: "g", task: `task ${i}`, reward: i % 2, scores: {}, stopReason: "done" },
    messages: [
      { role: "user", content: "?" },
      ...(calls.length === 0
        ? []
        : [{ role: "assistant", content: "", toolCalls: calls.map((name) => ({ name, arguments: {} })) }]),
      ...calls.map((name) => ({ role: "tool", name, content: answers })),
    ] as Message[],
    ...rest,
    turns: turns.map(turnOf),
  }));
const times = (count: number, shape: Shape | ((i: number) => Shape)) =>
  Array.from({ length: count }, (_, i) => (typeof shape === "function" ? shape(i) : shape));

const facts = (trajectories: readonly Trajectory[], tools: readonly string[] = [], changes: UserConfig = {}) => ({
  ...{ trajectories, tools, config: resolveConfig({ algorithm: "grpo" }, changes) },
});
const found = (shapes: readonly Shape[], tools?: readonly string[], changes?: UserConfig) =>
  evaluationWarnings("after", facts(episodes(...shapes), tools, changes));
const ruleOf = (rule: string, warnings: ReturnType<typeof found>) => warnings.find((warning) => warning.rule === rule);

test("episodes that differ and call their tools have no warnings, and no episodes have none", () => {
  expect(
    found(
      times(8, (i) => ({ reward: i % 3 })),
      ["find"],
    ),
  ).toEqual([]);
  expect(found([], ["find"])).toEqual([]);
});

test("an episode that the environment broke is counted, with its error's text and its first example", () => {
  const warning = ruleOf(
    "environment-faults",
    found([{}, { stopReason: "environment-error", error: "no such table. " }, { stopReason: "invalid-reward" }]),
  );
  expect(warning?.cause).toBe("2 of 3 episodes failed by the environment's fault: environment-error, no such table.");
  expect(warning?.example).toBe("e1");
  expect(ruleOf("environment-faults", found([{}, { stopReason: "cancelled" }]))?.cause).toMatch(/1 of 2 .*: cancelled\.$/);
});

test("an agent's own error behind an answer is its warning; before any answer it is the environment's", () => {
  const warnings = found([{}, { stopReason: "agent-error", error: `no JSON${"!".repeat(300)}` }]);
  const warning = ruleOf("agent-errors", warnings);
  expect(warning).toMatchObject({ example: "e1", cause: expect.stringMatching(/^In 1 of 2 episodes .*: no JSON!{193}\.$/) });
  expect(warnings.map(({ rule }) => rule)).toEqual(["agent-errors"]);
  const before = found([{}, { stopReason: "agent-error", error: "no key", turns: [] }]);
  expect(before.map(({ rule }) => rule)).toEqual(["environment-faults"]);
});

test("agents that the endpoint refused are found by their score or by their error", () => {
  const warning = ruleOf(
    "refused-requests",
    found([
      { scores: { "agent.refused": 0 } },
      { scores: { "agent.refused": 2 } },
      { error: "the model's endpoint refused n=2. " },
    ]),
  );
  expect(warning).toMatchObject({ example: "e1", cause: "2 of 3 agents were refused: no reason is known." });
  expect(ruleOf("refused-requests", found([{ error: "the model's endpoint refused n=2. " }, {}]))?.cause).toBe(
    "1 of 2 agents were refused: the model's endpoint refused n=2.",
  );
  expect(ruleOf("refused-requests", found([{ error: "something else" }, { scores: { "agent.refused": 0 } }]))).toBeUndefined();
});

test.each<[string, readonly (number | undefined)[], string | undefined]>([
  [
    "one makes half of them and another none",
    [3, 2, 1, 0],
    "One of the 4 agents of a task made 3 of their 6 requests, and 1 made none.",
  ],
  ["one makes all", [0, 6, 0, 0], "One of the 4 agents of a task made 6 of their 6 requests, and 3 made none."],
  ["less than half", [3, 3, 1, 0], undefined],
  ["each makes one", [9, 1, 1, 1], undefined],
  ["three agents are too few", [6, 0, 0], undefined],
  ["fewer requests than agents", [3, 0, 0, 0], undefined],
  ["no agent counts requests", [undefined, undefined, undefined, undefined], undefined],
  [
    "turns count where an agent has no scores",
    [4, 0, 0, undefined],
    "One of the 4 agents of a task made 4 of their 5 requests, and 2 made none.",
  ],
])("requests of a group: %s", (_, requests, cause) => {
  const shapes = requests.map((count) => ({ scores: count === undefined ? {} : { "agent.requests": count } }) as Shape);
  const warning = ruleOf("uneven-requests", found(shapes));
  expect(warning?.cause).toBe(cause);
  if (warning !== undefined)
    expect(warning.example).toBe(`e${requests.indexOf(Math.max(...requests.map((count) => count ?? 1)))}`);
});

test("requests are compared within their group alone", () => {
  const shapes = [8, 0, 0, 0].map((count, i) => ({ group: i === 0 ? "a" : "b", scores: { "agent.requests": count } }));
  expect(ruleOf("uneven-requests", found(shapes))).toBeUndefined();
});

test("no call of a tool is found where there are tools and turns, and a wrong call is one", () => {
  const silent = times(3, { turns: [{}] });
  const warning = ruleOf("no-tool-calls", found(silent, ["find", "open"]));
  expect(warning).toMatchObject({ example: "e0", cause: "No tool was called in 3 episodes, although there are 2: find, open." });
  expect(ruleOf("no-tool-calls", found(silent, []))).toBeUndefined();
  expect(ruleOf("no-tool-calls", found([...silent, { turns: [{ invalidToolCalls: 1 }] }], ["find"]))).toBeUndefined();
  expect(ruleOf("no-tool-calls", found([...silent, { turns: [{ toolCalls: 1 }] }], ["find"]))).toBeUndefined();
  expect(ruleOf("no-tool-calls", found(times(3, { turns: [] }), ["find"]))).toBeUndefined();
  expect(ruleOf("no-tool-calls", found([{ turns: [] }, { turns: [{}] }], ["find"]))).toBeDefined();
});

test.each<[string, Shape, UserConfig, RegExp | undefined, RegExp]>([
  [
    "turns",
    { stopReason: "max-turns" },
    { rollout: { maxTurns: 7 } },
    /90 %.*by max-turns: .*limit of 7 turns/,
    /Raise rollout\.maxTurns/,
  ],
  [
    "tokens of an action",
    { stopReason: "max-tokens", turns: [{}, { truncated: true }] },
    { rollout: { maxTokens: 9 } },
    /by max-tokens: an action reaches the limit of 9 tokens/,
    /Raise rollout\.maxTokens/,
  ],
  [
    "the conversation",
    { stopReason: "max-tokens", turns: [{ truncated: true }, {}] },
    {},
    /by max-tokens: the conversation reaches the model's longest sequence/,
    /Shorten prompts/,
  ],
  [
    "an action without a limit of its own",
    { stopReason: "max-tokens", turns: [{ truncated: true }] },
    { rollout: { maxTokens: wholeContext } },
    /longest sequence/,
    /Shorten prompts/,
  ],
  ["a good end", { stopReason: "done" }, {}, undefined, /./],
])("nine of ten episodes cut off at one limit: %s", (_, shape, changes, cause, next) => {
  const warning = ruleOf("one-bad-end", found([{}, ...times(9, shape)], [], changes));
  if (cause === undefined) return expect(warning).toBeUndefined();
  expect(warning).toMatchObject({ cause: expect.stringMatching(cause), next: expect.stringMatching(next), example: "e1" });
  expect(ruleOf("one-bad-end", found([{}, {}, ...times(9, shape)], [], changes))).toBeUndefined();
});

test("half of the cut actions are not enough to blame the action's limit", () => {
  const cut = { stopReason: "max-tokens", turns: [{ truncated: true }] } as const;
  const whole = { stopReason: "max-tokens", turns: [{}] } as const;
  expect(ruleOf("one-bad-end", found([cut, whole]))?.next).toMatch(/Shorten prompts/);
  expect(ruleOf("one-bad-end", found([cut, cut, whole]))?.next).toMatch(/Raise rollout\.maxTokens/);
});

test("one answer to all tasks is named after training, where it earns less than the best in a fifth of its episodes", () => {
  const constant = (count: number, failed: number, tasks = count) =>
    times(count, (i) => ({ calls: ["find", "open"], reward: i < failed ? 0 : 1, task: `task ${i % tasks}` }));
  const warning = ruleOf("one-behaviour", found(constant(20, 4)));
  expect(warning).toMatchObject({
    example: "e0",
    cause: expect.stringMatching(
      /^20 of 20 episodes, of 20 tasks, call the same tools in the same order \(find, open\), and 20 % of/,
    ),
  });
  expect(ruleOf("one-behaviour", found(constant(20, 3)))).toBeUndefined(); // mostly right
  expect(ruleOf("one-behaviour", found(constant(20, 4, 15)))).toBeUndefined(); // too few tasks
  expect(ruleOf("one-behaviour", found(constant(20, 4, 16)))).toBeDefined();
  const others = times(1, { calls: ["open", "find"], task: "other", reward: 1 });
  expect(ruleOf("one-behaviour", found([...others, ...constant(19, 4)]))?.cause).toMatch(/^19 of 20 .*find, open/);
  expect(ruleOf("one-behaviour", found([...others, ...others, ...constant(18, 4)]))).toBeUndefined();
  const single = times(20, (i) => ({ calls: ["find", "find"], reward: i % 2 }));
  expect(ruleOf("one-behaviour", found(single))).toBeUndefined();
  expect(ruleOf("one-behaviour", evaluationWarnings("before", facts(episodes(...constant(20, 4)))))).toBeUndefined();
});

const failing = (kinds: readonly ("error" | "timeout" | "invalid" | "lost")[], more = 0): Shape => ({
  calls: Array.from({ length: kinds.length + more }, () => "find"),
  answers: `Error: ${"x".repeat(300)}`,
  turns: [{ toolCalls: 1, toolFailures: kinds.map((kind) => ({ tool: "find", kind })) }],
});

test.each<[string, Shape, RegExp | undefined, RegExp]>([
  [
    "errors",
    failing(["error", "error", "error", "error", "error"]),
    /0 of 5 calls \(5 errors, 0 timeouts, 0 with wrong arguments\)/,
    /the model cannot learn/,
  ],
  [
    "timeouts",
    failing(["timeout", "timeout", "timeout", "error", "invalid"]),
    /\(1 errors, 3 timeouts, 1 with/,
    /raise its timeoutMs/,
  ],
  [
    "wrong arguments",
    failing(["invalid", "invalid", "invalid", "error", "timeout"]),
    /3 with wrong arguments/,
    /Compare the example's arguments/,
  ],
  [
    "no kind above half",
    failing(["invalid", "invalid", "invalid", "error", "timeout", "timeout"]),
    /6 calls/,
    /the model cannot learn/,
  ],
  ["one of twenty works", failing(Array<"error">(19).fill("error"), 1), /1 of 20 calls/, /./],
  ["two of twenty work", failing(Array<"error">(18).fill("error"), 2), undefined, /./],
  ["four calls are too few", failing(["error", "error", "error", "error"]), undefined, /./],
  ["a result that is not shown is one", failing(["lost", "lost", "lost", "lost", "lost"]), undefined, /./],
])("a tool that hardly works: %s", (_, shape, cause, next) => {
  const warning = ruleOf("failing-tool", found([{}, shape], ["open", "find"]));
  if (cause === undefined) return expect(warning).toBeUndefined();
  expect(warning).toMatchObject({ example: "e1", next: expect.stringMatching(next) });
  expect(warning?.cause).toMatch(cause);
  expect(warning?.cause).toMatch(/^The tool find .*Its first answer: Error: x{193}$/);
  expect(ruleOf("failing-tool", found([{}, shape], ["open"]))).toBeUndefined();
});

test("a result that JSON does not show is named once for each tool, the first of each", () => {
  const lost = (tool: string, what?: string) => ({ tool, kind: "lost" as const, ...(what === undefined ? {} : { lost: what }) });
  const warning = ruleOf(
    "lost-results",
    found([
      { turns: [{}, { toolFailures: [lost("open")] }] },
      {
        turns: [{ toolFailures: [lost("find", "a Promise"), lost("open", "a Map")] }, { toolFailures: [lost("find", "a Set")] }],
      },
    ]),
  );
  expect(warning?.example).toBe("e1");
  expect(
    warning?.cause
      .split("does not see.")
      .map((part) => part.trim())
      .filter(Boolean)
      .toSorted(),
  ).toEqual(["The tool find returned a Promise, which the model", "The tool open returned a Map, which the model"]);
  expect(ruleOf("lost-results", found([{ turns: [{ toolFailures: [lost("open")] }] }]))).toBeUndefined();
});

test("before training, a start at which all succeed is named, and demonstrations are for what fails", () => {
  const all = facts(episodes({ reward: 1 }, { reward: 0, scores: { success: 1 } }, { stopReason: "cancelled", reward: 0 }));
  expect(ruleOf("start-at-hundred", evaluationWarnings("before", all))).toMatchObject({
    cause: "Before training all 2 attempts succeed, so there is nothing to learn.",
    example: "e0",
  });
  expect(ruleOf("start-at-hundred", evaluationWarnings("after", all))).toBeUndefined();
  expect(
    ruleOf("start-at-hundred", evaluationWarnings("before", facts(episodes({ reward: 1 }, { reward: 0.9 })))),
  ).toBeUndefined();
  expect(ruleOf("start-at-hundred", evaluationWarnings("before", facts(episodes({ stopReason: "cancelled" }))))).toBeUndefined();
  const taught = facts(episodes({ reward: 1 }), [], { algorithm: { kind: "sft", data: "rows.jsonl" } });
  expect(evaluationWarnings("before", taught)).toEqual([]);
});

// Rules of steps.

type Metrics = StepRecord["metrics"];
const record = (step: number, metrics: Metrics = {}): StepRecord => ({ step, metrics });
const groupsOf = (...rewards: readonly (readonly number[])[]): Group[] =>
  rewards.map((own, g) => ({
    id: `g${g}`,
    trajectories: episodes(...own.map((reward, i) => ({ reward, id: `g${g}/${i}`, group: `g${g}` }))),
  }));
function step(groups: readonly Group[], more: Partial<StepFacts> = {}) {
  const trajectories = groups.flatMap((group) => group.trajectories);
  return stepWarnings({ ...facts(trajectories), trained: groups, record: record(2), before: [], history: [], ...more });
}
const constant = (value: number): Metrics => ({ rewardMin: value, rewardMax: value });

test("equal rewards are named in the first step, and as constant after three", () => {
  const half = groupsOf([0.5, 0.5], [0.5, 0.5]);
  expect(step(half)).toEqual([
    {
      rule: "equal-rewards",
      cause: "All 4 episodes have the reward 0.5, so this step learns nothing.",
      example: "g0/0",
      next: "Check that the reward depends on what the model did: read the example.",
    },
  ]);
  const history = [record(1, constant(0.5)), record(2, constant(0.5))];
  const lasting = { history, record: record(3, constant(0.5)) };
  expect(step(half, lasting).map(({ rule, cause }) => [rule, cause])).toEqual([
    ["constant-reward", "Every episode of the last 3 steps has the reward 0.5, so nothing is learned."],
  ]);
  for (const other of [{ rewardMin: 0.4, rewardMax: 0.5 }, { rewardMin: 0.5, rewardMax: 0.6 }, constant(0.4)])
    expect(step(half, { history: [record(1, other), record(2, constant(0.5))], record: record(3, constant(0.5)) })[0]?.rule).toBe(
      "equal-rewards",
    );
  expect(step(half, { ...lasting, history: history.slice(1) })[0]?.rule).toBe("equal-rewards");
  expect(step(half, { ...lasting, history: [record(0, constant(9)), ...history] })[0]?.rule).toBe("constant-reward");
  expect(step(groupsOf([1, 1]))[0]?.next).toMatch(/^Every episode succeeds/);
  expect(step(groupsOf([0, 0]))[0]?.next).toMatch(/begin with demonstrations/);
});

test("rewards that differ between tasks alone are no signal, for algorithms that compare within groups", () => {
  const apart = groupsOf([1, 1], [0, 0]);
  expect(step(apart).map(({ rule, example }) => [rule, example])).toEqual([["no-signal", "g0/0"]]);
  expect(step(groupsOf([1, 0], [0, 0]))).toEqual([]);
  const config = (changes: UserConfig) => ({ config: resolveConfig({ algorithm: "grpo" }, changes) });
  expect(
    step(
      apart,
      config({
        rollout: { groupSize: 1 },
        algorithm: { kind: "custom", advantage: { kind: "group-relative", singletonGroups: "raw" }, update: { kind: "ppu" } },
      }),
    ),
  ).toEqual([]);
  expect(step(apart, config({ algorithm: { kind: "ppo" } }))).toEqual([]);
});

const before = (mean: number, reward: number): EvaluationRecord =>
  ({
    ...{ mean, low: mean, high: mean, when: "before", step: 0, split: "test", tasks: 3, k: 2 },
    reward: { mean: reward, low: 0, high: 0 },
  }) as EvaluationRecord;

test("a start at zero counts the attempts before, and ends where any of them did better", () => {
  const zero = groupsOf([0, 0]);
  const first = { record: record(1) };
  const named = step(zero, { ...first, before: [before(0, 0), before(0, 0)] });
  expect(named.map(({ rule, cause }) => [rule, cause])).toEqual([
    ["start-at-zero", "At the start none of 14 attempts gets a reward, the rollouts of the first step included."],
  ]);
  expect(step(groupsOf([-1, -1]), { ...first, before: [before(0, -1)] })[0]?.cause).toMatch(/all 8 attempts have the reward -1,/);
  const others = [
    step(zero, { ...first, before: [before(0.1, 0)] }),
    step(zero, { ...first, before: [before(0, 0.1)] }),
    step(zero, { record: record(2) }),
    step(groupsOf([0.5, 0.5]), first),
  ];
  expect(others.map(([warning]) => warning?.rule)).toEqual(others.map(() => "equal-rewards"));
  const succeeded = [{ id: "g", trajectories: episodes({ reward: 0, scores: { success: 1 } }, { reward: 0 }) }];
  expect(step(succeeded, first)[0]?.rule).toBe("equal-rewards");
});

const mixed = groupsOf([1, 0]);
const live: Metrics = { reward: 0.5, rewardMax: 1, entropy: 0.5, gradientNorm: 1, groups: 2, groupsWithoutSignal: 0 };
const dead = (last: Metrics, earlier: Metrics = live, steps = 3) => {
  const all = [...Array.from({ length: 4 }, () => earlier), ...Array.from({ length: steps }, () => ({ ...live, ...last }))];
  const records = all.map((metrics, i) => record(i + 2, metrics));
  return ruleOf("policy-died", step(mixed, { history: records.slice(0, -1), record: records.at(-1) }));
};

test.each<[string, Metrics, RegExp | undefined]>([
  [
    "its reward fell to 0",
    { reward: 0, rewardMax: 0 },
    /its reward was up to 0\.5 and is 0 in every episode of the last 3 steps/,
  ],
  ["its reward is still above 0 somewhere", { reward: 0, rewardMax: 0.1 }, undefined],
  ["no entropy", { entropy: 9e-6 }, /its entropy is below 0\.00001 nats for 3 steps/],
  ["a negative rounding of no entropy", { entropy: -9e-6 }, /its entropy is below/],
  ["a little entropy", { entropy: 1e-5 }, undefined],
  ["no gradient", { gradientNorm: 9e-11 }, /its gradient is 0 for 3 steps although rewards differ/],
  ["a little gradient", { gradientNorm: 1e-10 }, undefined],
  ["no gradient without signal", { gradientNorm: 0, groupsWithoutSignal: 2 }, undefined],
  ["no metrics", { entropy: null, gradientNorm: null }, undefined],
])("a policy that died: %s", (_, last, cause) => {
  const warning = dead(last);
  if (cause === undefined) return expect(warning).toBeUndefined();
  expect(warning?.cause.replace("1e-5", "0.00001")).toMatch(cause);
  expect(warning?.example).toBe("g0/0");
  expect(dead(last, live, 2)).toBeUndefined();
});

test("a reward that was never above 0 has not fallen, and two steps are too few", () => {
  expect(dead({ reward: 0, rewardMax: 0 }, { ...live, reward: 0 })).toBeUndefined();
  expect(dead({ reward: 0, rewardMax: 0 }, { ...live, reward: null })).toBeUndefined();
  expect(dead({ reward: 0, rewardMax: null })).toBeUndefined();
  const two = [record(2, { entropy: 0 })];
  expect(ruleOf("policy-died", step(mixed, { history: two, record: record(3, { entropy: 0 }) }))).toBeUndefined();
});

const calm: Metrics = { reward: 0.5, entropy: 1, gradientNorm: 1, groups: 4, groupsWithoutSignal: 0 };
const trapped: Metrics = { reward: 0.5, entropy: 0.5, gradientNorm: 3, groups: 4, groupsWithoutSignal: 2 };
const echo = (last: Metrics, earlier: Metrics = calm, steps = 8) => {
  const all = [...Array.from({ length: steps }, () => earlier), last, last, last];
  const records = all.map((metrics, i) => record(i + 2, metrics));
  return ruleOf("echo-trap", step(mixed, { history: records.slice(0, -1), record: records.at(-1) }));
};

test("an echo trap has all three signs, against at least eight earlier steps", () => {
  expect(echo(trapped)).toMatchObject({
    example: "g0/0",
    cause:
      "An echo trap (RAGEN): in the last 3 steps rewards differ in 50 % of the groups (before 100 %), " +
      "entropy is 0.5 nats (1), and the gradient's norm reached 3 times its median.",
  });
  expect(echo(trapped, calm, 7)).toBeUndefined();
  const without: Metrics[] = [
    { ...trapped, entropy: 0.51 },
    { ...trapped, gradientNorm: 2.9 },
    { ...trapped, groupsWithoutSignal: 1 },
    { ...trapped, reward: 0.6 },
    { ...trapped, entropy: null },
    { ...trapped, groups: 0 },
    { ...trapped, groups: null },
  ];
  for (const last of without) expect(echo(last)).toBeUndefined();
  expect(echo({ ...trapped, reward: 0.2 })).toBeDefined();
  expect(echo(trapped, { ...calm, entropy: null })).toBeUndefined();
});

test("warnings of one cause share its name", () => {
  const causes = ["start-at-zero", "equal-rewards", "constant-reward", "no-signal", "echo-trap", "policy-died"].map(causeOf);
  expect(causes).toEqual(["no-signal", "no-signal", "no-signal", "no-signal", "echo-trap", "policy-died"]);
});

const broken = { stopReason: "environment-error", error: "gone. " } as const;
const groupWith = (...shapes: readonly Shape[]): Group[] => [{ id: "g", trajectories: episodes(...shapes) }];

test("a run ends where every episode is broken: by the environment, or by the model's server", () => {
  const refused = { stopReason: "actor-error", error: "503" } as const;
  const early = { stopReason: "agent-error", error: "no key", turns: [] } as const;
  const check = (groups: readonly Group[]) => requireWorkingEnvironment(groups, "desk", "step 3");
  expect(() => check(groupWith(broken, broken))).toThrow(
    'the environment "desk" in all 2 episodes of step 3 is "environment-error, gone"; expected at least one episode that it does not break. ' +
      "Repair the environment or its reward. The first episode is e0.",
  );
  expect(() => check(groupWith(refused, broken))).toThrow(
    'the model\'s server in all 2 episodes of step 3 is "actor-error, 503"; expected at least one episode that no error ends. ' +
      "Nothing was measured. Check the server and evaluation.player.request, then evaluate again.",
  );
  expect(() => check(groupWith(early))).toThrow(/"agent-error, no key"/);
  for (const groups of [groupWith(broken, {}), [], groupWith()]) expect(() => check(groups)).not.toThrow();
});

test("an evaluation ends where no episode has a score; an agent's early error is one", () => {
  const early = { stopReason: "agent-error", error: "no key", turns: [] } as const;
  expect(() => requireMeasured(groupWith(broken), "desk", "the evaluation")).toThrow(/in all 1 episodes of the evaluation/);
  expect(() => requireMeasured(groupWith(early), "desk", "the evaluation")).not.toThrow();
});

/** What each rule tells a reader to do, by the facts that it finds. */
const advice: readonly (readonly [rule: string, found: () => ReturnType<typeof found>, next: string])[] = [
  [
    "environment-faults",
    () => found([{ stopReason: "environment-error" }, {}]),
    "They are left out of the update. Repair what raises the error.",
  ],
  [
    "agent-errors",
    () => found([{}, { stopReason: "agent-error", error: "no JSON" }]),
    "They have reward 0, as it is right where the answer raised it. An error that is not the answer's has to be repaired.",
  ],
  [
    "refused-requests",
    () => found([{}, { scores: { "agent.refused": 1 } }]),
    "The agent did not get what it asked for, so its reward may be of its error handling. Change the request; " +
      "docs/rollouts.md lists what the endpoint has.",
  ],
  [
    "uneven-requests",
    () => found([4, 0, 0, 0].map((count) => ({ scores: { "agent.requests": count } }))),
    "A queue, pool or batcher that the agents share may make the calls of all in the context of one: its turns are then of several. Give the " +
      "client the apiKey of the agent's second argument, or set rollout.concurrency=1 and compare; docs/agents.md has the ways out.",
  ],
  [
    "no-tool-calls",
    () => found(times(3, { turns: [{}] }), ["find"]),
    "Read the example: the model must see the tools and write calls in its template's format. Describe them in the system message, " +
      "use a model that was trained to call tools, or show it how by `retrograde-rl sft`.",
  ],
  [
    "one-bad-end",
    () => found(times(2, { stopReason: "max-turns" })),
    "Raise rollout.maxTurns, or make the task end earlier; read the example for what the model repeats.",
  ],
  [
    "one-bad-end",
    () => found(times(2, { stopReason: "max-tokens", turns: [{ truncated: true }] })),
    "Raise rollout.maxTokens, or ask for shorter answers; read the example for what the model does not finish.",
  ],
  [
    "one-bad-end",
    () => found(times(2, { stopReason: "max-tokens" })),
    "Shorten prompts and tool results (maxOutput of a tool), or use a model with a longer context.",
  ],
  [
    "one-behaviour",
    () => found(times(20, (i) => ({ calls: ["find", "open"], reward: i % 2 }))),
    "If tasks ask for different calls, the decision is not learned yet: more steps of `retrograde-rl sft`, more demonstrations of the " +
      "other kinds, or a larger model. Reinforcement only makes such an answer surer.",
  ],
  [
    "failing-tool",
    () => found([failing(Array(5).fill("timeout")), {}], ["find"]),
    "Run the tool by hand; raise its timeoutMs, or make fewer calls at once (rollout.concurrency).",
  ],
  [
    "failing-tool",
    () => found([failing(Array(5).fill("invalid")), {}], ["find"]),
    "Compare the example's arguments with the tool's parameters, and describe these better.",
  ],
  [
    "failing-tool",
    () => found([failing(Array(5).fill("error")), {}], ["find"]),
    "Run the tool by hand with the example's arguments: what it cannot do now, the model cannot learn.",
  ],
  [
    "lost-results",
    () => found([{ turns: [{ toolFailures: [{ tool: "find", kind: "lost", lost: "a Map" }] }] }, {}]),
    "Return text, or values that JSON has: strings, numbers, booleans, null, arrays and plain objects. Await promises and throw errors.",
  ],
  [
    "start-at-hundred",
    () => evaluationWarnings("before", facts(episodes({ reward: 1 }))),
    "Check that a wrong answer gets a lower reward: read the example. A check whose promise is not awaited counts as true. " +
      "If it is right, choose harder tasks.",
  ],
  [
    "start-at-zero",
    () => step(groupsOf([0, 0]), { record: record(1) }),
    "Read the example. If the answer is right, the reward function is wrong. If the model cannot do the task yet, begin with " +
      "demonstrations (`retrograde-rl sft`, of an agent `train-agent --teacher`), easier tasks, partial rewards or a stronger model.",
  ],
  ["equal-rewards", () => step(groupsOf([1, 1])), "Every episode succeeds: stop here, or train on harder tasks."],
  [
    "no-signal",
    () => step(groupsOf([1, 1], [0, 0])),
    "Choose tasks that the model solves sometimes, give partial rewards, or raise rollout.groupSize or rollout.temperature; " +
      'algorithm "dapo" samples until groups differ.',
  ],
];

test.each(advice)("%s says what to do next, in these words (%#)", (rule, warnings, next) => {
  expect(ruleOf(rule, warnings())?.next).toBe(next);
});

test.each<[Metrics, string, string]>([
  [
    { reward: 0, rewardMax: 0 },
    "The policy died: its reward was up to 0.5 and is 0 in every episode of the last 3 steps.",
    "Start from an earlier checkpoint (`runs model` writes its model) with a lower optimizer.learningRate, or with algorithm.klCoef above 0.",
  ],
  [
    { entropy: 0 },
    "The policy died: its entropy is below 0.00001 nats for 3 steps, so all rollouts of a task are alike.",
    "Lower optimizer.learningRate, raise rollout.temperature or algorithm.entropyCoef, and start from an earlier checkpoint (`runs model`).",
  ],
  [
    { gradientNorm: 0 },
    "The policy died: its gradient is 0 for 3 steps although rewards differ.",
    "Look at clipFraction: if it is 1, lower optimizer.learningRate or widen the clip range.",
  ],
])("a dead policy says so, and what revives it: %j", (last, cause, next) => {
  expect(dead(last)).toEqual({ rule: "policy-died", cause: cause.replace("0.00001", String(1e-5)), example: "g0/0", next });
});

test("an echo trap says what holds it off", () => {
  expect(echo(trapped)?.next).toBe(
    "Start from a checkpoint before the spike (`runs model`) with a lower optimizer.learningRate. Tasks whose rewards vary (dapo), " +
      "algorithm.klCoef and a smaller optimizer.clipNorm hold it off.",
  );
});
