import type { Logprobs } from "../../core/policy.ts";
import type { ActionInContext, TrajectoryId } from "../../core/trajectory.ts";
import { type ClipRange, clamp, clipRatio, meanDifference } from "../objectives/objective.ts";

/** r, new over old of one turn: exp(mean_j (new_j − old_j)), the mean limited to ±10 as in SeeUPO's code. Not yet clipped. */
export function turnRatio(logprobs: readonly number[], oldLogprobs: readonly number[]): number {
  return Math.exp(clamp(meanDifference(logprobs, oldLogprobs), -10, 10));
}

/** M after a turn whose ratio is r: clip(M · clip(r)). */
export function carriedRatio(carried: number, ratio: number, clip: ClipRange): number {
  return clipRatio(carried * clipRatio(ratio, clip), clip);
}

/**
 * SeeUPO's M: how far the turn updates so far have moved each trajectory.
 * Keyed by trajectory and never by row, so that no reordering can attach it to another.
 */
export class CarriedRatios {
  readonly #clip: ClipRange;
  readonly #ratios = new Map<TrajectoryId, number>();

  constructor(clip: ClipRange) {
    this.#clip = clip;
  }

  /** M, which is 1 until the trajectory's first `carry`. */
  of(trajectory: TrajectoryId): number {
    return this.#ratios.get(trajectory) ?? 1;
  }

  /** @returns the turns' r before clipping */
  carry(samples: readonly ActionInContext[], oldLogprobs: Logprobs, newLogprobs: Logprobs): number[] {
    return samples.map(({ trajectory }, i) => {
      const ratio = turnRatio(newLogprobs[i], oldLogprobs[i]);
      this.#ratios.set(trajectory, carriedRatio(this.of(trajectory), ratio, this.#clip));
      return ratio;
    });
  }

  /** M as `carry` would leave it. This one stays as it is. */
  after(samples: readonly ActionInContext[], oldLogprobs: Logprobs, newLogprobs: Logprobs): CarriedRatios {
    const next = new CarriedRatios(this.#clip);
    for (const [trajectory, ratio] of this.#ratios) next.#ratios.set(trajectory, ratio);
    next.carry(samples, oldLogprobs, newLogprobs);
    return next;
  }

  /** M of every trajectory that was carried. */
  all(): ReadonlyMap<TrajectoryId, number> {
    return this.#ratios;
  }
}
