import { expect, test } from "vitest";
import { keepRule } from "./record-agent.ts";

test.each<[string, readonly number[], readonly number[]]>([
  ["reward >= 1", [1, 1 - 1e-10, 2], [1 - 1e-8, 0]],
  ["reward > 0.5", [0.6, 0.5 + 1e-8], [0.5, 0.5 + 1e-10, 0]],
  ["reward <= -1.5", [-1.5, -1.5 + 1e-10, -2], [-1.5 + 1e-8, 0]],
  [" reward<0 ", [-0.1, -1e-8], [0, -1e-10, 1]],
  // Just at the rounding.
  ["reward >= 0", [-1e-9], []],
  ["reward > 0", [], [1e-9]],
  ["reward <= 0", [1e-9], []],
  ["reward < 0", [], [-1e-9]],
])("the rule %j keeps %j, and not %j", (rule, kept, left) => {
  const keeps = keepRule(rule);
  expect([kept.filter(keeps), left.filter(keeps)]).toEqual([kept, []]);
});

test.each([
  "",
  "reward",
  "reward >= ",
  "reward == 1",
  "score >= 1",
  "reward >= 1.",
  "reward >= 1 x",
  "x reward >= 1",
  "reward >= .5",
])("%j is no rule", (rule) => {
  expect(() => keepRule(rule)).toThrow(
    `keep is ${JSON.stringify(rule)}; expected a rule such as "reward >= 1" or "reward > 0.5".`,
  );
});
