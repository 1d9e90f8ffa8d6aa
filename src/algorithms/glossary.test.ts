import { expect, test } from "vitest";
import { capabilityMeanings } from "../core/policy.ts";
import { MetricTally, updateMetrics } from "./glossary.ts";
import { Spread } from "./metrics.ts";

test("steps fold into one record by the rule of each metric", () => {
  const tally = new MetricTally();
  tally.record({ loss: 1, ratioMin: 0.9, ratioMax: 1.1, optimiserSteps: 1 });
  tally.record({ loss: 4, ratioMin: 0.8, ratioMax: 1, optimiserSteps: 1, kl: 0.5 });
  expect(tally.result()).toEqual({ loss: 2.5, ratioMin: 0.8, ratioMax: 1.1, optimiserSteps: 2, kl: 0.5 });
  expect(new MetricTally().result()).toEqual({});
});

test("spread of values", () => {
  const spread = new Spread();
  for (const value of [3, -1, 4]) spread.add(value);
  expect([spread.min, spread.mean, spread.max]).toEqual([-1, 2, 4]);
  expect(new Spread().mean).toBeNaN();
});

test("every metric and every capability says what it is", () => {
  for (const [name, { meaning }] of Object.entries(updateMetrics)) expect(meaning, name).toMatch(/^\S.{10,}\.$/s);
  for (const [name, meaning] of Object.entries(capabilityMeanings)) expect(meaning, name).toMatch(/^[a-z].{10,}[^.]$/s);
});
