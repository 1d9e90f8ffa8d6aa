import { z } from "zod";
import type { Aggregation } from "../objectives/aggregation.ts";
import {
  advantageSettings as advantages,
  aggregation,
  anyAdvantage,
  anyUpdate,
  clipRange,
  commonSettings,
  dynamicSampling,
  fixed,
  miniBatches,
  overlong,
  updateSettings as updates,
} from "./parts.ts";

/**
 * Presets are compositions and nothing more: each names its parts, fixes their kinds and leaves their numbers open.
 * docs/algorithms/ has a page for each; where a default differs from the parts' own, its source stands beside it.
 */

const groupStd = z
  .strictObject({ kind: fixed("group-relative"), ...advantages["group-relative"], std: fixed("group") })
  .prefault({});
const groupMean = z
  .strictObject({ kind: fixed("group-relative"), ...advantages["group-relative"], std: fixed("none") })
  .prefault({});

function ppu<const Level extends "token" | "turn" | "sequence">(level: Level, low = 0.2, high = 0.2) {
  return z.strictObject({ kind: fixed("ppu"), ...updates.ppu, level: fixed(level), clip: clipRange(low, high) }).prefault({});
}

function preset<const Kind extends string, Advantage extends z.ZodType, Update extends z.ZodType>(
  kind: Kind,
  parts: { advantage: Advantage; update: Update; aggregation: Aggregation; miniBatches?: number },
) {
  return z.strictObject({
    kind: z.literal(kind),
    advantage: parts.advantage,
    update: parts.update,
    aggregation: aggregation.default(parts.aggregation),
    ...commonSettings,
    miniBatches: miniBatches.default(parts.miniBatches ?? 1),
  });
}

/** PPO (arXiv:1707.06347) with a critic. 4 steps a batch: verl's default of 1,024 prompts in mini-batches of 256. */
const ppo = preset("ppo", {
  advantage: z.strictObject({ kind: fixed("gae"), ...advantages.gae }).prefault({}),
  update: ppu("token"),
  aggregation: "token-mean",
  miniBatches: 4,
});

/** arXiv:2402.03300, eq. 3. */
const grpo = preset("grpo", { advantage: groupStd, update: ppu("token"), aggregation: "sequence-mean-token-mean" });

/** arXiv:2503.20783: no deviation, no length. Any constant will do; 1,000 is about the tokens that a trajectory may have. */
const drGrpo = preset("dr-grpo", { advantage: groupMean, update: ppu("token"), aggregation: { tokenSumOver: 1000 } });

/**
 * arXiv:2503.14476: clip-higher (§3.1), dynamic sampling (§3.2), token mean (§3.3), overlong punishment (§3.4); 16 steps a batch: 512 prompts
 * in mini-batches of 32 (§4.1).
 */
const dapo = preset("dapo", {
  ...{ advantage: groupStd, update: ppu("token", 0.2, 0.28), aggregation: "token-mean" },
  miniBatches: 16,
}).extend({
  dynamicSampling: dynamicSampling.prefault({}),
  overlong: overlong.optional(),
});

/** arXiv:2402.14740. The mean over a trajectory's tokens in place of the paper's sum, as verl and algorithms with ratios have it. */
const rloo = preset("rloo", {
  advantage: z.strictObject({ kind: fixed("leave-one-out"), ...advantages["leave-one-out"] }).prefault({}),
  update: z.strictObject({ kind: fixed("reinforce"), level: fixed("sequence") }).prefault({}),
  aggregation: "sequence-mean-token-mean",
});

/** arXiv:2501.03262. */
const reinforcePlusPlus = preset("reinforce++", {
  advantage: z.strictObject({ kind: fixed("normalised-returns"), ...advantages["normalised-returns"] }).prefault({}),
  update: ppu("token"),
  aggregation: "token-mean",
});

/** The same paper's variant with the group's mean as baseline. */
const reinforcePlusPlusBaseline = preset("reinforce++-baseline", {
  advantage: z
    .strictObject({ kind: fixed("normalised-group-relative"), ...advantages["normalised-group-relative"] })
    .prefault({}),
  update: ppu("token"),
  aggregation: "token-mean",
});

/** arXiv:2507.18071, with the widths and the four mini-batches a batch of its §5.1. */
const gspo = preset("gspo", {
  advantage: groupStd,
  update: ppu("sequence", 3e-4, 4e-4),
  aggregation: "sequence-mean-token-mean",
  miniBatches: 4,
});

/** arXiv:2506.13585, eq. 4: mean over all tokens of the batch; off-policy, 16 rounds of updates on a batch (§3.1). */
const cispo = preset("cispo", {
  advantage: groupStd,
  update: z.strictObject({ kind: fixed("cispo"), ...updates.cispo }).prefault({}),
  aggregation: "token-mean",
  miniBatches: 16,
});

/** arXiv:2505.10978. Token mean: the authors' code. */
const gigpo = preset("gigpo", {
  advantage: z.strictObject({ kind: fixed("gigpo"), ...advantages.gigpo }).prefault({}),
  update: ppu("token"),
  aggregation: "token-mean",
});

/**
 * arXiv:2507.19849: GRPO's advantage on the leaves of branched rollouts, which `rollout.branching` samples. Token mean: the authors'
 * `ppo_trainer.yaml`; 8 steps a batch: 128 tasks in mini-batches of 16, or 64 of 8, in their launch files. arpo.ts has what attribution means.
 */
const arpo = preset("arpo", {
  ...{ advantage: groupStd, update: ppu("token"), aggregation: "token-mean" },
  miniBatches: 8,
}).extend({
  /**
   * The credit that shared turns get: the sum of their leaves' gradients, the mean of their advantages, or the tree's own. Soft:
   * the paper's choice.
   */
  attribution: z.enum(["soft", "hard", "tree"]).default("soft"),
});

/** Any advantage with any update, both given in full. */
const custom = preset("custom", { advantage: anyAdvantage, update: anyUpdate, aggregation: "token-mean" }).extend({
  dynamicSampling: dynamicSampling.optional(),
  overlong: overlong.optional(),
});

export const presets = [
  ppo,
  grpo,
  drGrpo,
  dapo,
  rloo,
  reinforcePlusPlus,
  reinforcePlusPlusBaseline,
  gspo,
  cispo,
  gigpo,
  arpo,
  custom,
] as const;
