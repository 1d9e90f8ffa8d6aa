/**
 * `npx jiti bench/seeupo-rows.ts`: SeeUPO's M keyed by trajectory, keyed by row as in its published code, and left out.
 *
 * There `ba_ray_trainer.py` keeps M by row, and `_balance_batch` reorders rows between turn updates, so that a trajectory is multiplied by the M of
 * another. Here rows are shuffled before each turn update; everything else is the product's textbook form. Worlds are small enough to be exact: 4 tasks
 * with a random return for each of the 4^4 sequences of 4 one-token turns, a table policy that sees task, turn and last token.
 */

import { ppu } from "../src/algorithms/objectives/ppu.ts";
import { CarriedRatios } from "../src/algorithms/seeupo/carried-ratios.ts";
import { seeupoAdvantages } from "../src/algorithms/seeupo/seeupo.ts";
import { resolveAlgorithm, type SeeupoConfig } from "../src/algorithms/settings/config.ts";
import { minimise } from "../src/algorithms/step/minimise.ts";
import { mean } from "../src/core/mean.ts";
import { type Random, randomStream } from "../src/core/random.ts";
import type { Group } from "../src/core/trajectory.ts";
import { groupOf, TablePolicy } from "../test/algorithms/table-policy.ts";

const [tasks, groupSize, turns, vocabulary] = [4, 8, 4, 4];
const [seeds, updates] = [60, 40];
const variants = ["trajectory", "row", "none"] as const;
type Keying = (typeof variants)[number];
const config = resolveAlgorithm({ kind: "seeupo", klCoef: 0, form: "textbook" }) as SeeupoConfig;

interface World {
  /** Return of a task's sequence, whose tokens are the digits of its index. */
  readonly returns: readonly (readonly number[])[];
  readonly table: readonly (readonly number[])[];
}

console.log(
  "learning rate | mean |M − 1| | change of one update: row, none | J after the run: trajectory, row − trajectory, none − trajectory",
);
for (const learningRate of [0.5, 2, 8]) {
  const moved = { row: [] as number[], none: [] as number[] };
  const final: Record<Keying, number[]> = { trajectory: [], row: [], none: [] };
  const distance: number[] = [];
  for (let seed = 0; seed < seeds; seed++) {
    const world = worldOf(randomStream(seed, "world"));
    const first = {} as Record<Keying, number[]>;
    for (const keying of variants) {
      const policy = new TablePolicy(world.table, learningRate);
      for (let step = 0; step < updates; step++) {
        const carried = await update(policy, rollouts(world, policy.table, seed, step), keying, randomStream(seed, "rows", step));
        if (keying === "trajectory") distance.push(...carried.map((m) => Math.abs(m - 1)));
        if (step === 0) first[keying] = policy.table.flat().map((value, i) => value - world.table.flat()[i]);
      }
      final[keying].push(expectedReturn(world, policy.table));
    }
    for (const keying of ["row", "none"] as const)
      moved[keying].push(norm(first[keying].map((x, i) => x - first.trajectory[i])) / norm(first.trajectory));
  }
  const paired = (keying: Keying) => spread(final[keying].map((value, i) => value - final.trajectory[i]));
  console.log(
    `${learningRate} | ${mean(distance).toFixed(3)} | ${percent(moved.row)}, ${percent(moved.none)} | ${spread(final.trajectory)}, ${paired("row")}, ${paired("none")}`,
  );
}

/** One SeeUPO update, textbook form. @returns M of every trajectory after each turn update but the last: what multiplied advantages */
async function update(policy: TablePolicy, groups: readonly Group[], keying: Keying, random: Random): Promise<number[]> {
  const advantages = seeupoAdvantages(groups, config);
  const trajectories = groups.flatMap((group) => group.trajectories);
  const carried = new CarriedRatios(config.carryClip);
  const read: number[] = [];
  for (let turn = turns - 1; turn >= 0; turn--) {
    const batch = keying === "row" ? random.shuffle(trajectories) : trajectories;
    // Keyed by row, M is that of whichever trajectory stood there in the turn update before.
    const keyOf = (row: number) => (keying === "row" ? `row ${row}` : batch[row].id);
    const samples = batch.map((trajectory) => trajectory.turns[turn]);
    const oldLogprobs = await policy.logprobs(samples);
    if (turn < turns - 1) read.push(...samples.map((_, row) => carried.of(keyOf(row))));
    const perToken = samples.map(({ trajectory }, row) => [
      (advantages.get(trajectory) ?? Number.NaN) * (keying === "none" ? 1 : carried.of(keyOf(row))),
    ]);
    const tokenScales = samples.map(() => 1 / samples.length);
    await minimise(policy, samples, (logprobs) =>
      ppu({ logprobs, oldLogprobs, advantages: perToken, tokenScales }, { level: "sequence", clip: config.clip }),
    );
    const keyed = samples.map((sample, row) => ({ ...sample, trajectory: keyOf(row) }));
    carried.carry(keyed, oldLogprobs, await policy.logprobs(samples));
  }
  return read;
}

function worldOf(random: Random): World {
  return {
    returns: Array.from({ length: tasks }, () => Array.from({ length: vocabulary ** turns }, () => random.uniform())),
    table: Array.from({ length: tasks * turns * vocabulary }, () => Array.from({ length: vocabulary }, () => 0)),
  };
}

function stateOf(task: number, turn: number, last: number): number {
  return (task * turns + turn) * vocabulary + last;
}

function rollouts(world: World, table: readonly (readonly number[])[], seed: number, step: number): Group[] {
  return Array.from({ length: tasks }, (_, task) => {
    const trajectories = Array.from({ length: groupSize }, (_, i) => {
      const random = randomStream(seed, "rollout", step, task, i);
      let [last, index] = [0, 0];
      const updated = Array.from({ length: turns }, (_, turn): { context: readonly number[]; action: readonly number[] } => {
        const context = [stateOf(task, turn, last)];
        last = drawn(probabilities(table[context[0]]), random);
        index = index * vocabulary + last;
        return { context, action: [last] };
      });
      return { reward: world.returns[task][index], turns: updated };
    });
    return groupOf(`task-${task}`, trajectories);
  });
}

/** J, exactly. */
function expectedReturn({ returns }: World, table: readonly (readonly number[])[]): number {
  const from = (task: number, turn: number, last: number, index: number): number =>
    turn === turns
      ? returns[task][index]
      : probabilities(table[stateOf(task, turn, last)]).reduce(
          (sum, p, a) => sum + p * from(task, turn + 1, a, index * vocabulary + a),
          0,
        );
  return mean(Array.from({ length: tasks }, (_, task) => from(task, 0, 0, 0)));
}

function probabilities(logits: readonly number[]): number[] {
  const exps = logits.map((logit) => Math.exp(logit - Math.max(...logits)));
  return exps.map((e) => e / exps.reduce((sum, x) => sum + x, 0));
}

function drawn(weights: readonly number[], random: Random): number {
  let left = random.uniform();
  return Math.max(
    0,
    weights.findIndex((weight) => {
      left -= weight;
      return left < 0;
    }),
  );
}

function norm(values: readonly number[]): number {
  return Math.sqrt(values.reduce((sum, value) => sum + value * value, 0));
}

function percent(values: readonly number[]): string {
  return `${(100 * mean(values)).toFixed(1)} %`;
}

/** Mean ± standard error. */
function spread(values: readonly number[]): string {
  const centre = mean(values);
  const error = Math.sqrt(values.reduce((sum, value) => sum + (value - centre) ** 2, 0) / (values.length - 1) / values.length);
  return `${centre.toFixed(4)} ± ${error.toFixed(4)}`;
}
