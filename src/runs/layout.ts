import { join } from "node:path";
import type { EvaluationRecord } from "./records.ts";

/** Where runs go that are given no folder of their own. */
export const runsFolder = "runs";

/** Where things lie in a run's folder. */
export const layout = {
  run: (folder: string) => join(folder, "run.json"),
  metrics: (folder: string) => join(folder, "metrics.jsonl"),
  timing: (folder: string) => join(folder, "timing.jsonl"),
  summary: (folder: string) => join(folder, "summary.json"),
  /** The trained model, in Hugging Face format. */
  model: (folder: string) => join(folder, "model"),
  trajectoryFolder: (folder: string) => join(folder, "trajectories"),
  trajectories: (folder: string, step: number) => join(folder, "trajectories", `${stepName(step)}.jsonl.gz`),
  evaluationFolder: (folder: string) => join(folder, "evaluations"),
  evaluation: (folder: string, of: EvaluationKey) => join(folder, "evaluations", `${evaluationName(of)}.json`),
  episodes: (folder: string, of: EvaluationKey) => join(folder, "evaluations", `${evaluationName(of)}.jsonl.gz`),
  /** A line for every file of trajectories: what a filter asks of them. */
  index: (folder: string) => join(folder, "index.jsonl"),
  /** The tokenizer's files, so that ids can be read as text while the run has no model yet. */
  tokenizer: (folder: string) => join(folder, "tokenizer"),
  creditFolder: (folder: string) => join(folder, "credits"),
  tokenCredits: (folder: string, step: number) => join(folder, "credits", `${stepName(step)}-tokens.parquet`),
  turnCredits: (folder: string, step: number) => join(folder, "credits", `${stepName(step)}-turns.parquet`),
  /** Notes on the run, and marks of its episodes. */
  remarks: (folder: string) => join(folder, "remarks.jsonl"),
  /** The current activity of a run; gone once it has ended. */
  live: (folder: string) => join(folder, "live.json"),
  /** Warnings and notices, a line each. */
  messages: (folder: string) => join(folder, "messages.jsonl"),
  checkpointFolder: (folder: string) => join(folder, "checkpoints"),
  checkpoint: (folder: string, step: number) => join(folder, "checkpoints", stepName(step)),
} as const;

/** The fields that distinguish the evaluations of a run. */
export type EvaluationKey = Pick<EvaluationRecord, "when" | "step" | "split" | "decoding">;

/** The step that a file or folder name speaks of; undefined for other names. */
export function stepOf(name: string): number | undefined {
  const digits = /^step-(\d+)/.exec(name)?.[1];
  return digits === undefined ? undefined : Number(digits);
}

/** "step-000012" */
function stepName(step: number): string {
  return `step-${String(step).padStart(6, "0")}`;
}

function evaluationName({ when, step, split, decoding }: EvaluationKey): string {
  return `${stepName(step)}-${when}-${split}${decoding === "greedy" ? "-greedy" : ""}`;
}
