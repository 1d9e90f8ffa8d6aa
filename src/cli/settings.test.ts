import { expect, test } from "vitest";
import { ConfigError } from "../core/errors.ts";
import { settingsOf, trainFlags } from "./settings.ts";

test("flags and --set reach the settings that they name", () => {
  const values = {
    groupSize: "4",
    out: "7",
    algorithm: "grpo",
    set: ["evaluation.tasks=64", "optimizer.schedule=cosine", "algorithm.order=[1,0]"],
  };
  expect(settingsOf(trainFlags, values)).toEqual({
    rollout: { groupSize: 4 },
    out: "7",
    algorithm: { kind: "grpo", order: [1, 0] },
    evaluation: { tasks: 64 },
    optimizer: { schedule: "cosine" },
  });
});

test("a flag without a value switches its setting on", () => {
  expect(settingsOf(trainFlags, { strict: true })).toEqual({ limits: { strict: true } });
});

test("what was not given is not set", () => {
  expect(settingsOf(trainFlags, {})).toEqual({});
});

test("an assignment without a value is refused with an example", () => {
  expect(() => settingsOf(trainFlags, { set: ["steps"] })).toThrow(ConfigError);
  expect(() => settingsOf(trainFlags, { set: ["steps"] })).toThrow("--set evaluation.tasks=64");
});

test("a path cannot reach into prototypes", () => {
  settingsOf(trainFlags, { set: ["__proto__.polluted=1", "constructor.prototype.polluted=1"] });
  expect("polluted" in {}).toBe(false);
});
