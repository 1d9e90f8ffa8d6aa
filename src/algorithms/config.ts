import { z } from "zod";
import { parseSettings } from "../core/settings.ts";
import { klEstimators } from "./objectives.ts";

/** Widths of a clip range [1 − low, 1 + high]. */
const clipRange = z
  .strictObject({ low: z.number().min(0).max(1).default(0.2), high: z.number().min(0).default(0.2) })
  .prefault({});
const turnList = z
  .array(z.int().min(0))
  .min(1)
  .refine((turns) => new Set(turns).size === turns.length, "turns that differ from each other");
const singletonGroups = z.enum(["zero", "raw"]);

const klPenalty = {
  /** How the KL to the reference is estimated. k3 as in SeeUPO's launch files (`low_var_kl`) and GRPO (arXiv:2402.03300, eq. 4). */
  klEstimator: z.enum(klEstimators).default("k3"),
};

const seeupo = z.strictObject({
  kind: z.literal("seeupo"),
  /**
   * The order in which turns are visited. "reverse" is the paper's, the one its theorem speaks of; the others are for ablations.
   * A list names the turns to visit, from 0; turns that are not in it are not trained.
   */
  order: z.union([z.enum(["reverse", "sequential", "random"]), turnList]).default("reverse"),
  /** "textbook" takes each log-prob from a pass of its own, as written in the paper; "fused" reads the same numbers from fewer passes. */
  form: z.enum(["fused", "textbook"]).default("fused"),
  /** What divides R − mean of its group: the batch's deviation after centring (paper), the group's, or nothing. */
  normalisation: z.enum(["batch", "group", "none"]).default("batch"),
  /** Normalised advantages are limited to ± this. 3 in SeeUPO's code. */
  advantageBound: z.number().positive().default(3),
  /** A group of one: advantage 0, or its bare return as in SeeUPO's code. */
  singletonGroups: singletonGroups.default("zero"),
  /** Whether advantages are multiplied by M, the product of the ratios of the turns visited before. Off for ablations. */
  advantageFactor: z.boolean().default(true),
  /** Of the loss. 0.2: SeeUPO's launch files. */
  clip: clipRange,
  /** Of r and of M. 0.2: the paper's [0.8, 1.2]. */
  carryClip: clipRange,
  /** Where the ratio of the loss is taken: one per turn (paper), or per token (what the launch files in effect run). */
  level: z.enum(["turn", "token"]).default("turn"),
  /** Bounds the loss where the advantage is negative, in multiples of it; none if left out. verl's default at token level is 3. */
  dualClip: z.number().gt(1).optional(),
  /** β, weight of the KL to the reference in the loss. 0.002: SeeUPO's launch files. 0 saves the reference's pass. */
  klCoef: z.number().min(0).default(0.002),
  ...klPenalty,
  /** Optimiser steps per visit. 1: SeeUPO's launch files. */
  epochs: z.int().min(1).default(1),
  /**
   * Factor on the learning rate of a visit: the share of the batch's trajectories that reach the turn ("rows"), or 1 ("plain", the
   * paper's). Adam makes a step of full size however few rows it has seen; docs/algorithms/seeupo.md has the measurement.
   */
  visitScale: z.enum(["rows", "plain"]).default("rows"),
  /** Turns that fewer trajectories reach are visited together with the next in order. 1, each turn by itself: the paper's. */
  minimumRows: z.int().min(1).default(8),
});

const grpo = z.strictObject({
  kind: z.literal("grpo"),
  /** Divides by the group's standard deviation. On in GRPO (arXiv:2402.03300, §4.1.2), off in Dr. GRPO (arXiv:2503.20783). */
  divideByStd: z.boolean().default(true),
  /** A group of one: advantage 0, or its bare return as in verl. */
  singletonGroups: singletonGroups.default("zero"),
  /** How token losses become one scalar; a sequence is a whole trajectory. GRPO's (arXiv:2402.03300, eq. 3). */
  aggregation: z
    .union([z.enum(["token-mean", "sequence-mean-token-mean"]), z.strictObject({ tokenSumOver: z.number().positive() })])
    .default("sequence-mean-token-mean"),
  /** 0.2: PPO's (arXiv:1707.06347, §6.1), and the default of verl and TRL. */
  clip: clipRange,
  /** Bounds the loss where the advantage is negative, in multiples of it; none if left out. verl's default is 3. */
  dualClip: z.number().gt(1).optional(),
  /** β, weight of the KL to the reference in the loss. 0: TRL's default; the paper has 0.04. 0 saves the reference's pass. */
  klCoef: z.number().min(0).default(0),
  ...klPenalty,
  /** Passes over the batch. 1: μ of arXiv:2402.03300, §4.2. */
  epochs: z.int().min(1).default(1),
  /** Optimiser steps per epoch; groups are dealt out whole. 1 is a single on-policy step: §4.2 of the same. */
  miniBatches: z.int().min(1).default(1),
});

const sft = z.strictObject({
  kind: z.literal("sft"),
});

/** One choice in one place. Learning rate and schedule are the optimiser's settings, not the algorithm's. */
export const algorithmConfigSchema = z.discriminatedUnion("kind", [seeupo, grpo, sft]);
export type AlgorithmConfig = z.output<typeof algorithmConfigSchema>;
export type AlgorithmKind = AlgorithmConfig["kind"];
export type SeeupoConfig = Extract<AlgorithmConfig, { kind: "seeupo" }>;
export type GrpoConfig = Extract<AlgorithmConfig, { kind: "grpo" }>;

/**
 * An algorithm's settings with defaults filled in. A name stands for the defaults of what it names.
 * @throws ConfigError naming the first setting that is wrong
 */
export function resolveAlgorithm(input: unknown): AlgorithmConfig {
  return parseSettings(algorithmConfigSchema, typeof input === "string" ? { kind: input } : input, "algorithm");
}
