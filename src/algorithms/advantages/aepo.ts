import { z } from "zod";
import { mean, standardDeviation } from "../../core/mean.ts";
import type { TokenRows } from "../objectives/objective.ts";
import { turnsOf } from "../step/episodes.ts";
import { defineAdvantage, penalised, perTrajectory, singletonGroups } from "./advantage.ts";
import { groupRelativeAdvantages } from "./group-relative.ts";

/**
 * Entropy-aware advantages, AEPO (arXiv:2510.14545, §4.2): tokens that the policy was unsure of count more.
 *
 *   A_t = A_i · (1 + a · (H_t − mean H) / std H)          A_i = (R_i − mean_g R) / (std_g R + 1e-6)
 *
 * H_t is the entropy of the distribution that token t was drawn from. Its mean and deviation are over all tokens of the batch; where all
 * are equal, A_t = A_i. Held constant: no gradient flows through H.
 * @param advantages A_i at each token; `entropies` H_t in nats, rows alike
 */
export function entropyAware(advantages: TokenRows, entropies: TokenRows, a: number): number[][] {
  const all = entropies.flat();
  const [centre, deviation] = [mean(all), standardDeviation(all)];
  return advantages.map((row, b) =>
    row.map((advantage, t) => (deviation > 0 ? advantage * (1 + (a * (entropies[b][t] - centre)) / deviation) : advantage)),
  );
}

export const aepoKind = defineAdvantage({
  kind: "aepo",
  formula: "group-relative / σ, times 1 + a·(the token's entropy, standardised over the batch)",
  source: "arXiv:2510.14545",
  comparedWithin: "group",
  capabilities: ["token-entropies"],
  settings: {
    /** a: how much the entropy counts. No default: we have not found the authors' value. */
    entropyWeight: z.number().min(0),
    singletonGroups,
  },
  estimate: (evidence, { entropyWeight, ...config }) => {
    const plain = perTrajectory(evidence.groups, groupRelativeAdvantages(penalised(evidence), { std: "group", ...config }));
    const entropies = turnsOf(plain.episodes).map((turn) => turn.entropies);
    return { ...plain, advantages: entropyAware(plain.advantages, entropies, entropyWeight) };
  },
});
