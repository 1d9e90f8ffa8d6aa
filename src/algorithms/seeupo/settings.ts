import { z } from "zod";
import { singletonGroups } from "../advantages/advantage.ts";
import { klEstimators } from "../objectives/kl.ts";
import { clipRange } from "../objectives/update-kind.ts";
import { klCutOff } from "../presets/parts.ts";

const turnList = z
  .array(z.int().min(0))
  .min(1)
  .refine((turns) => new Set(turns).size === turns.length, "turns that differ from each other");

/** The policy that a ratio is taken to: that which sampled the batch, at the iteration's start, or that which the turn's update finds. */
const ratioTo = z.enum(["iteration", "turn"]);

/** Algorithm 1 of the paper, with its defaults. */
export const seeupo = z.strictObject({
  kind: z.literal("seeupo"),
  /**
   * The order in which turns are updated. "reverse" is the paper's, the one that theorem 2 speaks of; the others are for ablations.
   * A list names the turns to update, from 0; turns that are not in it are not trained.
   */
  order: z.union([z.enum(["reverse", "sequential", "random"]), turnList]).default("reverse"),
  /** "textbook" takes each log-prob from a pass of its own; "fused" reads the same numbers from fewer passes. */
  form: z.enum(["fused", "textbook"]).default("fused"),
  /** One number per trajectory (paper), or per turn, from the sub-tree below it, where rollouts branch. */
  advantage: z.enum(["trajectory", "tree"]).default("trajectory"),
  /** The divisor of R − mean of its group: the batch's deviation after centring (paper), the group's, or nothing. */
  normalisation: z.enum(["batch", "group", "none"]).default("batch"),
  /** Normalised advantages are limited to ± this. "off": the paper names no limit. 3 in SeeUPO's code. */
  advantageBound: z.union([z.number().positive(), z.literal("off")]).default("off"),
  /** A group of one: advantage 0, or its bare return as in SeeUPO's code. */
  singletonGroups,
  /** Whether advantages are multiplied by M, the product of the ratios of the turns updated before. Off for ablations. */
  advantageFactor: z.boolean().default(true),
  /** The clip range of the loss. 0.2: SeeUPO's launch files. */
  clip: clipRange(0.2, 0.2),
  /** The loss's ratio is taken to: the iteration's start (paper, eq. 6), so that the clip holds all of its turn updates together, or the turn's (code). */
  ratioTo: ratioTo.default("iteration"),
  /** M's ratio is taken to the same two: the iteration's start (paper, eq. 8), or the turn's (code). */
  carryRatioTo: ratioTo.default("iteration"),
  /** M's ratio: per token, as eq. 6 and the code form it, or the whole action's, as eq. 4 has it. Of eq. 8 the paper does not say. */
  carryRatio: z.enum(["geometric", "product"]).default("geometric"),
  /** The clip range of r and of M. "off": the paper clips neither. 0.2 in SeeUPO's code. */
  carryClip: z.union([clipRange(0.2, 0.2), z.literal("off")]).default("off"),
  /** Where the ratio of the loss is taken: one per turn (paper), or per token (what the code's launch files in effect run). */
  level: z.enum(["turn", "token"]).default("turn"),
  /** Bounds the loss where the advantage is negative, in multiples of it; none if left out. verl's default at token level is 3. */
  dualClip: z.number().gt(1).optional(),
  /** β, weight of the KL to the reference in the loss. 0: Algorithm 1 has no such term. 0.002: SeeUPO's launch files. */
  klCoef: z.number().min(0).default(0),
  /** How it is estimated. k3: SeeUPO's launch files (`low_var_kl`). */
  klEstimator: z.enum(klEstimators).default("k3"),
  klCutOff,
  /** Optimiser steps per turn update. 1: SeeUPO's launch files. */
  epochs: z.int().min(1).default(1),
});

/** The form of the authors' published code, with the values of its launch files. docs/algorithms/seeupo.md has both beside each other. */
export const seeupoCode = seeupo.extend({
  kind: z.literal("seeupo-code"),
  advantageBound: seeupo.shape.advantageBound.unwrap().default(3),
  ratioTo: ratioTo.default("turn"),
  carryRatioTo: ratioTo.default("turn"),
  carryClip: seeupo.shape.carryClip.unwrap().default({ low: 0.2, high: 0.2 }),
  klCoef: seeupo.shape.klCoef.unwrap().default(0.002),
});

/** SeeUPO as its paper has it, or as its code has it. */
export type SeeupoConfig = z.output<typeof seeupo | typeof seeupoCode>;

const seeupoKinds: readonly unknown[] = ["seeupo", "seeupo-code"] satisfies SeeupoConfig["kind"][];

/** True for SeeUPO in either form. */
export function isSeeupo(config: { readonly kind?: unknown }): config is SeeupoConfig {
  return seeupoKinds.includes(config.kind);
}
