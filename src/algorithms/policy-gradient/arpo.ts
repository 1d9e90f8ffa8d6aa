import type { AlgorithmConfig, Composition } from "../settings/config.ts";
import type { AdvantageConfig } from "../settings/parts.ts";

export type ArpoConfig = Extract<AlgorithmConfig, { kind: "arpo" }>;

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
