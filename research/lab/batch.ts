import type { Random } from "../../src/core/random.ts";
import type { Cell } from "./cell.ts";
import { chancesFor, type Layout, leafProbabilities, type Policy } from "./policy.ts";
import type { Problem } from "./problem.ts";
import { spanAfter, spanBefore, valuesOf } from "./values.ts";

/** Trajectories with their weights: all of them with their probabilities, or a sampled few with equal weights. Weights sum to 1. */
export interface Batch {
  readonly count: number;
  readonly contexts: Int32Array;
  readonly leaves: Int32Array;
  readonly rewards: Float64Array;
  readonly weights: Float64Array;
  /** The number of members of a context's group, in sampled batches. The groups follow one after the other. */
  readonly groupSize: number | undefined;
}

/** Every trajectory, and where the reward is random both of its values, under a policy. */
export function exactBatch(
  problem: Problem,
  layout: Layout,
  policy: Policy,
  probabilities: Float64Array = leafProbabilities(layout, policy, chancesFor(problem)),
): Batch {
  const { count, ...trajectories } = everyTrajectory(problem, layout);
  const copies = count / probabilities.length;
  const weights = new Float64Array(count);
  for (let i = 0; i < count; i++) weights[i] = probabilities[Math.floor(i / copies)] / problem.size.contexts / copies;
  return { count, ...trajectories, weights, groupSize: undefined };
}

const known = new WeakMap<Problem, Omit<Batch, "weights" | "groupSize">>();

/** The part of an exact batch that no policy changes, made once for each problem. */
function everyTrajectory(problem: Problem, { leaves }: Layout): Omit<Batch, "weights" | "groupSize"> {
  const before = known.get(problem);
  if (before !== undefined) return before;
  const { spreads, means } = problem;
  const noisy = spreads.some((spread) => spread > 0);
  const entries = noisy ? Array.from(means, (_, entry) => [entry, entry]).flat() : [...means.keys()];
  const made = {
    count: entries.length,
    contexts: Int32Array.from(entries, (entry) => Math.floor(entry / leaves)),
    leaves: Int32Array.from(entries, (entry) => entry % leaves),
    rewards: Float64Array.from(entries, (entry, i) => means[entry] + (i % 2 === 0 ? 1 : -1) * (noisy ? spreads[entry] : 0)),
  };
  known.set(problem, made);
  return made;
}

/** One group of G trajectories for every context. @param probabilities of the leaves, by which they are sampled */
export function sampledBatch(
  problem: Problem,
  layout: Layout,
  probabilities: Float64Array,
  groupSize: number,
  random: Random,
): Batch {
  const { contexts } = problem.size;
  const chosen: number[] = [];
  for (let i = 0; i < contexts * groupSize; i++) {
    const first = Math.floor(i / groupSize) * layout.leaves;
    let rest = random.uniform();
    let leaf = 0;
    while (leaf < layout.leaves - 1 && (rest -= probabilities[first + leaf]) >= 0) leaf++;
    chosen.push(leaf);
  }
  const signs = chosen.map(() => (random.chance(0.5) ? 1 : -1));
  return groupBatch(problem, layout, groupSize, chosen, signs);
}

/** The batch of given groups: `contexts · groupSize` leaves. `signs` choose the outcome where the reward is random. */
export function groupBatch(
  problem: Problem,
  layout: Layout,
  groupSize: number,
  chosen: readonly number[],
  signs: readonly number[] = chosen.map(() => 1),
): Batch {
  const batch = emptyBatch(chosen.length, groupSize);
  for (let i = 0; i < chosen.length; i++) {
    batch.contexts[i] = Math.floor(i / groupSize);
    batch.leaves[i] = chosen[i];
    const entry = batch.contexts[i] * layout.leaves + chosen[i];
    batch.rewards[i] = problem.means[entry] + signs[i] * problem.spreads[entry];
    batch.weights[i] = 1 / chosen.length;
  }
  return batch;
}

function emptyBatch(count: number, groupSize: number | undefined) {
  return {
    count,
    groupSize,
    contexts: new Int32Array(count),
    leaves: new Int32Array(count),
    rewards: new Float64Array(count),
    weights: new Float64Array(count),
  };
}

/** Parts of a trajectory that have a ratio of their own. */
export function unitsOf(level: Cell["level"], { decisions, size }: Layout): number {
  return level === "token" ? decisions : level === "turn" ? size.turns : 1;
}

/**
 * count × units advantages under the policy that the batch is from, the policy at the start of the update.
 *
 *   gae        A_u = Q(s_u, a_u) − V(s_u): an exact critic of the whole state (context and history, whatever the policy sees), γ = 1, λ = 0;
 *              Q is averaged over the answer to come.
 *              In a sampled group the last unit has the reward that was drawn instead of Q.
 *   grae       A = R − J(x); in a sampled group R − mean of the group
 *   grae-std   the same over (σ + 1e-6), σ of the return in the context; in a group that of its members
 */
export function advantagesOf(
  { advantage, level }: Pick<Cell, "advantage" | "level">,
  problem: Problem,
  layout: Layout,
  policy: Policy,
  batch: Batch,
): Float64Array {
  const units = unitsOf(level, layout);
  const advantages =
    advantage === "gae"
      ? criticAdvantages(problem, layout, policy, batch, units)
      : groupAdvantages(advantage === "grae-std", problem, batch, units);
  // What is left of equal numbers by rounding is no advantage: the maximiser would follow it, however small.
  for (let i = 0; i < advantages.length; i++) if (Math.abs(advantages[i]) < roundingNoise) advantages[i] = 0;
  return advantages;
}

const roundingNoise = 1e-13;

function groupAdvantages(divide: boolean, problem: Problem, batch: Batch, units: number): Float64Array {
  const { contexts } = problem.size;
  const [mass, first, second] = [0, 0, 0].map(() => new Float64Array(contexts));
  for (let i = 0; i < batch.count; i++) {
    mass[batch.contexts[i]] += batch.weights[i];
    first[batch.contexts[i]] += batch.weights[i] * batch.rewards[i];
  }
  for (let x = 0; x < contexts; x++) first[x] /= mass[x];
  for (let i = 0; divide && i < batch.count; i++)
    second[batch.contexts[i]] += batch.weights[i] * (batch.rewards[i] - first[batch.contexts[i]]) ** 2;
  // In a group the deviation is the sample's, with G − 1, as the presets compute it; the exact one is that of the whole distribution.
  const members = batch.groupSize;
  const correction = members === undefined ? 1 : members / Math.max(1, members - 1);
  const result = new Float64Array(batch.count * units);
  for (let i = 0; i < batch.count; i++) {
    const x = batch.contexts[i];
    const difference = batch.rewards[i] - first[x];
    const centred = Math.abs(difference) < roundingNoise ? 0 : difference;
    const value = divide ? centred / (Math.sqrt((second[x] / mass[x]) * correction) + 1e-6) : centred;
    for (let u = i * units; u < (i + 1) * units; u++) result[u] = value;
  }
  return result;
}

function criticAdvantages(problem: Problem, layout: Layout, policy: Policy, batch: Batch, units: number): Float64Array {
  const { before, after } = valuesOf(problem, layout, policy);
  const { decisions, leaves } = layout;
  const { size } = problem;
  const tokens = decisions / units;
  const result = new Float64Array(batch.count * units);
  for (let u = 0; u < units; u++) {
    const [start, end] = [u * tokens, (u + 1) * tokens];
    const [spanStart, spanEnd] = [spanBefore(size, start), spanAfter(size, end)];
    const drawn = u === units - 1 && batch.groupSize !== undefined;
    for (let i = 0; i < batch.count; i++) {
      const leaf = batch.contexts[i] * leaves + batch.leaves[i];
      const next = drawn ? batch.rewards[i] : after[end][Math.floor(leaf / spanEnd)];
      result[i * units + u] = next - before[start][Math.floor(leaf / spanStart)];
    }
  }
  return result;
}
