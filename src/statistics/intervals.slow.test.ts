import { expect, test } from "vitest";
import { mean } from "../core/mean.ts";
import { type Random, randomStream } from "../core/random.ts";
import { seedsAndTasksInterval } from "./clustered.ts";
import type { Estimate } from "./estimate.ts";
import { meanInterval } from "./intervals.ts";
import { comparePaired } from "./paired.ts";

const covers = ({ low, high }: Estimate, value: number) => low <= value && value <= high;

/** Share of simulated evaluations whose interval contains the true value. */
function coverage(runs: number, name: string, evaluate: (random: Random, run: number) => boolean): number {
  const random = randomStream(1, "coverage", name);
  return mean(Array.from({ length: runs }, (_, run) => Number(evaluate(random, run))));
}

/** The chance of success of a task that is drawn from a world, and its mean. */
const worlds: Readonly<Record<string, { readonly draw: (random: Random) => number; readonly mean: number }>> = {
  "all tasks nearly solved": { draw: () => 0.97, mean: 0.97 },
  "nine of ten solved, the rest hard": { draw: (random) => (random.chance(0.9) ? 1 : 0.2), mean: 0.92 },
  "nearly none solved": { draw: (random) => Number(random.chance(0.02)), mean: 0.02 },
  "of every difficulty": { draw: (random) => random.uniform(), mean: 0.5 },
};
const attempts = (random: Random, k: number, chance: number) =>
  mean(Array.from({ length: k }, () => Number(random.chance(chance))));

test.each(
  Object.keys(worlds).flatMap((world) => [
    [world, 5, 1],
    [world, 16, 4],
    [world, 64, 1],
  ]) as [string, number, number][],
)("intervals of avg@k cover: %s, %i tasks, k = %i", (world, tasks, k) => {
  const { draw, mean: truth } = worlds[world];
  const share = coverage(200, `${world}/${tasks}/${k}`, (random, run) => {
    const values = Array.from({ length: tasks }, () => attempts(random, k, draw(random)));
    return covers(meanInterval(values, { seed: run }), truth);
  });
  // 95 %, less two standard errors of 200 runs.
  expect(share).toBeGreaterThanOrEqual(0.92);
});

test.each([
  ["no difference", 16, 1, 0, () => [0.9, 0.9]],
  ["a few tasks more", 64, 1, 0.03, (random: Random) => (random.chance(0.03) ? [0, 1] : [1, 1])],
  ["a rise that depends on the task", 16, 4, 0.05, pairWithRise],
] as const)(
  "intervals of paired differences cover, and tests of no difference seldom reject: %s",
  (name, tasks, k, truth, draw) => {
    let rejected = 0;
    const runs = 150;
    const share = coverage(runs, `paired/${name}`, (random, run) => {
      const chances = Array.from({ length: tasks }, () => draw(random));
      const [first, second] = [0, 1].map((side) => chances.map((pair) => attempts(random, k, pair[side])));
      const { difference, pValue } = comparePaired(first, second, { seed: run, step: 1 / k });
      if (pValue < 0.05) rejected++;
      return covers(difference, truth);
    });
    expect(share).toBeGreaterThanOrEqual(0.92);
    if (truth === 0) expect(rejected / runs).toBeLessThanOrEqual(0.08);
  },
);

function pairWithRise(random: Random): [number, number] {
  const chance = random.uniform() * 0.9;
  return [chance, chance + 0.05];
}

test.each([
  [3, 0.1, 0.3],
  [3, 0.2, 0],
  [5, 0, 0.3],
])("intervals over %i training seeds (spread %d) and tasks (spread %d) cover", (seeds, seedSpread, taskSpread) => {
  const share = coverage(150, `seeds/${seeds}/${seedSpread}`, (random, run) => {
    const tasks = Array.from({ length: 12 }, () => taskSpread * random.normal());
    const table = Array.from({ length: seeds }, () => {
      const seed = seedSpread * random.normal();
      return tasks.map((task) => 0.5 + seed + task + 0.1 * random.normal());
    });
    return covers(seedsAndTasksInterval(table, { seed: run, range: [-5, 6] }), 0.5);
  });
  expect(share).toBeGreaterThanOrEqual(0.91);
});
