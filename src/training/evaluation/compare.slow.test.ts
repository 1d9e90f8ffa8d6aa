import { expect, test } from "vitest";
import { mean } from "../../core/mean.ts";
import { type Random, randomStream } from "../../core/random.ts";
import type { Trajectory } from "../../core/trajectory.ts";
import { episodes } from "./compare.fixture.ts";
import { compareOutcomes, outcomesOf } from "./compare.ts";
import { summarise } from "./summarise.ts";

/** 60 scenarios of three tasks that mostly succeed together, as AppWorld's. */
function ofScenarios(random: Random, share: number): Trajectory[] {
  return Array.from({ length: 60 }, (_, s) => s).flatMap((s) => {
    const together = Number(random.chance(share));
    const rewards = [0, 1, 2].map((i) => [`${s}_${i}`, [random.chance(0.8) ? together : Number(random.chance(share))]] as const);
    return episodes(Object.fromEntries(rewards)).map((episode) => ({ ...episode, scenario: String(s) }));
  });
}

test("scenarios are the unit where tasks name one: no difference is called one in 5 %, and over tasks it was in more", () => {
  const random = randomStream(1, "scenarios");
  const called = (withScenarios: boolean, length: number) =>
    mean(
      Array.from({ length }, () => {
        const [a, b] = [ofScenarios(random, 0.5), ofScenarios(random, 0.5)].map((all) =>
          outcomesOf(withScenarios ? all : all.map(({ scenario: _, ...episode }) => episode)),
        );
        return Number((compareOutcomes(a, b, 1).success?.pValue ?? 1) < 0.05);
      }),
    );
  expect(outcomesOf(ofScenarios(random, 0.5))).toMatchObject({ k: 3, tasks: { length: 60 } });
  expect(called(true, 400)).toBeLessThan(0.065);
  expect(called(false, 100)).toBeGreaterThan(0.12);
});

test("the interval of a success covers in 95 % where the scenario is the unit, and over tasks it did in fewer", () => {
  const random = randomStream(2, "scenarios");
  const covers = (withScenarios: boolean) =>
    mean(
      Array.from({ length: 100 }, () => {
        const groups = ofScenarios(random, 0.5).map((episode) => ({ id: episode.group, trajectories: [episode] }));
        const tasks = groups.map(({ trajectories: [{ task, scenario }] }) => ({
          id: task,
          ...(withScenarios ? { scenario } : {}),
        }));
        const { low, high } = summarise(tasks, groups, 1);
        return Number(low <= 0.5 && high >= 0.5);
      }),
    );
  expect(covers(true)).toBeGreaterThan(0.9);
  expect(covers(false)).toBeLessThan(0.9);
});
