import "../../../test/office.ts";
import { expect, test } from "vitest";
import { lettersChat, lettersEnvironment, lettersVocabulary } from "../../../test/letters.ts";
import { TableEngine } from "../../../test/table-engine.ts";
import type { Group, Trajectory } from "../../core/trajectory.ts";
import { tokenActor } from "../../rollouts/actors/token-actor.ts";
import { resolveConfig } from "../config/config.ts";
import { decodingPlans, evaluate } from "./evaluate.ts";
import { measureOf, summarise } from "./summarise.ts";

function attempt(id: string, reward: number, success?: number): Trajectory {
  const scores: Record<string, number> = success === undefined ? {} : { success };
  return {
    id,
    group: id[0],
    task: id[0],
    turns: [],
    reward,
    scores,
    stopReason: reward > 0 ? "done" : "max-turns",
    messages: [],
  };
}

const tasks = [{ id: "a", kind: "pay" }, { id: "b", kind: "pay+move" }, { id: "c" }];
const groups: Group[] = [
  { id: "a", trajectories: [attempt("a1", 1), attempt("a2", 0)] },
  { id: "b", trajectories: [attempt("b1", 0.5), attempt("b2", 0)] },
  // The environment's own word counts, whatever the reward.
  { id: "c", trajectories: [attempt("c1", 0.7, 1), attempt("c2", 1, 0)] },
];

test("avg@k is the share of attempts that succeed, pass@k the share of tasks that some attempt solves", () => {
  const summary = summarise(tasks, groups, 1);
  expect(summary).toMatchObject({ tasks: 3, k: 2, stopReasons: { done: 4, "max-turns": 2 } });
  expect(summary.mean).toBeCloseTo(2 / 6, 12);
  expect(summary.passAt.map(({ k, mean }) => [k, mean])).toEqual([
    [1, expect.closeTo(2 / 6, 12)],
    [2, expect.closeTo(2 / 3, 12)],
  ]);
  expect(summary.reward.mean).toBeCloseTo((0.5 + 0.25 + 0.85) / 3, 12);
});

test("a task of several requests counts for each of their kinds", () => {
  const { byKind, byRequests } = summarise(tasks, groups, 1);
  expect(byKind).toMatchObject([
    { name: "move", attempts: 2, success: 0 },
    { name: "pay", attempts: 4, success: 0.25 },
    { name: "task", attempts: 2, success: 0.5 },
  ]);
  expect(byRequests).toMatchObject([
    { name: "1", attempts: 4, success: 0.5 },
    { name: "2", attempts: 2, success: 0 },
  ]);
});

test("a kind's success is its own where the environment scores it, and behaviours are added up", () => {
  const scored = (id: string, scores: Record<string, number>, behaviours: Trajectory["behaviours"]): Group => ({
    id,
    trajectories: [{ ...attempt(id, 0), scores, behaviours }],
  });
  const { byKind, behaviours } = summarise(
    [
      { id: "a", kind: "pay+move" },
      { id: "b", kind: "pay" },
    ],
    [
      scored("a", { success: 0, "kind.pay": 1, "kind.move": 0 }, { asks: { done: 1, called: 2 } }),
      scored("b", { success: 0, "kind.pay": 0.5 }, { asks: { done: 1, called: 1 }, "adds nothing": { done: 0, called: 1 } }),
    ],
    1,
  );
  expect(byKind).toMatchObject([
    { name: "move", attempts: 1, success: 0 },
    { name: "pay", attempts: 2, success: 0.75 },
  ]);
  expect(behaviours).toEqual([
    { name: "adds nothing", done: 0, called: 1 },
    { name: "asks", done: 2, called: 3 },
  ]);
});

test("pass^k is the share of tasks that all attempts solve; parts have the intervals of their tasks", () => {
  const { passAll, byKind, measure } = summarise(tasks, groups, 1);
  expect(passAll.map(({ k, mean }) => [k, mean])).toEqual([
    [1, expect.closeTo(2 / 6, 12)],
    [2, 0],
  ]);
  const pay = byKind.find(({ name }) => name === "pay");
  expect(pay?.low).toBeLessThan(0.1);
  expect(pay?.high).toBeGreaterThan(0.8);
  expect(measure).toBe("success");
});

test.each([
  [[0.3, 0.6], "reward"],
  [[0.3, 1], "success"],
  [[0, -1], "reward"],
  [[-1, -1], "nothing"],
] as const)("rewards %j let an evaluation measure %s", (rewards, measure) => {
  expect(measureOf(rewards.map((reward) => attempt("a", reward)))).toBe(measure);
});

test("an environment that scores success has one, whatever the rewards", () => {
  expect(measureOf([attempt("a", 0.3, 0)])).toBe("success");
});

test("greedy beside sampled: one attempt at temperature 0; alone where sampling is at 0", () => {
  const { evaluation } = resolveConfig();
  const plans = (change: Partial<typeof evaluation>) => decodingPlans({ ...evaluation, ...change }, 4);
  const [sampled, greedy] = [
    { decoding: "sampled", temperature: 1, k: 4 },
    { decoding: "greedy", temperature: 0, k: 1 },
  ];
  expect(plans({})).toEqual([sampled, greedy]);
  expect(plans({ greedy: false })).toEqual([sampled]);
  expect(plans({ temperature: 0, greedy: false })).toEqual([greedy]);
});

test("evaluations at different steps draw the same numbers for the same attempt, and play what is not there yet", async () => {
  const { rollout } = resolveConfig();
  const options = { split: "test", tasks: 5, k: 3, temperature: 1, rollout, seed: 2 } as const;
  const engine = new TableEngine(lettersVocabulary);
  const run = (change: object) =>
    evaluate(tokenActor(engine, lettersChat()), lettersEnvironment(), { ...options, when: "before", step: 0, ...change });
  const [before, after] = [await run({}), await run({ when: "after", step: 60 })];
  const actions = ({ trajectories }: typeof before) => trajectories.map(({ turns }) => turns.map(({ action }) => action));
  expect(actions(after)).toEqual(actions(before));
  expect(after.trajectories[0].id).toBe("after-test-60/0/0");

  const half = new Map(before.trajectories.slice(0, 7).map((trajectory) => [trajectory.id, trajectory]));
  const ended: string[] = [];
  const resumed = await run({ played: half, onTrajectory: ({ id }: Trajectory) => ended.push(id) });
  expect(resumed).toEqual(before);
  expect(ended).toHaveLength(8);
});

test("an evaluation changes no weights and comes out the same when repeated", async () => {
  const engine = new TableEngine(lettersVocabulary);
  const { rollout } = resolveConfig();
  const options = { when: "during", step: 0, split: "test", tasks: 5, k: 3, temperature: 1, rollout, seed: 2 } as const;
  const first = await evaluate(tokenActor(engine, lettersChat()), lettersEnvironment(), options);
  expect(await evaluate(tokenActor(engine, lettersChat()), lettersEnvironment(), options)).toEqual(first);
  expect(first.trajectories).toHaveLength(15);
  expect(
    new Set(first.trajectories.map((trajectory) => JSON.stringify(trajectory.turns.map(({ action }) => action)))).size,
  ).toBeGreaterThan(5);
  expect(engine.weightVersion).toBe(0);
});

const broken = (id: string): Trajectory => ({ ...attempt(id, 0), stopReason: "environment-error", error: "score: no database" });

test("an attempt that an error ended is in no mean, no pass@k and no breakdown, and is counted", () => {
  const [a, b, c] = groups;
  const some: Group[] = [
    { id: "a", trajectories: [...(a?.trajectories ?? []).slice(0, 1), broken("a2")] },
    b as Group,
    { id: "c", trajectories: [broken("c1"), broken("c2")] },
  ];
  const summary = summarise(tasks, some, 1);
  expect(summary).toMatchObject({ tasks: 3, k: 2, errors: 3, stopReasons: { "environment-error": 3 } });
  expect(summary.mean).toBe(0.5); // a: 1 of 1, b: 0 of 2
  expect(summary.reward.mean).toBeCloseTo((1 + 0.25) / 2, 12);
  expect(summary.passAt.map(({ k, mean }) => [k, mean])).toEqual([
    [1, 0.5],
    [2, 0], // b alone has two attempts
  ]);
  expect(summary.byKind.map(({ name, attempts }) => [name, attempts])).toEqual([
    ["move", 2],
    ["pay", 3],
  ]);
  expect(summarise(tasks, groups, 1)).not.toHaveProperty("errors");
  expect(c?.trajectories).toHaveLength(2);
});

test("an attempt at a scenario has a score where all of its tasks have one", () => {
  const scenario = (id: string, first: Trajectory, second: Trajectory) => ({ id, trajectories: [first, second] });
  const two = ["a", "b"].map((id) => ({ id, scenario: "s" }));
  const { scenarios } = summarise(
    two,
    [scenario("a", attempt("a1", 1), attempt("a2", 1)), scenario("b", attempt("b1", 1), broken("b2"))],
    1,
  );
  expect(scenarios).toMatchObject({ mean: 1, count: 1, all: 1 });
});

test("rewards below 0 are rewards: what differs is measured", () => {
  expect(measureOf([attempt("a1", -1), attempt("a2", 0)])).toBe("reward");
  expect(measureOf([attempt("a1", -1), attempt("a2", -0.2)])).toBe("reward");
  expect(measureOf([attempt("a1", -1), attempt("a2", -1)])).toBe("nothing");
  expect(measureOf([attempt("a1", -1), attempt("a2", 0.7 + 0.2 + 0.1)])).toBe("success");
});

test("an evaluation whose every episode an error ended gives no number", async () => {
  const environment = lettersEnvironment();
  const failing = { ...environment, start: async () => Promise.reject(new Error("the database is gone")) };
  const options = {
    ...{ when: "after" as const, step: 0, split: "test", tasks: 2, k: 2, temperature: 1, seed: 1 },
    rollout: resolveConfig({ rollout: { maxTokens: 4 } }).rollout,
  };
  const actor = tokenActor(new TableEngine(lettersVocabulary), lettersChat());
  await expect(evaluate(actor, failing, options)).rejects.toThrow(/all 4 episodes of the evaluation.*the database is gone/);
});
