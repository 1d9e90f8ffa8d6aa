import { expect, test } from "vitest";
import { lettersChat, lettersEnvironment, lettersVocabulary } from "../../test/letters.ts";
import { TableEngine } from "../../test/table-engine.ts";
import type { Group, Trajectory } from "../core/trajectory.ts";
import { resolveConfig } from "./config.ts";
import { evaluate, summarise } from "./evaluate.ts";

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
  expect(byKind).toEqual([
    { name: "move", attempts: 2, success: 0 },
    { name: "pay", attempts: 4, success: 0.25 },
    { name: "task", attempts: 2, success: 0.5 },
  ]);
  expect(byRequests).toEqual([
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
  expect(byKind).toEqual([
    { name: "move", attempts: 1, success: 0 },
    { name: "pay", attempts: 2, success: 0.75 },
  ]);
  expect(behaviours).toEqual([
    { name: "adds nothing", done: 0, called: 1 },
    { name: "asks", done: 2, called: 3 },
  ]);
});

test("an evaluation changes no weights and comes out the same when repeated", async () => {
  const engine = new TableEngine(lettersVocabulary);
  const { rollout } = resolveConfig();
  const options = { when: "during", step: 0, split: "test", tasks: 5, k: 3, temperature: 1, rollout, seed: 2 } as const;
  const first = await evaluate(engine, lettersChat(), lettersEnvironment(), options);
  expect(await evaluate(engine, lettersChat(), lettersEnvironment(), options)).toEqual(first);
  expect(first.trajectories).toHaveLength(15);
  expect(
    new Set(first.trajectories.map((trajectory) => JSON.stringify(trajectory.turns.map(({ action }) => action)))).size,
  ).toBeGreaterThan(5);
  expect(engine.weightVersion).toBe(0);
});
