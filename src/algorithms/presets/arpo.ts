import { z } from "zod";
import { composed, definePreset, groupRelative, ppu } from "./preset.ts";

/**
 * GRPO on the leaves of trees, which `rollout.branching` samples (§3.2); how the tokens that leaves share are credited is a choice of
 * advantage.
 *
 *   soft   every leaf is trained whole with its own Â_i = (R_i − mean R) / std R: shared tokens receive the sum of their leaves' gradients
 *   hard   shared tokens are trained once, with the mean of their leaves' Â_i
 *   tree   trained once, with the tree's own advantages: value of each way on minus that of its siblings, added along the path
 *
 * Token mean: the authors' `ppo_trainer.yaml`; 8 steps a batch: 128 tasks in mini-batches of 16, or 64 of 8, in their launch files.
 */
export const arpo = definePreset({
  source: "arXiv:2507.19849",
  settings: composed("arpo", {
    advantage: groupRelative("group"),
    update: ppu("token"),
    aggregation: "token-mean",
    miniBatches: 8,
  }).extend({
    /** Soft: the paper's choice. */
    attribution: z.enum(["soft", "hard", "tree"]).default("soft"),
  }),
  composition({ attribution, ...config }) {
    const { advantage } = config;
    switch (attribution) {
      case "soft":
        return config;
      case "hard":
        return { ...config, advantage: { ...advantage, kind: "shared-mean" } };
      case "tree":
        return { ...config, advantage: { kind: "tree", singletonGroups: advantage.singletonGroups } };
      default:
        return attribution satisfies never;
    }
  },
  /** 16 leaves of a tree: §4.2. */
  rollout: { groupSize: 16, branching: {} },
});
