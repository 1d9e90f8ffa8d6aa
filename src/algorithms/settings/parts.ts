import { z } from "zod";
import { type KlEstimator, type KlOptions, klEstimators } from "../objectives/kl.ts";

/**
 * The parts that a policy-gradient algorithm is composed of. A preset fixes the kinds of its parts with `fixed` and leaves their
 * numbers open; "custom" names its parts itself.
 */

/** A choice that a preset has made. */
export function fixed<const Value extends string>(value: Value) {
  return z.literal(value).default(value);
}

/** Widths of a clip range [1 − low, 1 + high]. */
export function clipRange(low: number, high: number) {
  return z.strictObject({ low: z.number().min(0).max(1).default(low), high: z.number().min(0).default(high) }).prefault({});
}

/** A group of one: advantage 0, or its bare return as in verl. */
export const singletonGroups = z.enum(["zero", "raw"]).default("zero");
const std = z.enum(["group", "none"]).default("group");
const gamma = (value: number) => z.number().min(0).max(1).default(value);

/** Advantages: the settings of each kind, without its kind. */
export const advantageSettings = {
  gae: {
    /** The unit that is a step: an action token, or a whole turn. */
    over: z.enum(["token", "turn"]).default("token"),
    /** γ = λ = 1: verl's defaults, for a return at the end. */
    gamma: gamma(1),
    lambda: gamma(1),
    critic: z
      .strictObject({
        /**
         * The critic's learning rate as a multiple of the policy's. 1, one rate for both: PPO (arXiv:1707.06347). verl's launch
         * files have 10 (1e-5 and 1e-6).
         */
        learningRateScale: z.number().positive().default(1),
        /** Width around the old value, in units of the return. 0.5: verl's `cliprange_value`. */
        valueClip: z.number().positive().default(0.5),
      })
      .prefault({}),
  },
  "group-relative": { std, singletonGroups },
  "leave-one-out": { singletonGroups },
  /** Discounted return of each token, whitened over the batch. γ = 1: verl's default. */
  "normalised-returns": { gamma: gamma(1) },
  /** Return minus the group's mean, whitened over the batch's tokens. */
  "normalised-group-relative": { singletonGroups },
  gigpo: {
    /** ω = 1 and γ = 0.95: arXiv:2505.10978, §5.1. */
    omega: z.number().min(0).default(1),
    gamma: gamma(0.95),
    /** The authors' code (langfengQ/verl-agent) runs both; "mean_norm" is the paper's F_norm = 1. */
    mode: z.enum(["mean_norm", "mean_std_norm"]).default("mean_norm"),
    /** "trajectories": the paper's, each counts once; "turns": long trajectories weigh more. */
    episodeBaseline: z.enum(["trajectories", "turns"]).default("trajectories"),
    singletonGroups,
  },
  tree: { singletonGroups },
  "shared-mean": { std, singletonGroups },
  "length-weighted": { singletonGroups },
  "best-of-group": { std },
  gpg: { singletonGroups },
} as const;

/** Update rules: the settings of each kind, without its kind. */
export const updateSettings = {
  reinforce: { level: z.enum(["token", "sequence"]).default("token") },
  ppu: {
    /** Where the ratio is taken: per token, over one turn, or over a whole trajectory. */
    level: z.enum(["token", "turn", "sequence"]).default("token"),
    /** 0.2: PPO's (arXiv:1707.06347, §6.1), and the default of verl and TRL. */
    clip: clipRange(0.2, 0.2),
    /** Bounds the loss where the advantage is negative, in multiples of it; none if left out. verl's default is 3. */
    dualClip: z.number().gt(1).optional(),
  },
  /** No bound below, as MiniMax-M1 (arXiv:2506.13585, §3.1), which does not print its bound above; 0.28 is Trinity-RFT's. */
  cispo: { clip: clipRange(1, 0.28) },
  /** arXiv:2511.20347, as verl and TRL. */
  sapo: { tauPos: z.number().positive().default(1), tauNeg: z.number().positive().default(1.05) },
  /** Widths of the log-ratio. (e^−0.4, e^0.4): arXiv:2507.20673. */
  gmpo: { clip: clipRange(0.4, 0.4) },
  dppo: {
    divergence: z.enum(["tv", "kl"]).default("tv"),
    /** Widths of the divergence. 0.2: verl's clip width for all of its losses. */
    clip: clipRange(0.2, 0.2),
    /** verl's `clip_ratio_c` for this loss. */
    ratioBound: z.number().gt(1).default(20),
  },
  /** The source leaves it to the task. */
  dro: { beta: z.number().positive().default(0.5) },
  /** arXiv:2505.22617, as in verl: a 5,000th of the tokens, of covariance 1 to 5. */
  "clip-cov": {
    clip: clipRange(0.2, 0.2),
    share: z.number().gt(0).max(1).default(0.0002),
    covLow: z.number().default(1),
    covHigh: z.number().default(5),
  },
  /** 1: the authors' launch files; verl's code has 0.1. */
  "kl-cov": { share: z.number().gt(0).max(1).default(0.0002), coefficient: z.number().min(0).default(1) },
} as const;

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

function kinds<const Settings extends Readonly<Record<string, z.core.$ZodShape>>>(settings: Settings) {
  type Option = {
    [Kind in keyof Settings & string]: z.ZodObject<{ kind: z.ZodLiteral<Kind> } & Settings[Kind], z.core.$strict>;
  }[keyof Settings & string];
  const options = Object.entries(settings).map(([kind, shape]) => z.strictObject({ kind: z.literal(kind), ...shape }));
  // Object.entries forgets which kind has which shape; the table that is given remembers.
  return z.discriminatedUnion("kind", options as unknown as [Option, ...Option[]]);
}

/** Any advantage, named by its kind. */
export const anyAdvantage = kinds(advantageSettings);
export type AdvantageConfig = z.output<typeof anyAdvantage>;
/** Any update rule, named by its kind. */
export const anyUpdate = kinds(updateSettings);
export type UpdateConfig = z.output<typeof anyUpdate>;
