import { z } from "zod";
import type { Policy } from "../../core/policy.ts";
import type { ActionInContext, Turn } from "../../core/trajectory.ts";
import { type MetricValues, Spread } from "../metrics.ts";
import { clamp, type LossAndWeights } from "../objectives/objective.ts";
import { type Episode, turnsOf } from "./episodes.ts";
import { checkedRows, type FixedRows, fixedLogprobs, fixedRows } from "./minimise.ts";

/** How rollouts that another policy sampled are weighted. docs/rollouts.md says what each choice costs. */
export const correctionSchema = z
  .strictObject({
    /** Per token: TIS (F. Yao et al., 2025), AReaL (arXiv:2505.24298, §5.2). */
    level: z
      .enum(["token", "turn", "sequence"])
      .default("token")
      .describe("unit over which the ratio is multiplied: `token`, `turn`, or the whole trajectory (`sequence`)"),
    beyond: z
      .enum(["truncate", "mask"])
      .default("truncate")
      .describe("a ratio beyond the bounds is set to the bound (`truncate`), or its tokens are left out (`mask`)"),
    low: z.number().min(0).default(0).describe("lower bound"),
    /** 2: verl's and TIS's threshold. */
    high: z.number().positive().default(2).describe("upper bound"),
  })
  .refine(({ low, high }) => low <= high, { path: ["low"], message: "at most high" });
export type Correction = z.output<typeof correctionSchema>;

/** Weights of the action tokens of the turns that are trained, fixed for a whole update. */
export interface Importance {
  readonly weights: FixedRows;
  /** log π_prox of the turns that are trained. */
  readonly proxLogprobs: FixedRows;
  readonly metrics: MetricValues;
}

/** Log-ratios are limited to ± this, beyond any useful bound, so that a long sequence's ratio stays a number. */
const largestLogRatio = 20;

/**
 * Importance weights of tokens that a behaviour policy μ sampled, for the policy at the start of the update, π_prox.
 *
 *   token      w_t = π_prox(a_t) / μ(a_t)
 *   turn       w   = Π_t w_t over the tokens of the turn
 *   sequence   w   = Π_t w_t over the tokens of the trajectory: without bounds, the gradient of a return is unbiased
 *   truncate   w ← min(max(w, low), high)              mask   w ← w if low ≤ w ≤ high, else 0
 *
 * With the ratio π_θ/π_prox in the update rule this is the decoupled objective of AReaL (arXiv:2505.24298, eq. 5). Weights are constants: they
 * are not differentiated.
 * @param episodes the turns that are trained, with what μ recorded
 * @param known log π_prox of these turns, where it was taken already
 * @throws EngineError for a log-prob that is not finite, ShapeError where μ recorded none
 */
export async function importanceOf(
  policy: Policy,
  episodes: readonly Episode[],
  correction: Correction,
  known?: FixedRows,
): Promise<Importance> {
  const { level } = correction;
  const units = unitsOf(episodes, level);
  const scored = [...new Set(units.flatMap(({ ratioOver }) => ratioOver))];
  checkedRows(
    "sampler's log-prob",
    scored,
    scored.map(({ samplerLogprobs }) => samplerLogprobs),
  );
  const proxLogprobs = known ?? fixedLogprobs(scored, await policy.logprobs(scored));
  const weights = new Map<ActionInContext, number[]>();
  const bounds = new Bounds(correction);
  for (const { ratioOver, trained } of units) {
    const logRatios = ratioOver.map((turn) => {
      const [prox] = proxLogprobs([turn]);
      return prox.map((logprob, t) => logprob - turn.samplerLogprobs[t]);
    });
    bounds.addTokens(logRatios);
    if (level === "token")
      for (const [i, turn] of trained.entries())
        weights.set(
          turn,
          logRatios[i].map((logRatio) => bounds.weightOf(logRatio)),
        );
    else {
      const weight = bounds.weightOf(logRatios.reduce((total, row) => row.reduce((part, logRatio) => part + logRatio, total), 0));
      for (const turn of trained)
        weights.set(
          turn,
          turn.action.map(() => weight),
        );
    }
  }
  const turns = turnsOf(episodes);
  return {
    weights: fixedRows(
      turns,
      turns.map((turn) => weights.get(turn) ?? []),
    ),
    proxLogprobs,
    metrics: bounds.metrics(),
  };
}

/** Weights by the bounds of a correction, and what is measured of them. */
class Bounds {
  readonly #correction: Correction;
  readonly #ratios = new Spread();
  #drift = 0;
  #tokens = 0;
  #counted = 0;
  #outside = 0;
  #sum = 0;
  #squares = 0;

  constructor(correction: Correction) {
    this.#correction = correction;
  }

  addTokens(logRatios: readonly (readonly number[])[]): void {
    for (const row of logRatios) for (const logRatio of row) this.#drift -= logRatio;
    this.#tokens += logRatios.reduce((count, row) => count + row.length, 0);
  }

  weightOf(logRatio: number): number {
    const { beyond, low, high } = this.#correction;
    const ratio = Math.exp(clamp(logRatio, -largestLogRatio, largestLogRatio));
    const inside = ratio >= low && ratio <= high;
    const weight = inside ? ratio : beyond === "mask" ? 0 : clamp(ratio, low, high);
    this.#ratios.add(ratio);
    this.#counted++;
    if (!inside) this.#outside++;
    this.#sum += weight;
    this.#squares += weight * weight;
    return weight;
  }

  metrics(): MetricValues {
    if (this.#tokens === 0) return {};
    return {
      ...this.#ratios.named("importance"),
      importanceBounded: this.#outside / this.#counted,
      effectiveSampleShare: this.#squares === 0 ? 0 : (this.#sum * this.#sum) / (this.#counted * this.#squares),
      behaviourKl: this.#drift / this.#tokens,
    };
  }
}

/** Turns whose tokens' ratios are multiplied up, and those trained turns that get the product. At token level each token has its own. */
interface Unit {
  readonly ratioOver: readonly Turn[];
  readonly trained: readonly Turn[];
}

function unitsOf(episodes: readonly Episode[], level: Correction["level"]): Unit[] {
  if (level !== "sequence") return turnsOf(episodes).map((turn) => ({ ratioOver: [turn], trained: [turn] }));
  // All turns of a trajectory led to its return, also those that are not trained here.
  return episodes.map(({ trajectory, turns }) => ({ ratioOver: trajectory.turns, trained: turns }));
}

/** A loss with its tokens weighted. The scalar stays that of the loss without weights: only its gradient moves a policy. */
export function weighted(loss: LossAndWeights, rows: ReturnType<FixedRows>): LossAndWeights {
  return { ...loss, weights: loss.weights.map((row, i) => row.map((weight, t) => weight * rows[i][t])) };
}
