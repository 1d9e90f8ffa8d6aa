import { defineAdvantage, penalised, perTrajectory, singletonGroups } from "./advantage.ts";
import { groupRelativeAdvantages } from "./group-relative.ts";
import { whitened } from "./statistics.ts";

/** The variant of REINFORCE++ (arXiv:2501.03262) with a baseline: return minus the group's mean, whitened over the batch's tokens. */
export const normalisedGroupRelativeKind = defineAdvantage({
  kind: "normalised-group-relative",
  formula: "R − group's mean, whitened over the batch",
  source: "arXiv:2501.03262",
  comparedWithin: "group",
  settings: { singletonGroups },
  estimate: (evidence, config) => {
    const { episodes, advantages, metrics } = perTrajectory(
      evidence.groups,
      groupRelativeAdvantages(penalised(evidence), { std: "none", ...config }),
    );
    return { episodes, advantages: whitened(advantages), metrics };
  },
});
