import { expect, test } from "vitest";
import { expectClose } from "../../../test/algorithms/golden.ts";
import { groupOf } from "../../../test/algorithms/table-policy.ts";
import { EnvError } from "../../core/errors.ts";
import { maxrlAdvantages } from "./maxrl.ts";

const returns = (id: string, rewards: readonly number[]) =>
  groupOf(
    id,
    rewards.map((reward) => ({ reward, turns: [{ context: [0], action: [1] }] })),
  );
const advantages = (rewards: readonly number[]) => [...maxrlAdvantages([returns("g", rewards)]).values()];

test("a success weighs (1 − p)/p and a failure −1, by hand", () => {
  // p = 1/4: (1 − 0.25)/0.25 = 3.  p = 1/2: 1.  The 1e-6 in the divisor takes a millionth part of 1/p.
  expectClose(advantages([1, 0, 0, 0]), [2.999988000048, -0.999996000016, -0.999996000016, -0.999996000016]);
  expect(advantages([1, 0]).map((value) => value.toFixed(5))).toEqual(["1.00000", "-1.00000"]);
  expect(advantages([3, 1]).map((value) => value.toFixed(5))).toEqual(["0.50000", "-0.50000"]);
});

test("a group that always fails, always succeeds or is one teaches nothing", () => {
  expect([advantages([0, 0]), advantages([1, 1]), advantages([1])]).toEqual([[0, 0], [1, 1].map(() => 0), [0]]);
});

test("a negative return is an error that names its trajectory", () => {
  expect(() => advantages([1, -1])).toThrow(EnvError);
  expect(() => advantages([1, -1])).toThrow("reward of trajectory g-1 is -1; expected at least 0");
});
