import { carriedRatio } from "../../src/algorithms/seeupo/carried-ratios.ts";
import type { Random } from "../../src/core/random.ts";
import { advantagesOf, type Batch } from "./batch.ts";
import type { Cell } from "./cell.ts";
import type { LabRules } from "./config.ts";
import { type ClippedSimplex, maximiseClipped } from "./maximise.ts";
import { withDrift, withinRegion } from "./mirror.ts";
import { objective, type TurnUpdate } from "./objective.ts";
import { actionProbabilities, type Layout, normalise, type Policy, setActionProbabilities } from "./policy.ts";
import type { Problem } from "./problem.ts";

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
  const advantages = advantagesOf(cell, problem, batch);
  const carried = new Float64Array(batch.count).fill(1);
  let now = policy;
  for (const turns of turnUpdates) {
    const turnUpdate = { turns, batch, advantages, carried, old: cell.carry === "paper" ? policy : now, now };
    const next =
      cell.optimise === "steps" ? climbed(layout, turnUpdate, rules) : maximised(cell.optimise, layout, turnUpdate, rules);
    if (cell.carry !== "off") carry(cell.carry, layout, turnUpdate, next, rules);
    now = next;
  }
  return now;
}

/** M ← M · π_new(a_t)/π_old(a_t), exactly or as SeeUPO's code clips it. */
function carry(
  how: "exact" | "clipped" | "paper",
  { decisions, leaves, cellOf, size: { tokens } }: Layout,
  { turns, batch, carried, old }: TurnUpdate,
  next: Policy,
  { carryClip }: LabRules,
): void {
  const range = { low: carryClip, high: carryClip };
  for (const turn of turns)
    for (let i = 0; i < batch.count; i++) {
      const from = (batch.contexts[i] * leaves + batch.leaves[i]) * decisions + turn * tokens;
      let ratio = 1;
      for (let k = from; k < from + tokens; k++) ratio *= old[cellOf[k]] === 0 ? 1 : next[cellOf[k]] / old[cellOf[k]];
      carried[i] = how !== "clipped" ? carried[i] * ratio : carriedRatio(carried[i], ratio ** (1 / tokens), range);
    }
}

/** Gradient steps on the logits. */
function climbed(layout: Layout, turnUpdate: Move, rules: LabRules): Policy {
  const policy = turnUpdate.now.slice();
  const gradient = new Float64Array(policy.length);
  for (let step = 0; step < rules.steps; step++) {
    objective(layout, policy, turnUpdate, rules, gradient);
    // A softmax cannot reach 0: its logits are finite. What underflows stays at the smallest number.
    for (let i = 0; i < policy.length; i++)
      if (gradient[i] !== 0) policy[i] = Math.max(1e-300, policy[i] * Math.exp(Math.min(500, rules.stepSize * gradient[i])));
    normalise(policy, layout.size.vocabulary);
  }
  return policy;
}

/** The distribution over a node's actions that an operator chooses. Without a clip the objective is linear in ρ. */
const operators: Readonly<
  Record<Exclude<Cell["optimise"], "steps">, (simplex: ClippedSimplex, rules: LabRules) => Float64Array>
> = {
  respond: (simplex, { floor }) => maximiseClipped(simplex, { low: 1, high: Infinity, floor: floor / simplex.old.length }),
  maximise: (simplex, { clip, floor }) => maximiseClipped(simplex, { low: clip, high: clip, floor: floor / simplex.old.length }),
  kl: (simplex, { eta }) => withDrift(simplex, eta),
  trust: (simplex, { delta }) => withinRegion(simplex, delta),
};

/** The policy that maximises an objective of the updated turns, node by node. */
function maximised(operator: keyof typeof operators, layout: Layout, turnUpdate: Move, rules: LabRules): Policy {
  const { turns, batch, advantages, carried, old, now } = turnUpdate;
  const { actions, nodes, leaves, nodeOf, actionOf, size } = layout;
  const policy = now.slice();
  const [gain, loss] = [0, 0].map(() => Array.from({ length: nodes }, () => new Float64Array(actions)));
  const touched = new Set<number>();
  for (const turn of turns)
    for (let i = 0; i < batch.count; i++) {
      const node = nodeOf[(batch.contexts[i] * leaves + batch.leaves[i]) * size.turns + turn];
      const action = actionOf[batch.leaves[i] * size.turns + turn];
      const signed = batch.weights[i] * carried[i] * advantages[i];
      (signed > 0 ? gain : loss)[node][action] += signed;
      touched.add(node);
    }
  for (const node of touched) {
    const before = actionProbabilities(layout, old, node);
    const after = operators[operator]({ gain: gain[node], loss: loss[node], old: before }, rules);
    setActionProbabilities(layout, policy, node, after);
  }
  return policy;
}
