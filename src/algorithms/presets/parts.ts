import { z } from "zod";
import type { AdvantageConfig } from "../advantages/kinds.ts";
import type { Aggregation } from "../objectives/aggregation.ts";
import type { UpdateConfig } from "../objectives/kinds.ts";
import { type KlEstimator, type KlOptions, klEstimators } from "../objectives/kl.ts";
import type { OverlongPunishment } from "../step/overlong.ts";
import type { TermConfig } from "../terms/kinds.ts";

/**
 * The parts that a policy-gradient algorithm is composed of. A preset fixes the kinds of its parts with `fixed` and leaves their
 * numbers open; "custom" names its parts itself.
 */

/** A choice that a preset has made. */
export function fixed<const Value extends string>(value: Value) {
  return z.literal(value).default(value);
}

/** Largest k3 of a token in nats, beyond which it has no gradient. 10: verl's. "off": TRL's. */
export const klCutOff = z.union([z.number().positive(), z.literal("off")]).default(10);

/** The KL estimate that an algorithm's settings ask for. */
export function klOptions(settings: {
  readonly klEstimator: KlEstimator;
  readonly klCutOff: z.output<typeof klCutOff>;
}): KlOptions {
  const { klEstimator, klCutOff: cutOff } = settings;
  return { estimator: klEstimator, cutOff: cutOff === "off" ? Infinity : cutOff };
}

/** The settings that any policy-gradient algorithm has besides advantage and update. */
export const commonSettings = {
  /** β, weight of the KL to the reference. 0: TRL's default. 0 saves the reference's pass. */
  klCoef: z.number().min(0).default(0),
  /** How it is estimated. k3: GRPO (arXiv:2402.03300, eq. 4). */
  klEstimator: z.enum(klEstimators).default("k3"),
  klCutOff,
  /** As a term of the loss, or taken from each token's reward (arXiv:1909.08593). */
  klIn: z.enum(["loss", "reward"]).default("loss"),
  /** Weight of the entropy bonus. 0: verl's default. */
  entropyCoef: z.number().min(0).default(0),
  /** Passes over the batch. 1: on-policy, as GRPO (arXiv:2402.03300, §4.2); verl's default too. */
  epochs: z.int().min(1).default(1),
};

/** Optimiser steps per epoch; groups are dealt out whole. 1 is a single on-policy step. */
export const miniBatches = z.int().min(1);

/** How token losses become one scalar; a sequence is a whole trajectory. See aggregation.ts. */
export const aggregation = z.union([
  z.enum(["token-mean", "sequence-mean-token-mean"]),
  z.strictObject({ tokenSumOver: z.number().positive() }),
]);

/** Off if left out: only the user knows a trajectory's limit, since rollouts have one per turn. */
export const overlong = z
  .strictObject({
    /** L_max, in action tokens of a whole trajectory. */
    limit: z.int().min(1),
    /** L_cache. DAPO: 4,096 of 20,480. */
    buffer: z.int().min(1),
    /** DAPO: 1. */
    penalty: z.number().min(0).default(1),
  })
  .refine(({ limit, buffer }) => buffer <= limit, { path: ["buffer"], message: "at most the limit" });

/**
 * Sampling continues until every group of a step has signal, over at most `maxBatches` batches. 10: DAPO's recipe in verl; 1 is
 * off.
 */
export const dynamicSampling = z.strictObject({ maxBatches: z.int().min(1).default(10) });
export type DynamicSampling = z.output<typeof dynamicSampling>;

/** The parts that such an algorithm is made of. Every preset's settings are one of these. */
export interface Composition {
  readonly advantage: AdvantageConfig;
  readonly update: UpdateConfig;
  readonly aggregation: Aggregation;
  readonly klCoef: number;
  readonly klEstimator: KlEstimator;
  readonly klCutOff: number | "off";
  readonly klIn: "loss" | "reward";
  readonly entropyCoef: number;
  readonly epochs: number;
  readonly miniBatches: number;
  readonly term?: TermConfig;
  readonly overlong?: OverlongPunishment;
  /** Read by the trainer, which samples. */
  readonly dynamicSampling?: DynamicSampling;
}
