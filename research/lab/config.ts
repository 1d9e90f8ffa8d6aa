import { z } from "zod";

/** How updates are made; the same for all cells of a run. */
export const labRulesSchema = z.strictObject({
  /** ε of the clip range [1 − ε, 1 + ε] (SeeUPO and PPO: 0.2). */
  clip: z.number().gt(0).lt(1).default(0.2),
  /** Half-width of the range that the clipped M is held in (SeeUPO: 0.2). */
  carryClip: z.number().gt(0).lt(1).default(0.2),
  /** G, members of a sampled group. */
  groupSize: z.int().min(2).max(64).default(4),
  /** η of the KL drift, over the largest mean of M·A in the simplex. */
  eta: z.number().gt(0).default(1),
  /** δ of the trust region, in nats. */
  delta: z.number().gt(0).default(0.02),
  /** Gradient steps of a turn update, on the same batch. */
  steps: z.int().min(1).max(100).default(4),
  stepSize: z.number().gt(0).default(0.5),
  /**
   * The ratio of a unit with several tokens, for gradient steps: geometric mean over its tokens, as GSPO and SeeUPO have it, or the
   * plain product.
   */
  ratio: z.enum(["normalised", "plain"]).default("normalised"),
  /** The exact maximiser keeps every probability of a simplex of K choices at or above floor/K. */
  floor: z.number().min(0).max(0.5).default(1e-3),
});
export type LabRules = z.output<typeof labRulesSchema>;

const sizes = (highest: number) => z.array(z.int().min(1).max(highest)).min(1);

/**
 * The sizes of the random problems and the rules of updates, the same for all cells of a run.
 */
export const labSettingsSchema = z.strictObject({
  seed: z.int().default(0),
  turns: sizes(4).default([1, 2]),
  contexts: sizes(3).default([1, 2]),
  tokens: z.int().min(1).max(3).default(2),
  /** Actions of a turn: a `tokens`-th power of the vocabulary. */
  actions: z.int().min(2).max(27).default(4),
  /** Different answers of the environment after a turn. 1: it says nothing. */
  answers: z.int().min(1).max(4).default(2),
  /** Random problems for each number of turns and of contexts. */
  problems: z.int().min(1).max(1000).default(8),
  updates: z.int().min(5).max(5000).default(60),
  rules: labRulesSchema.prefault({}),
});
export type LabSettings = z.output<typeof labSettingsSchema>;

/** The settings that `--full` changes. */
export const fullSizes = { turns: [1, 2, 3], problems: 12, updates: 100 } as const;
