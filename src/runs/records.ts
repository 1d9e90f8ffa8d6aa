import { z } from "zod";
import { versionSchema } from "./schema.ts";

/** What a run folder holds, as schemas: everything is read back through these. */

/** `run.json`: what was asked for, by which program. */
export const runRecordSchema = z.object({
  schema: versionSchema,
  /** The resolved configuration. */
  config: z.record(z.string(), z.unknown()),
  seed: z.int(),
  version: z.string(),
  node: z.string(),
  /** What computed: where the configuration says "auto", what that took and what else it tried. */
  device: z.string().optional(),
  /** ISO 8601. */
  created: z.string(),
});
export type RunRecord = z.infer<typeof runRecordSchema>;

/** A named warning: what is wrong, an episode that shows it, and what to do. The names are in src/training/watch. */
export const warningSchema = z.object({
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
  rssMb: z.number(),
});
export type TimingRecord = z.infer<typeof timingRecordSchema>;

/** A mean over tasks with its 95 % bootstrap interval. */
export const estimateSchema = z.object({ mean: z.number(), low: z.number(), high: z.number() });
export type Estimate = z.infer<typeof estimateSchema>;

/** Success among the attempts that share a property. */
export const breakdownSchema = z.object({ name: z.string(), attempts: z.int(), success: z.number() });
export type Breakdown = z.infer<typeof breakdownSchema>;

/** A behaviour in an evaluation: how often episodes called for it, and how often it was done. */
export const behaviourSchema = z.object({ name: z.string(), done: z.int(), called: z.int() });
export type Behaviour = z.infer<typeof behaviourSchema>;

export const evaluationMoments = ["before", "during", "after"] as const;

/** One file of `evaluations/`. */
export const evaluationRecordSchema = estimateSchema.extend({
  when: z.enum(evaluationMoments),
  /** Optimisation steps before it; 0 is the start. */
  step: z.int(),
  split: z.string(),
  tasks: z.int(),
  k: z.int(),
  temperature: z.number(),
  /** `mean`, `low` and `high` are avg@k of success; these are pass@j for j = 1, 2, 4, … up to k. */
  passAt: z.array(estimateSchema.extend({ k: z.int() })),
  reward: estimateSchema,
  meanTurns: z.number(),
  toolCalls: z.int(),
  stopReasons: z.record(z.string(), z.int()),
  /** An attempt counts for every kind of request in its task: by the kind's own success, where the environment scores it, else by the episode's. */
  byKind: z.array(breakdownSchema),
  /** Behaviours that episodes called for, in the order of their names. */
  behaviours: z.array(behaviourSchema).default([]),
  /** By number of requests in the task. */
  byRequests: z.array(breakdownSchema),
  /** By assistant turns that the attempt took. */
  byTurns: z.array(breakdownSchema),
  /** Absent if there are none. */
  warnings: z.array(warningSchema).optional(),
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
  /** Of all processes that worked on the run. */
  wallSeconds: z.number(),
  peakRssMb: z.number(),
});
export type Progress = z.infer<typeof progressSchema>;

const scoreSchema = estimateSchema.extend({ split: z.string(), tasks: z.int(), k: z.int() });
export type ScoreSummary = z.infer<typeof scoreSchema>;

/** `summary.json`: written once, when a run has finished. */
export const summarySchema = z.object({
  /** Null where the configuration asks for no evaluation. */
  before: scoreSchema.nullable(),
  after: scoreSchema.nullable(),
  /** The number of steps and evaluations with each warning. Absent if there are none. */
  warnings: z.record(z.string(), z.int()).optional(),
  challenge: z.object({ before: scoreSchema, after: scoreSchema }).optional(),
  steps: z.int(),
  episodes: z.int(),
  toolCalls: z.int(),
  sampledTokens: z.number(),
  wallSeconds: z.number(),
  peakRssMb: z.number(),
});
export type Summary = z.infer<typeof summarySchema>;
