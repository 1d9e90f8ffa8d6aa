import { z } from "zod";
import type { AdvantageConfig } from "../advantages/kinds.ts";
import type { Composition } from "../settings/parts.ts";
import { groupStd, ppu, preset } from "../settings/presets.ts";

/**
 * arXiv:2507.19849: GRPO's advantage on the leaves of branched rollouts, which `rollout.branching` samples. Token mean: the authors'
 * `ppo_trainer.yaml`; 8 steps a batch: 128 tasks in mini-batches of 16, or 64 of 8, in their launch files.
 */
export const arpo = preset("arpo", {
  ...{ advantage: groupStd, update: ppu("token"), aggregation: "token-mean" },
  miniBatches: 8,
}).extend({
  /**
   * The credit that shared turns get: the sum of their leaves' gradients, the mean of their advantages, or the tree's own. Soft:
   * the paper's choice.
   */
  attribution: z.enum(["soft", "hard", "tree"]).default("soft"),
});
export type ArpoConfig = z.output<typeof arpo>;

/**
 * ARPO (arXiv:2507.19849, §3.2) is GRPO on the leaves of trees; how the tokens that leaves share are credited is a choice of advantage.
 *
 *   soft   every leaf is trained whole with its own Â_i = (R_i − mean R) / std R: shared tokens receive the sum of their leaves' gradients
 *   hard   shared tokens are trained once, with the mean of their leaves' Â_i
 *   tree   trained once, with the tree's own advantages: value of each way on minus that of its siblings, added along the path
 */
export function arpoComposition({ attribution, ...config }: ArpoConfig): Composition {
  return { ...config, advantage: attributed(attribution, config.advantage) };
}

function attributed(attribution: ArpoConfig["attribution"], leaf: ArpoConfig["advantage"]): AdvantageConfig {
  switch (attribution) {
    case "soft":
      return leaf;
    case "hard":
      return { ...leaf, kind: "shared-mean" };
    case "tree":
      return { kind: "tree", singletonGroups: leaf.singletonGroups };
    default:
      return attribution satisfies never;
  }
}
