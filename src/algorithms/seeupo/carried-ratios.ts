import { DivergenceError } from "../../core/errors.ts";
import type { Logprobs } from "../../core/policy.ts";
import type { ActionInContext, TrajectoryId } from "../../core/trajectory.ts";
import { type ClipRange, clamp, clipRatio, meanDifference } from "../objectives/objective.ts";
import type { SeeupoConfig } from "./settings.ts";

/** How r is taken from the log-probs of a turn, and where r and M are clipped. */
export type CarryRules = Pick<SeeupoConfig, "carryRatio" | "carryClip">;

/**
 * r of one turn, π after its update over π before: "product" is eq. 4's ratio of the whole action, "geometric" its mean per token, as GSPO
 * has it and as eq. 6 takes it. Not yet clipped; with a clip the mean is limited to ±10 nats, as in SeeUPO's code.
 */
export function turnRatio(
  logprobs: readonly number[],
  oldLogprobs: readonly number[],
  { carryRatio, carryClip }: CarryRules,
): number {
  const mean = meanDifference(logprobs, oldLogprobs);
  const limited = carryClip === "off" ? mean : clamp(mean, -10, 10);
  return Math.exp(carryRatio === "product" ? limited * logprobs.length : limited);
}

/** M after a turn whose ratio is r: M · r (eq. 8), or clip(M · clip(r)), as SeeUPO's code has it. */
export function carriedRatio(carried: number, ratio: number, clip: ClipRange | "off"): number {
  return clip === "off" ? carried * ratio : clipRatio(carried * clipRatio(ratio, clip), clip);
}

/**
 * SeeUPO's M over the advantage it begins with: how far the turn updates so far have moved each trajectory.
 * Keyed by trajectory and never by row, so that no reordering can attach it to another.
 */
export class CarriedRatios {
  readonly #rules: CarryRules;
  readonly #ratios = new Map<TrajectoryId, number>();

  constructor(rules: CarryRules) {
    this.#rules = rules;
  }

  /** M, which is 1 until the trajectory's first `carry`. */
  of(trajectory: TrajectoryId): number {
    return this.#ratios.get(trajectory) ?? 1;
  }

  /**
   * @returns the turns' r before clipping
   * @throws EngineError naming the first trajectory whose M is beyond all numbers
   */
  carry(samples: readonly ActionInContext[], oldLogprobs: Logprobs, newLogprobs: Logprobs): number[] {
    return samples.map(({ trajectory, turn }, i) => {
      const ratio = turnRatio(newLogprobs[i], oldLogprobs[i], this.#rules);
      const carried = carriedRatio(this.of(trajectory), ratio, this.#rules.carryClip);
      if (!Number.isFinite(carried))
        throw new DivergenceError(`M of trajectory ${trajectory} after the update of turn ${turn}`, carried, {
          expected: "a finite number",
          hint: 'The update moved the turn too far: take a smaller learning rate, algorithm.carryRatio "geometric", or an algorithm.carryClip.',
        });
      this.#ratios.set(trajectory, carried);
      return ratio;
    });
  }

  /** M as `carry` would leave it. This one stays as it is. */
  after(samples: readonly ActionInContext[], oldLogprobs: Logprobs, newLogprobs: Logprobs): CarriedRatios {
    const next = new CarriedRatios(this.#rules);
    for (const [trajectory, ratio] of this.#ratios) next.#ratios.set(trajectory, ratio);
    next.carry(samples, oldLogprobs, newLogprobs);
    return next;
  }

  /** M of every trajectory that was carried. */
  all(): ReadonlyMap<TrajectoryId, number> {
    return this.#ratios;
  }
}
