import { z } from "zod";
import { Spread } from "../metrics.ts";
import { type ClipRange, checkRows, clamp, type LossAndWeights, meanDifference, type SurrogateBatch } from "./objective.ts";
import { clipRange, defineUpdate } from "./update-kind.ts";

export interface PpuOptions {
  /** Where the ratio is taken: ρ_t of each token, or one s for a whole row. */
  readonly level: "token" | "sequence";
  readonly clip: ClipRange;
  /** Bounds the loss of a token with negative advantage by −A·dualClip (arXiv:1912.09729). Off if left out. */
  readonly dualClip?: number;
}

/**
 * Proximal policy update: PPO's clipped surrogate (arXiv:1707.06347, eq. 7).
 *
 *   ρ_t = exp(logπ_t − logπ_old,t)                          level "token"
 *   ρ_t = s = exp( mean_t (logπ_t − logπ_old,t) )           level "sequence": GSPO (arXiv:2507.18071, §4.1)
 *   ℓ_t = max(−A_t ρ_t, −A_t clip(ρ_t, 1−low, 1+high)),  and where A_t < 0 at most −A_t·dualClip
 *
 * Where advantages differ within a row, the weights at level "sequence" are GSPO-token's (§4.3): −A_t s for token t.
 * Log-ratios are limited to ±20 at token level and to at most 10 at sequence level, beyond which the gradient is 0
 * (verl's bounds, wide of any useful clip range).
 * @throws ShapeError if rows do not fit each other
 * @example
 * const { loss, weights } = ppu(
 *   { logprobs: [[-1, -2]], oldLogprobs: [[-1, -2]], advantages: [[0.5, 0.5]], tokenScales: [0.5] },
 *   { level: "token", clip: { low: 0.2, high: 0.2 } },
 * ); // weights [[0.25, 0.25]]
 */
export function ppu(batch: SurrogateBatch, { level, clip, dualClip = Infinity }: PpuOptions): LossAndWeights {
  const { logprobs, oldLogprobs, advantages, tokenScales } = batch;
  checkRows({ logprobs, oldLogprobs, advantages }, tokenScales);
  const perToken = level === "token";
  const [lowest, highest] = perToken ? [-20, 20] : [-Infinity, 10];
  const weights: number[][] = [];
  let loss = 0;
  let tokens = 0;
  let clipped = 0;
  let dualClipped = 0;
  let drift = 0;
  /** One a token, or one a row. */
  const ratios = new Spread();

  for (let b = 0; b < logprobs.length; b++) {
    const [row, old, scale] = [logprobs[b], oldLogprobs[b], tokenScales[b]];
    const weight = new Array<number>(row.length);
    let logRatio = perToken ? 0 : meanDifference(row, old);
    let limited = clamp(logRatio, lowest, highest);
    let ratio = perToken ? 1 : Math.exp(limited);
    for (let t = 0; t < row.length; t++) {
      if (perToken) {
        logRatio = row[t] - old[t];
        limited = clamp(logRatio, lowest, highest);
        ratio = Math.exp(limited);
      }
      if (perToken || t === 0) ratios.add(ratio);
      const advantage = advantages[b][t];
      const plain = -advantage * ratio;
      const bounded = -advantage * clamp(ratio, 1 - clip.low, 1 + clip.high);
      const ceiling = advantage < 0 ? -advantage * dualClip : Infinity;
      const surrogate = Math.max(plain, bounded);
      if (bounded > plain) clipped++;
      if (surrogate > ceiling) dualClipped++;
      drift -= limited;
      loss += scale * Math.min(surrogate, ceiling);
      const moves = plain >= bounded && surrogate <= ceiling && logRatio === limited;
      weight[t] = moves ? scale * advantage * ratio : 0;
    }
    weights.push(weight);
    tokens += row.length;
  }

  if (tokens === 0) return { loss: 0, weights, metrics: {} };
  const metrics = { clipFraction: clipped / tokens, approxKl: drift / tokens, ...ratios.named("ratio") };
  return { loss, weights, metrics: dualClip === Infinity ? metrics : { ...metrics, dualClipFraction: dualClipped / tokens } };
}

export const ppuKind = defineUpdate({
  kind: "ppu",
  formula: "max(−ρA, −clip(ρ)A); the ratio of a token, of a turn, or of a whole trajectory",
  source: "arXiv:1707.06347",
  settings: {
    /** Where the ratio is taken: per token, over one turn, or over a whole trajectory. */
    level: z.enum(["token", "turn", "sequence"]).default("token"),
    /** 0.2: PPO's (arXiv:1707.06347, §6.1), and the default of verl and TRL. */
    clip: clipRange(0.2, 0.2),
    /** Bounds the loss where the advantage is negative, in multiples of it; none if left out. verl's default is 3. */
    dualClip: z.number().gt(1).optional(),
  },
  rows: ({ level }) => (level === "sequence" ? "trajectories" : "turns"),
  loss: (batch, config) => ppu(batch, { ...config, level: config.level === "token" ? "token" : "sequence" }),
});
