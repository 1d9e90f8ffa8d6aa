import { z } from "zod";
import { versionSchema } from "./schema.ts";

/** The schemas of what a run folder holds: everything is read back through these. */

/** `run.json`: the configuration, and the program that ran it. */
export const runRecordSchema = z.object({
  schema: versionSchema,
  /** The resolved configuration. */
  config: z.record(z.string(), z.unknown()),
  seed: z.int(),
  version: z.string(),
  /** Version of Node, or name and version of Bun or Deno. */
  node: z.string(),
  /** The device that computed: where the configuration says "auto", the one that it took and what else it tried. */
  device: z.string().optional(),
  /** SHA-256 of what else decides the run, by name: its tasks, conversations, and code that is in files. */
  madeOf: z.record(z.string(), z.string()).optional(),
  /** ISO 8601. */
  created: z.string(),
  /** A signature of the rest, by which the machine that made the run knows it. */
  origin: z.string().optional(),
});
export type RunRecord = z.infer<typeof runRecordSchema>;

/** A named warning: what is wrong, an episode that shows it, and what to do. The names are in src/findings. */
const warningSchema = z.object({
  rule: z.string(),
  cause: z.string(),
  /** A trajectory's id. */
  example: z.string().optional(),
  next: z.string(),
});
export type Warning = z.infer<typeof warningSchema>;

/** One line of `metrics.jsonl`. The same seed gives the same bytes. A metric is null where it does not exist, as the mean of nothing. */
export const stepRecordSchema = z.object({
  step: z.int(),
  metrics: z.record(z.string(), z.number().nullable()),
  /** Absent if there are none. */
  warnings: z.array(warningSchema).optional(),
});
export type StepRecord = z.infer<typeof stepRecordSchema>;
export type Metrics = StepRecord["metrics"];

/** One line of `timing.jsonl`: what differs from machine to machine. */
export const timingRecordSchema = z.object({
  step: z.int(),
  rolloutSeconds: z.number(),
  /** Where the configuration composes rewards. */
  rewardSeconds: z.number().optional(),
  /** Where rollouts are sampled ahead: how long the update had to wait for them. Their own seconds overlap with the steps before. */
  waitedSeconds: z.number().optional(),
  updateSeconds: z.number(),
  sampledTokens: z.number(),
  sampledTokensPerSecond: z.number(),
  /** Tokens that went through a training pass, shared ones counted once. */
  trainedTokens: z.number(),
  trainedTokensPerSecond: z.number(),
  /** Trained tokens if no sample shared any. */
  denseTokens: z.number(),
  /** On a server: HTTP requests with their polls, training results awaited in a row, what travelled, and trained tokens if prefixes were shared. */
  requests: z.number().optional(),
  serverWaits: z.number().optional(),
  sentMb: z.number().optional(),
  receivedMb: z.number().optional(),
  sharedTokens: z.number().optional(),
  rssMb: z.number(),
  /** CRC-32 of the step's line in `metrics.jsonl`, which carries none itself: its bytes are those of every run with the seed. */
  metricsCrc32: z.int().optional(),
});
export type TimingRecord = z.infer<typeof timingRecordSchema>;

/** A mean over tasks with its 95 % interval. */
const estimateSchema = z.object({ mean: z.number(), low: z.number(), high: z.number() });
export type Estimate = z.infer<typeof estimateSchema>;

/** Success among the attempts that share a property, with the 95 % interval over their tasks. */
const breakdownSchema = z.object({
  name: z.string(),
  attempts: z.int(),
  success: z.number(),
  low: z.number().optional(),
  high: z.number().optional(),
});
export type Breakdown = z.infer<typeof breakdownSchema>;

/** A behaviour in an evaluation: how often episodes called for it, and how often it was done. */
export const behaviourSchema = z.object({ name: z.string(), done: z.int(), called: z.int() });
export type Behaviour = z.infer<typeof behaviourSchema>;

export const decodings = ["sampled", "greedy"] as const;
export type Decoding = (typeof decodings)[number];

export const evaluationMoments = ["before", "during", "after"] as const;

/** One file of `evaluations/`. */
export const evaluationRecordSchema = estimateSchema.extend({
  when: z.enum(evaluationMoments),
  /** Optimisation steps before it; 0 is the start. */
  step: z.int(),
  split: z.string(),
  tasks: z.int(),
  k: z.int(),
  /** Attempts that ended by an error of a server, the engine or the environment: they have no score and are in no mean. Absent if there are none. */
  errors: z.int().optional(),
  /** Greedy is temperature 0, with one attempt at each task. */
  decoding: z.enum(decodings).default("sampled"),
  temperature: z.number(),
  /** "reward" where rewards differ or are above 0 and there is no success to report, "nothing" where all are one number of 0 or less. */
  measure: z.enum(["success", "reward", "nothing"]).default("success"),
  /** `mean`, `low` and `high` are avg@k of success; these are pass@j for j = 1, 2, 4, … up to k: that any of j attempts succeeds. */
  passAt: z.array(estimateSchema.extend({ k: z.int() })),
  /** pass^j: that all of j attempts succeed. */
  passAll: z.array(estimateSchema.extend({ k: z.int() })).default([]),
  reward: estimateSchema,
  /** The environment's own metrics (`Environment.metrics`), means over the attempts. Absent if it has none. */
  metrics: z.array(estimateSchema.extend({ name: z.string() })).optional(),
  meanTurns: z.number(),
  toolCalls: z.int(),
  sampledTokens: z.int().default(0),
  /** The usage of a chat endpoint: tokens as the server counted them, and the number of answers for which it did not. */
  usage: z.object({ promptTokens: z.number(), completionTokens: z.number(), unreported: z.int() }).optional(),
  stopReasons: z.record(z.string(), z.int()),
  /** An attempt counts for every kind of request in its task: by the kind's own success, where the environment scores it, else by the episode's. */
  byKind: z.array(breakdownSchema),
  /** Behaviours that episodes called for, in the order of their names. */
  behaviours: z.array(behaviourSchema).default([]),
  /** By number of requests in the task. */
  byRequests: z.array(breakdownSchema),
  /**
   * Where tasks belong to scenarios: the share of them all of whose tasks succeed, in one attempt (mean over the attempts, with its interval), in
   * any of the k, and in all.
   */
  scenarios: estimateSchema.extend({ count: z.int(), any: z.number(), all: z.number() }).optional(),
  /** By assistant turns that the attempt took. */
  byTurns: z.array(breakdownSchema),
  /** Absent if there are none. */
  warnings: z.array(warningSchema).optional(),
  /** SHA-256 of its tasks and of the code that scores them. Two evaluations of others are no pairs. */
  madeOf: z.string().optional(),
});
export type EvaluationRecord = z.infer<typeof evaluationRecordSchema>;

/** `trainer.json` of a checkpoint: where the run stands. All else derives from the seed and these. */
export const progressSchema = z.object({
  /** Steps that are done. */
  step: z.int(),
  /** Training tasks that were taken. */
  position: z.int(),
  episodes: z.int(),
  toolCalls: z.int(),
  sampledTokens: z.number(),
  /** The time of all processes that worked on the run. */
  wallSeconds: z.number(),
  peakRssMb: z.number(),
});
export type Progress = z.infer<typeof progressSchema>;

/**
 * The result of an evaluation at the start or the end. `mean`, `low` and `high` are the success of sampled attempts, and of greedy
 * ones where nothing was sampled. Success is a share from 0 to 1; where `measure` is "reward" the environment has no success, and
 * the reward is what counts.
 */
const scoreSchema = estimateSchema.extend({
  split: z.string(),
  tasks: z.int(),
  k: z.int(),
  measure: evaluationRecordSchema.shape.measure,
  greedy: estimateSchema.optional(),
  sampled: estimateSchema.optional(),
  reward: z.object({ greedy: estimateSchema.optional(), sampled: estimateSchema.optional() }).optional(),
});
export type ScoreSummary = z.infer<typeof scoreSchema>;

/** The mean difference, after minus before, over the same tasks, with its 95 % interval, the p-value of the exact paired test, and what could have been seen. */
const differenceSchema = estimateSchema.extend({
  pValue: z.number(),
  /** False where the p-value was simulated. */
  exact: z.boolean(),
  /** Tasks that got better, and worse. */
  better: z.int(),
  worse: z.int(),
  /** The smallest difference that would have been seen in four of five such comparisons. */
  smallest: z.number(),
});
export type Difference = z.infer<typeof differenceSchema>;

/** The differences of success, by decoding; of the reward likewise. */
const differencesSchema = z.object({
  sampled: differenceSchema.optional(),
  greedy: differenceSchema.optional(),
  reward: z.object({ sampled: differenceSchema.optional(), greedy: differenceSchema.optional() }).optional(),
  /** Why there is no difference, by decoding: too many attempts without a score, or other tasks. */
  withheld: z.object({ sampled: z.string().optional(), greedy: z.string().optional() }).optional(),
});
export type Differences = z.infer<typeof differencesSchema>;

/** `summary.json`: written once, when a run has finished. */
export const summarySchema = z.object({
  /** Null where the configuration asks for no evaluation. */
  before: scoreSchema.nullable(),
  after: scoreSchema.nullable(),
  /** After minus before, on the same tasks. */
  difference: differencesSchema.optional(),
  /** The number of steps and evaluations with each warning. Absent if there are none. */
  warnings: z.record(z.string(), z.int()).optional(),
  challenge: z.object({ before: scoreSchema, after: scoreSchema, difference: differencesSchema.optional() }).optional(),
  steps: z.int(),
  ...progressSchema.omit({ step: true, position: true }).shape,
});
export type Summary = z.infer<typeof summarySchema>;
