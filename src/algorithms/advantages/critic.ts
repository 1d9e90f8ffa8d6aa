import { DivergenceError, EngineError } from "../../core/errors.ts";
import type { Critic, Policy } from "../../core/policy.ts";
import type { Turn } from "../../core/trajectory.ts";
import type { MetricValues } from "../metrics.ts";
import { type Aggregation, tokenScales } from "../objectives/aggregation.ts";
import type { LossAndWeights, TokenRows } from "../objectives/objective.ts";
import { valueLoss } from "../objectives/value.ts";
import { type Episode, turnsOf } from "../step/episodes.ts";
import { checkedRows, type FixedRows } from "../step/minimise.ts";

export interface CriticSettings {
  readonly learningRateScale: number;
  readonly valueClip: number;
}

/** @throws EngineError if the engine has no critic */
export function criticOf({ critic }: Policy): Critic {
  if (critic !== undefined) return critic;
  throw new EngineError("policy.critic", undefined, {
    expected: 'an engine with the capability "critic"',
    hint: "Advantages of kind gae need a value function; group-relative ones, such as grpo's, do not.",
  });
}

/**
 * One step of the critic down the clipped value loss over the tokens that have a return.
 * @param returns one row per turn, NaN where the critic is not fitted
 * @throws EngineError if a value or the loss is not finite; the critic has then not been moved
 */
export async function fitCritic(
  critic: Critic,
  episodes: readonly Episode[],
  { returns, oldValues, aggregation }: { returns: FixedRows; oldValues: FixedRows; aggregation: Aggregation },
  { learningRateScale, valueClip }: CriticSettings,
): Promise<MetricValues> {
  const turns = turnsOf(episodes);
  const [targets, old] = [returns(turns), oldValues(turns)];
  const tokenScale = fittedScales(episodes, targets, aggregation);
  let result: LossAndWeights | undefined;
  await critic.forwardBackward(turns, (rows) => {
    const values = checkedRows("value", turns, rows);
    result = valueLoss(fitted(targets, { values, oldValues: old, returns: targets, tokenScales: tokenScale }), { valueClip });
    return unfitted(turns, targets, result.weights);
  });
  if (result === undefined) throw new EngineError("critic.forwardBackward", undefined, { expected: "one call of decide" });
  if (!Number.isFinite(result.loss))
    throw new DivergenceError("loss of the critic", result.loss, { expected: "a finite number" });
  if (!result.weights.some((row) => row.some((weight) => weight !== 0))) return result.metrics;
  const { gradientNorm } = await critic.step(learningRateScale);
  return { ...result.metrics, criticGradientNorm: gradientNorm };
}

/** One number per turn: what a fitted token counts. A sequence is a trajectory, its length the tokens that are fitted. */
function fittedScales(episodes: readonly Episode[], targets: TokenRows, aggregation: Aggregation): number[] {
  let next = 0;
  const lengths = episodes.map(({ turns }) =>
    turns.reduce((sum) => sum + targets[next++].filter((target) => !Number.isNaN(target)).length, 0),
  );
  const scales = tokenScales(lengths, aggregation);
  return episodes.flatMap(({ turns }, e) => turns.map(() => scales[e]));
}

type ValueRows = Parameters<typeof valueLoss>[0];

/** The rows without the tokens that have no return. */
function fitted(targets: TokenRows, { values, oldValues, returns, tokenScales: scales }: ValueRows): ValueRows {
  const kept = (rows: TokenRows) => rows.map((row, i) => row.filter((_, t) => !Number.isNaN(targets[i][t])));
  return { values: kept(values), oldValues: kept(oldValues), returns: kept(returns), tokenScales: scales };
}

/** Weights of fitted tokens put back among 0 for the others. */
function unfitted(turns: readonly Turn[], targets: TokenRows, weights: TokenRows): number[][] {
  return turns.map((_, i) => {
    let next = 0;
    return targets[i].map((target) => (Number.isNaN(target) ? 0 : weights[i][next++]));
  });
}
