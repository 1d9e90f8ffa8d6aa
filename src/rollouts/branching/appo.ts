import { mean } from "../../core/mean.ts";
import { defineBranchRule, type ForkPoint, type PlayedAction } from "./rule-kind.ts";

/**
 * Branching inside of actions, APPO (arXiv:2606.12384, eq. 5; `build_appo_branch_request` of AMAP-ML/APPO): once the N first rollouts of a
 * task have ended, every token of their actions has a Branching Score. The tokens with the highest ones are kept with all before them, and
 * what follows is sampled again.
 *
 *   BS_t = Z(H_t) · Z(Ω_t)          Z(x) = (x − mean x) / (std x + 1e-6) over the tokens of one rollout's actions
 *
 * H_t is the entropy of the distribution that token t was drawn from. Ω_t is the gain in likelihood of what followed (objectives/appo.ts) under the
 * policy that scores, over the one that sampled. Here they are one policy in one arithmetic: every Ω_t is exactly 1, its Z is 0, and the product
 * would order nothing. So BS_t = Z(H_t), which the published code falls back to while it samples (`APPOBrancher`). Where it multiplies by Z(Ω_t),
 * another engine scores under the same weights, before any update: Z then standardises what two arithmetics differ by. Ω counts in the update,
 * whose policy has moved. The paper finds entropy alone an unreliable sign of influence.
 *
 * As in the code: tokens that are white space are no points, a fork follows its token, and forks do not branch again. Other than there: the
 * last token of an action is no point, since nothing follows it; rollouts without a score have none; with fewer points than leaves the rest
 * are new rollouts, where the code repeats points. What is credited is another choice, the authors' in advantages/dual-group.ts.
 */
export const appoRule = defineBranchRule({
  kind: "appo",
  formula: "inside actions of finished rollouts: after the tokens with the highest Z(H)",
  source: "arXiv:2606.12384",
  settings: {},
  choose: (rollouts, points) =>
    rollouts
      .flatMap(scored)
      .toSorted((a, b) => b.score - a.score)
      .slice(0, points)
      .map(({ score: _, ...point }) => point),
});

/** The points of one rollout, in their order. */
function scored(actions: readonly PlayedAction[], rollout: number): (ForkPoint & { readonly score: number })[] {
  const all = actions.flatMap(({ entropies }) => entropies);
  if (all.length === 0) return [];
  const centre = mean(all);
  const deviation = Math.sqrt(mean(all.map((entropy) => (entropy - centre) ** 2)));
  return actions.flatMap(({ entropies, texts }, action) =>
    entropies.slice(0, -1).flatMap((entropy, t) => {
      if (texts[t]?.trim() === "") return [];
      return [{ rollout, action, kept: t + 1, score: (entropy - centre) / (deviation + 1e-6) }];
    }),
  );
}
