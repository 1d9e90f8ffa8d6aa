import { z } from "zod";
import { gaeKind } from "../advantages/gae.ts";
import { gigpoKind } from "../advantages/gigpo.ts";
import { groupRelativeKind } from "../advantages/group-relative.ts";
import { anyAdvantage } from "../advantages/kinds.ts";
import { leaveOneOutKind } from "../advantages/leave-one-out.ts";
import { normalisedGroupRelativeKind } from "../advantages/normalised-group-relative.ts";
import { normalisedReturnsKind } from "../advantages/normalised-returns.ts";
import type { Aggregation } from "../objectives/aggregation.ts";
import { cispoKind } from "../objectives/cispo.ts";
import { anyUpdate } from "../objectives/kinds.ts";
import { ppuKind } from "../objectives/ppu.ts";
import { clipRange } from "../objectives/update-kind.ts";
import { anyTerm } from "../terms/kinds.ts";
import { aggregation, commonSettings, dynamicSampling, fixed, miniBatches, overlong } from "./parts.ts";

/**
 * Presets are compositions and nothing more: each names its parts, fixes their kinds and leaves their numbers open.
 * docs/algorithms/ has a page for each; where a default differs from the parts' own, its source stands beside it.
 */

export const groupStd = z
  .strictObject({ kind: fixed("group-relative"), ...groupRelativeKind.settings, std: fixed("group") })
  .prefault({});
const groupMean = z
  .strictObject({ kind: fixed("group-relative"), ...groupRelativeKind.settings, std: fixed("none") })
  .prefault({});

export function ppu<const Level extends "token" | "turn" | "sequence">(level: Level, low = 0.2, high = 0.2) {
  return z
    .strictObject({ kind: fixed("ppu"), ...ppuKind.settings, level: fixed(level), clip: clipRange(low, high) })
    .prefault({});
}

export function preset<const Kind extends string, Advantage extends z.ZodType, Update extends z.ZodType>(
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
  advantage: z.strictObject({ kind: fixed("gae"), ...gaeKind.settings }).prefault({}),
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
  advantage: z.strictObject({ kind: fixed("leave-one-out"), ...leaveOneOutKind.settings }).prefault({}),
  update: z.strictObject({ kind: fixed("reinforce"), level: fixed("sequence") }).prefault({}),
  aggregation: "sequence-mean-token-mean",
});

/** arXiv:2501.03262. */
const reinforcePlusPlus = preset("reinforce++", {
  advantage: z.strictObject({ kind: fixed("normalised-returns"), ...normalisedReturnsKind.settings }).prefault({}),
  update: ppu("token"),
  aggregation: "token-mean",
});

/** The same paper's variant with the group's mean as baseline. */
const reinforcePlusPlusBaseline = preset("reinforce++-baseline", {
  advantage: z.strictObject({ kind: fixed("normalised-group-relative"), ...normalisedGroupRelativeKind.settings }).prefault({}),
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
  update: z.strictObject({ kind: fixed("cispo"), ...cispoKind.settings }).prefault({}),
  aggregation: "token-mean",
  miniBatches: 16,
});

/** arXiv:2505.10978. Token mean: the authors' code. */
const gigpo = preset("gigpo", {
  advantage: z.strictObject({ kind: fixed("gigpo"), ...gigpoKind.settings }).prefault({}),
  update: ppu("token"),
  aggregation: "token-mean",
});

/** Any advantage with any update, both given in full. */
export const custom = preset("custom", { advantage: anyAdvantage, update: anyUpdate, aggregation: "token-mean" }).extend({
  dynamicSampling: dynamicSampling.optional(),
  overlong: overlong.optional(),
  /** A loss beside the update rule's, on tokens that the policy did not write. */
  term: anyTerm.optional(),
});

export const presets = [ppo, grpo, drGrpo, dapo, rloo, reinforcePlusPlus, reinforcePlusPlusBaseline, gspo, cispo, gigpo] as const;
