import { type Batch, unitsOf } from "./batch.ts";
import type { Cell } from "./cell.ts";
import type { LabRules } from "./config.ts";
import type { Layout, Policy } from "./policy.ts";

/** The objective that a turn update optimises. `carried` has M for every trajectory of the batch. */
export interface TurnUpdate {
  readonly turns: readonly number[];
  /** The units of these turns. */
  readonly ranges: readonly UnitRange[];
  readonly batch: Batch;
  /** count × units. */
  readonly advantages: Float64Array;
  readonly carried: Float64Array;
  /** The policy that ratios are taken to: as the turn update finds it, or the one that sampled. */
  readonly old: Policy;
}

/** A unit: its number, its first token, and the one after its last. */
export type UnitRange = readonly [unit: number, from: number, to: number];

/** The units of the updated turns. */
export function unitRanges(level: Cell["level"], layout: Layout, turns: readonly number[]): UnitRange[] {
  const { tokens } = layout.size;
  if (level === "sequence") return [[0, 0, layout.decisions]];
  if (level === "turn") return turns.map((t) => [t, t * tokens, (t + 1) * tokens]);
  return turns.flatMap((t) =>
    Array.from({ length: tokens }, (_, j): UnitRange => [t * tokens + j, t * tokens + j, t * tokens + j + 1]),
  );
}

/**
 * The objective of a turn update and its gradient with respect to the logits.
 *
 *   reinforce   Σ_i w_i M_i Σ_u A_iu Σ_{j∈u} log π(a_ij)
 *   ppu         Σ_i w_i M_i Σ_u min(ρ_iu A_iu, clip(ρ_iu, 1−ε, 1+ε) A_iu)
 *               ρ_iu = exp( 1/|u| Σ_{j∈u} (log π(a_ij) − log π_old(a_ij)) ); without the 1/|u| where `ratio` is "plain"
 *
 * Sums over units, not means: at θ = old and with one token a unit the gradient of both is that of J.
 * @returns the value; the gradient is written into `gradient`, rows × vocabulary
 */
export function objective(
  { update, level }: Pick<Cell, "update" | "level">,
  layout: Layout,
  policy: Policy,
  { ranges, batch, advantages, carried, old }: TurnUpdate,
  { clip, ratio }: Pick<LabRules, "clip" | "ratio">,
  gradient: Float64Array,
): number {
  const { decisions, leaves, cellOf, rows } = layout;
  const { vocabulary } = layout.size;
  const units = unitsOf(level, layout);
  gradient.fill(0);
  let value = 0;
  const ppu = update === "ppu";
  for (let r = 0; r < ranges.length; r++) {
    const [unit, from, to] = ranges[r];
    const length = ratio === "normalised" ? to - from : 1;
    // Neighbours in an exact batch are one trajectory with two rewards.
    let [last, product, rho] = [-1, 1, 1];
    for (let i = 0; i < batch.count; i++) {
      const advantage = advantages[i * units + unit];
      let coefficient = batch.weights[i] * carried[i] * advantage;
      if (coefficient === 0) continue;
      const base = (batch.contexts[i] * leaves + batch.leaves[i]) * decisions;
      if (base !== last) {
        [last, product] = [base, 1];
        for (let k = from; k < to; k++) {
          const at = cellOf[base + k];
          product *= ppu ? policy[at] / old[at] : policy[at];
        }
        if (ppu) rho = length === 1 ? product : length === 2 ? Math.sqrt(product) : product ** (1 / length);
      }
      if (!ppu) value += coefficient * Math.log(product);
      else if (advantage > 0 ? rho > 1 + clip : rho < 1 - clip) {
        value += coefficient * (advantage > 0 ? 1 + clip : 1 - clip);
        continue;
      } else {
        value += coefficient * rho;
        coefficient = (coefficient * rho) / length;
      }
      for (let k = from; k < to; k++) gradient[cellOf[base + k]] += coefficient;
    }
  }
  // From d/d log π(token) to d/d logit: subtract each row's sum times the row's probabilities.
  for (let start = 0; start < rows * vocabulary; start += vocabulary) {
    let sum = 0;
    for (let token = 0; token < vocabulary; token++) sum += gradient[start + token];
    if (sum !== 0) for (let token = 0; token < vocabulary; token++) gradient[start + token] -= sum * policy[start + token];
  }
  return value;
}
