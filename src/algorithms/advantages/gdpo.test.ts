import { expect, test } from "vitest";
import { expectClose } from "../../../test/algorithms/golden.ts";
import { groupOf } from "../../../test/algorithms/table-policy.ts";
import { ConfigError, EnvError } from "../../core/errors.ts";
import { resolveConfig } from "../../training/config/config.ts";
import { gdpoAdvantages } from "./gdpo.ts";

const scored = (id: string, scores: readonly Readonly<Record<string, number>>[]) => {
  const group = groupOf(
    id,
    scores.map(() => ({ reward: 0, turns: [{ context: [0], action: [1] }] })),
  );
  return { ...group, trajectories: group.trajectories.map((each, i) => ({ ...each, scores: scores[i] ?? {} })) };
};
const pair = (a: number, b: number) => ({ "reward:a": a, "reward:b": b });

test("each reward is normalised in its group by itself, and their sum over the batch, by hand", () => {
  // Group g: a is (1, 0), so ±1/√2; b is equal, so 0.   Group h: both are ±1/√2, so ±√2, though b is ten times as large.
  // Over the batch (±1/√2, ±√2): the deviation is √((2·½ + 2·2)/3) = √(5/3), and 1e-4 is added.
  const groups = [scored("g", [pair(1, 7), pair(0, 7)]), scored("h", [pair(1, 10), pair(0, 0)])];
  const expected = [Math.SQRT1_2, -Math.SQRT1_2, Math.SQRT2, -Math.SQRT2].map((sum) => sum / (Math.sqrt(5 / 3) + 1e-4));
  expectClose([...gdpoAdvantages(groups, { a: 1, b: 1 }).values()], expected, { rel: 1e-5, abs: 0 });
});

test("rewards that pull apart cancel by their weights, not by their scales", () => {
  const groups = [scored("g", [pair(1, 0), pair(0, 10)])];
  expectClose([...gdpoAdvantages(groups, { a: 1, b: 1 }).values()], [0, 0], { rel: 0, abs: 0.01 });
  const [first] = gdpoAdvantages(groups, { a: 2, b: 1 }).values();
  expect(first).toBeCloseTo(Math.SQRT1_2 / (1 + 1e-4), 5);
});

test("a trajectory without the reward is an error that names both", () => {
  expect(() => gdpoAdvantages([scored("g", [pair(1, 2)])], { c: 1 })).toThrow(EnvError);
  expect(() => gdpoAdvantages([scored("g", [pair(1, 2)])], { c: 1 })).toThrow('reward "c" of trajectory g-0');
});

const config =
  (weights: object, others: object = {}) =>
  () =>
    resolveConfig({
      environment: "office",
      algorithm: { kind: "custom", advantage: { kind: "gdpo", weights } as never, update: { kind: "ppu" }, ...others },
      rewards: [{ kind: "environment" }, { kind: "format" }],
    });

test("weights name rewards of the run, or it does not begin", () => {
  expect(config({ environment: 1, format: 0.5 })).not.toThrow();
  expect(config({ environment: 1, fromat: 0.5 })).toThrow(ConfigError);
  expect(config({ environment: 1, fromat: 0.5 })).toThrow(
    'algorithm.advantage.weights.fromat is 0.5; expected "environment" or "format".',
  );
  expect(config({})).toThrow("at least one reward");
  expect(config({ format: 1 }, { klCoef: 0.1, klIn: "reward" })).toThrow('algorithm.klIn "loss"');
});
