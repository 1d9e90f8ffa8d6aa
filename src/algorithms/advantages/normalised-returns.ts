import { trajectoryEnds } from "../step/episodes.ts";
import { defineAdvantage, discount, episodesOf, tokenRewards } from "./advantage.ts";
import { discountedReturns } from "./returns.ts";
import { whitened } from "./statistics.ts";

/** REINFORCE++ (arXiv:2501.03262): the discounted return of each token, whitened over the batch. γ = 1: verl's default. */
export const normalisedReturnsKind = defineAdvantage({
  kind: "normalised-returns",
  formula: "discounted return of each token, whitened over the batch",
  source: "arXiv:2501.03262",
  comparedWithin: "batch",
  readsTurnRewards: true,
  settings: { gamma: discount(1) },
  estimate: ({ groups, klPenalties }, { gamma }) => {
    const episodes = episodesOf(groups);
    const returns = discountedReturns(tokenRewards(episodes, klPenalties), gamma, trajectoryEnds(episodes));
    return { episodes, advantages: whitened(returns), metrics: {} };
  },
});
