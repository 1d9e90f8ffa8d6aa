import { carriedRatio } from "../../src/algorithms/seeupo/carried-ratios.ts";
import type { Random } from "../../src/core/random.ts";
import { advantagesOf, type Batch, unitsOf } from "./batch.ts";
import type { Cell } from "./cell.ts";
import type { LabRules } from "./config.ts";
import { type ClippedSimplex, maximiseClipped } from "./maximise.ts";
import { withDrift, withinRegion } from "./mirror.ts";
import { objective, type TurnUpdate, unitRanges } from "./objective.ts";
import { actionProbabilities, type Layout, leafProbabilities, normalise, type Policy, setActionProbabilities } from "./policy.ts";
import { answersOf, type Problem } from "./problem.ts";

/** A turn update, and the policy that it finds: the paper's ratios are taken to an earlier one. */
interface Move extends TurnUpdate {
  readonly now: Policy;
}

/** The turns that one update changes together, in their order. */
export function turnUpdatesOf(order: Cell["order"], turns: number, random: Random): number[][] {
  const all = Array.from({ length: turns }, (_, t) => t);
  switch (order) {
    case "joint":
      return [all];
    case "sequential":
      return all.map((t) => [t]);
    case "reverse":
      return all.reverse().map((t) => [t]);
    case "random":
      return random.shuffle(all).map((t) => [t]);
    default:
      return order satisfies never;
  }
}

/**
 * One update of a cell. The batch and its advantages are those of the policy at the start, for all turns, as one batch of rollouts is; the
 * old policy of a ratio is the policy as the turn update finds it, or with the paper's M the one that sampled; M is 1 for every trajectory at the start and carries the ratios of the turns updated before.
 */
export function update(
  cell: Cell,
  problem: Problem,
  layout: Layout,
  policy: Policy,
  batch: Batch,
  turnUpdates: readonly (readonly number[])[],
  rules: LabRules,
): Policy {
  const advantages = advantagesOf(cell, problem, layout, policy, batch);
  const carried = new Float64Array(batch.count).fill(1);
  let now = policy;
  for (const turns of turnUpdates) {
    const ranges = unitRanges(cell.level, layout, turns);
    const turnUpdate = { turns, ranges, batch, advantages, carried, old: cell.carry === "paper" ? policy : now, now };
    const next = optimised(cell, layout, turnUpdate, rules);
    if (cell.carry !== "off") carry(cell.carry, layout, turnUpdate, next, rules);
    now = next;
  }
  return now;
}

function optimised(cell: Cell, layout: Layout, turnUpdate: Move, rules: LabRules): Policy {
  const { clip, floor } = rules;
  switch (cell.optimise) {
    case "respond":
      // Without a clip the objective is linear in ρ.
      return maximised(cell, layout, turnUpdate, (simplex) =>
        maximiseClipped(simplex, { low: 1, high: Infinity, floor: floor / simplex.old.length }),
      );
    case "maximise":
      return isProduct(cell, layout)
        ? climbedToRest(cell, layout, turnUpdate, rules)
        : maximised(cell, layout, turnUpdate, (simplex) =>
            maximiseClipped(simplex, { low: clip, high: clip, floor: floor / simplex.old.length }),
          );
    case "kl":
      return maximised(cell, layout, turnUpdate, (simplex) => withDrift(simplex, rules.eta));
    case "trust":
      return maximised(cell, layout, turnUpdate, (simplex) => withinRegion(simplex, rules.delta));
    case "steps":
      return climbed(cell, layout, turnUpdate, rules);
    default:
      return cell.optimise satisfies never;
  }
}

/** True where the ratio is a product of tables that cannot be chosen as one distribution: the clipped objective is not concave then. */
export function isProduct({ level, sees }: Pick<Cell, "level" | "sees">, { size }: Pick<Layout, "size">): boolean {
  return level === "sequence" && size.turns > 1 && (sees !== "history" || answersOf(size) > 1);
}

/** M ← M · π_new(a_t)/π_old(a_t), exactly or as SeeUPO's code clips it. */
function carry(
  how: "exact" | "clipped" | "paper",
  layout: Layout,
  turnUpdate: TurnUpdate,
  next: Policy,
  { carryClip }: LabRules,
): void {
  const { turns, batch, carried, old } = turnUpdate;
  const range = { low: carryClip, high: carryClip };
  const { decisions, leaves, cellOf } = layout;
  for (const [, from, to] of unitRanges("turn", layout, turns))
    for (let i = 0; i < batch.count; i++) {
      let ratio = 1;
      for (let k = from; k < to; k++) {
        const at = cellOf[(batch.contexts[i] * leaves + batch.leaves[i]) * decisions + k];
        ratio *= old[at] === 0 ? 1 : next[at] / old[at];
      }
      carried[i] = how !== "clipped" ? carried[i] * ratio : carriedRatio(carried[i], ratio ** (1 / (to - from)), range);
    }
}

/** Gradient steps on the logits. */
function climbed(cell: Cell, layout: Layout, turnUpdate: Move, rules: LabRules): Policy {
  const policy = turnUpdate.now.slice();
  const gradient = new Float64Array(policy.length);
  for (let step = 0; step < rules.steps; step++) {
    objective(cell, layout, policy, turnUpdate, rules, gradient);
    // A softmax cannot reach 0: its logits are finite. What underflows stays at the smallest number.
    for (let i = 0; i < policy.length; i++)
      if (gradient[i] !== 0) policy[i] = Math.max(1e-300, policy[i] * Math.exp(Math.min(500, rules.stepSize * gradient[i])));
    normalise(policy, layout.size.vocabulary);
  }
  return policy;
}

/** Steps of the ascent, and how often one is halved before the ascent ends. */
const [ascentSteps, halvings] = [12, 8];

/**
 * An ascent of the clipped objective of whole trajectories, with plain ratios: a step that does not raise it is halved. Where tables are shared it
 * finds no certain maximum. It needs none: with exact advantages R − J, any policy whose objective is not below that of the old one has no lower J.
 */
function climbedToRest(cell: Cell, layout: Layout, turnUpdate: TurnUpdate, rules: LabRules): Policy {
  const plain = { clip: rules.clip, ratio: "plain" } as const;
  const { vocabulary } = layout.size;
  let policy = turnUpdate.old.slice();
  const gradient = new Float64Array(policy.length);
  const spare = new Float64Array(policy.length);
  let value = objective(cell, layout, policy, turnUpdate, plain, gradient);
  for (let step = 0; step < ascentSteps; step++) {
    const steepest = gradient.reduce((most, slope) => Math.max(most, Math.abs(slope)), 0);
    if (steepest < 1e-12) break;
    let size = 4 / steepest;
    let [next, reached] = [policy, value];
    for (let halving = 0; halving < halvings && reached <= value; halving++, size /= 4) {
      next = policy.map((p, i) => Math.max(rules.floor / vocabulary, p * Math.exp(size * gradient[i])));
      normalise(next, vocabulary);
      reached = objective(cell, layout, next, turnUpdate, plain, spare);
    }
    if (reached <= value) break;
    [policy, value] = [next, reached];
    gradient.set(spare);
  }
  return policy;
}

/** The policy that maximises an objective of the updated turns, simplex by simplex. */
function maximised(cell: Cell, layout: Layout, turnUpdate: Move, maximum: (simplex: ClippedSimplex) => Float64Array): Policy {
  const { ranges, batch, advantages, carried, old, now } = turnUpdate;
  const policy = now.slice();
  const { level } = cell;
  // With one turn a trajectory is its action, also where contexts share a table.
  const trajectories = level === "sequence" && layout.size.turns > 1;
  const { vocabulary, contexts } = layout.size;
  const width = level === "token" ? vocabulary : trajectories ? layout.leaves : layout.actions;
  const simplices = level === "token" ? layout.rows : trajectories ? contexts : layout.nodes;
  const gain = new Float64Array(simplices * width);
  const loss = new Float64Array(simplices * width);
  const touched = new Uint8Array(simplices);
  const units = unitsOf(level, layout);
  for (const [unit] of ranges)
    for (let i = 0; i < batch.count; i++) {
      const leaf = batch.leaves[i];
      const entry = batch.contexts[i] * layout.leaves + leaf;
      const simplex =
        level === "token"
          ? layout.rowOf[entry * layout.decisions + unit]
          : trajectories
            ? batch.contexts[i]
            : layout.nodeOf[entry * layout.size.turns + unit];
      const choice =
        level === "token"
          ? layout.tokenOf[leaf * layout.decisions + unit]
          : trajectories
            ? leaf
            : layout.actionOf[leaf * layout.size.turns + unit];
      const signed = batch.weights[i] * carried[i] * advantages[i * units + unit];
      if (signed > 0) gain[simplex * width + choice] += signed;
      else loss[simplex * width + choice] += signed;
      touched[simplex] = 1;
    }
  const spare = { gain: new Float64Array(width), loss: new Float64Array(width), old: new Float64Array(width) };
  const leafProbability = trajectories ? leafProbabilities(layout, old) : undefined;
  for (let s = 0; s < simplices; s++) {
    if (touched[s] === 0) continue;
    // Copies: a view of an array costs more than the few numbers that it shows.
    const part = (array: Float64Array, into: Float64Array) => {
      for (let a = 0; a < width; a++) into[a] = array[s * width + a];
      return into;
    };
    const before =
      leafProbability !== undefined
        ? part(leafProbability, spare.old)
        : level === "token"
          ? part(old, spare.old)
          : actionProbabilities(layout, old, s);
    const after = maximum({ gain: part(gain, spare.gain), loss: part(loss, spare.loss), old: before });
    if (leafProbability !== undefined) setTrajectories(layout, policy, s, after);
    else if (level === "token") policy.set(after, s * width);
    else setActionProbabilities(layout, policy, s, after);
  }
  return policy;
}

/** Writes a distribution over a context's trajectories into tables that see the full history, which can express every one. */
function setTrajectories(layout: Layout, policy: Policy, context: number, probabilities: Float64Array): void {
  const { decisions, leaves, cellOf, size } = layout;
  const sums = new Float64Array(policy.length);
  for (let leaf = 0; leaf < leaves; leaf++)
    for (let k = 0; k < decisions; k++) sums[cellOf[(context * leaves + leaf) * decisions + k]] += probabilities[leaf];
  for (let start = 0; start < sums.length; start += size.vocabulary) {
    let total = 0;
    for (let token = 0; token < size.vocabulary; token++) total += sums[start + token];
    if (total > 0) for (let token = 0; token < size.vocabulary; token++) policy[start + token] = sums[start + token] / total;
  }
}
