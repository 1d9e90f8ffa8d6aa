import type { Group } from "../../core/trajectory.ts";
import { withReturns } from "./episodes.ts";

export interface OverlongPunishment {
  /** L_max in tokens: from here on the punishment is full. */
  readonly limit: number;
  /** L_cache: the last tokens before the limit, over which the punishment grows. */
  readonly buffer: number;
  /** The amount that the full punishment takes from the return. */
  readonly penalty: number;
}

/**
 * Soft overlong punishment (DAPO, arXiv:2503.14476, eq. 13), times `penalty`. In units of the return, 0 or less.
 *
 *   0                                      |y| ≤ L_max − L_cache
 *   ((L_max − L_cache) − |y|) / L_cache    between
 *   −1                                     |y| > L_max
 *
 * @param tokens |y|
 */
export function overlongPunishment(tokens: number, { limit, buffer, penalty }: OverlongPunishment): number {
  if (tokens > limit) return -penalty;
  return tokens <= limit - buffer ? 0 : (penalty * (limit - buffer - tokens)) / buffer;
}

/** Returns with the punishment added; |y| counts the action tokens of all turns of a trajectory. */
export function punishOverlong(
  groups: readonly Group[],
  punishment: OverlongPunishment,
): { groups: Group[]; overlongMean: number } {
  let sum = 0;
  let count = 0;
  const punished = withReturns(groups, ({ reward, turns }) => {
    const tokens = turns.reduce((total, { action }) => total + action.length, 0);
    const change = overlongPunishment(tokens, punishment);
    sum += change;
    count++;
    return reward + change;
  });
  return { groups: punished, overlongMean: count === 0 ? 0 : sum / count };
}
