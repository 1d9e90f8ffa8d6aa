import { expect, test } from "vitest";
import type { Outcome } from "../../src/core/outcome.ts";
import { compareAgents, counted, measure } from "./measure.ts";

const score = (reward: number): Outcome => ({ kind: "score", reward, success: reward >= 1 });
const error = (text = "503"): Outcome => ({ kind: "error", error: text });
const tasks = ["a", "b", "c"];
/** Measures these outcomes, those of a task in a row. */
const measured = (outcomes: readonly (readonly Outcome[])[], scoredBy = "r") =>
  measure(tasks.slice(0, outcomes.length), async (_, { task, attempt }) => outcomes[task]?.[attempt] ?? error(), {
    ...{ k: outcomes[0]?.length ?? 1, scoredBy },
  });

test("means are over tasks, of the attempts that have a score", async () => {
  const found = await measured([
    [score(1), score(1)],
    [score(1), error()],
    [score(0), score(0.5)],
  ]);
  expect(found).toMatchObject({
    ...{ k: 2, attempts: 6, errors: 1, success: { mean: 2 / 3 }, reward: { mean: (1 + 1 + 0.25) / 3 } },
    allSucceed: 1 / 2, // of the two tasks that have both attempts
  });
  expect(found.tasks[1]).toEqual({
    task: "b",
    rewards: [1, undefined],
    errors: [undefined, "503"],
    failures: [undefined, undefined],
  });
  expect(found.scoredBy).toMatch(/^[0-9a-f]{64}$/);
  expect((await measured([[score(1), error()]])).allSucceed).toBeUndefined();
});

test("attempts run as many at a time as are allowed", async () => {
  const runAt = async (concurrency?: number) => {
    let [running, most] = [0, 0];
    const attempt = async () => {
      most = Math.max(most, ++running);
      await new Promise((resolve) => setTimeout(resolve, 1));
      running--;
      return score(1);
    };
    await measure(
      Array.from({ length: 12 }, (_, i) => i),
      attempt,
      { concurrency, scoredBy: "" },
    );
    return most;
  };
  expect([await runAt(), await runAt(1), await runAt(6)]).toEqual([4, 1, 6]);
});

test("where the first eight attempts end by an error no other is made; one score among them is enough", async () => {
  const many = Array.from({ length: 20 }, (_, i) => i);
  let made = 0;
  const from = (firstScore: number) => {
    made = 0;
    return measure(many, async () => (made++ === firstScore ? score(1) : error()), { concurrency: 1, scoredBy: "" });
  };
  await expect(from(8)).rejects.toThrow(/the end of the first 8 attempts is "503"/);
  expect(made).toBe(8);
  expect(await from(7)).toMatchObject({ attempts: 20, errors: 19 });
  await expect(measured([[error("a"), error("b")]])).rejects.toThrow(/the end of all 2 attempts is "a"/);
});

test("two measurements are paired by task, and not compared over other tasks, rewards or many errors", async () => {
  const before = await measured([[score(0)], [score(1)], [error()]].map(([each]) => [each ?? error(), score(0)]));
  expect(() => compareAgents(before, before)).toThrow(/the comparison is "no verdict: 1 of 6 attempts of the first measurement/);
  const weak = await measured([[score(0)], [score(1)], [score(0)]]);
  const strong = await measured([[score(1)], [score(1)], [score(0.5)]]);
  expect(compareAgents(weak, strong)).toMatchObject({ tasks: 3, better: 2, worse: 0, difference: { mean: 0.5 } });
  expect(() => compareAgents(weak, { ...strong, tasks: strong.tasks.toReversed() })).toThrow("another order");
  const other = await measured([[score(0)], [score(1)], [score(0)]], "another");
  expect(() => compareAgents(weak, other)).toThrow("the reward of the second measurement");
});

test("reasons are counted, and undefined is none", () => {
  expect(counted(["a", undefined, "b", "a"])).toEqual({ a: 2, b: 1 });
});
