import { expect, test } from "vitest";
import { ConfigError } from "../../../core/errors.ts";
import { resolveConfig } from "../config.ts";
import { difficultySampler } from "./difficulty.ts";
import { anyTaskSampler } from "./kinds.ts";

const settings = { hardUpTo: 0.25, easyFrom: 0.75, hardWeight: 0.2, easyWeight: 0.2 };
const draw = {
  size: 4,
  position: 0,
  count: 20_000,
  seed: 3,
  outcomes: new Map([
    [0, 0],
    [1, 0.5],
    [2, 1],
  ]),
};

test("tasks are drawn in proportion to their pools' weights", () => {
  // Never solved 0.2, now and then 1, always 0.2, not yet played 1: of 2.4.
  const drawn = difficultySampler.indices(draw, settings);
  const shares = [0, 1, 2, 3].map((index) => drawn.filter((each) => each === index).length / draw.count);
  // Four standard errors of a share.
  for (const [i, expected] of [0.2 / 2.4, 1 / 2.4, 0.2 / 2.4, 1 / 2.4].entries())
    expect(Math.abs((shares[i] ?? 0) - expected)).toBeLessThan(4 * Math.sqrt((expected * (1 - expected)) / draw.count));
});

test("bounds belong to the middle and to the hard pool, weights of 0 leave a pool out, all of them nothing", () => {
  const outcomes = new Map([
    [0, 0.25],
    [1, 0.75],
    [2, 0.76],
    [3, 0.1],
  ]);
  const of = (weights: object) =>
    new Set(difficultySampler.indices({ ...draw, count: 200, outcomes }, { ...settings, ...weights }));
  expect(of({ hardWeight: 0, easyWeight: 0 })).toEqual(new Set([1]));
  const all = new Map([0, 1, 2, 3].map((index) => [index, 0]));
  expect(new Set(difficultySampler.indices({ ...draw, count: 200, outcomes: all }, { ...settings, hardWeight: 0 })).size).toBe(4);
});

test("position and seed decide the draw", () => {
  const [, second, third] = difficultySampler.indices({ ...draw, count: 3 }, settings);
  expect(difficultySampler.indices({ ...draw, position: 1, count: 2 }, settings)).toEqual([second, third]);
});

test("steps that are sampled ahead have no outcomes yet: a run does not begin", () => {
  const rollout = { tasks: { kind: "difficulty" }, ahead: 1 } as const;
  expect(() => resolveConfig({ environment: "office", rollout })).toThrow(ConfigError);
  expect(() => resolveConfig({ environment: "office", rollout })).toThrow("rollout.tasks");
  expect(() => resolveConfig({ environment: "office", rollout: { tasks: { kind: "difficulty" } } })).not.toThrow();
  expect(() => anyTaskSampler.parse({ kind: "difficulty", hardWeight: -1 })).toThrow();
});
