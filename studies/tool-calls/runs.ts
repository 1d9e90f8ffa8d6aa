import { existsSync } from "node:fs";
import { join } from "node:path";
import { RunError } from "../../src/core/errors.ts";
import { layout } from "../../src/runs/layout.ts";
import { readEpisodes, readEvaluations, readMetrics, readSummary, readTimings } from "../../src/runs/read.ts";
import { requireSameRun } from "../../src/runs/write.ts";
import { train } from "../../src/sdk/train.ts";
import { resolveConfig, type TrainingConfig } from "../../src/training/config.ts";
import type { OnEvent } from "../../src/training/events.ts";
import { armConfig } from "./arms.ts";
import type { MeasuredRun } from "./intervals.ts";

/** What one run came to. */
export interface FinishedRun extends MeasuredRun {
  readonly points: readonly (MeasuredRun["points"][number] & { readonly step: number; readonly success: number })[];
  readonly steps: number;
  /** Leaves that were played, in all steps: those that dynamic sampling dropped included. */
  readonly episodes: number;
  readonly sampledTokens: number;
  /** That went through the training's passes, each shared one once. */
  readonly uniqueTokens: number;
  /** Those of all samples, each computed in full. */
  readonly totalTokens: number;
  /** Of rollouts and updates; evaluations are in `wallSeconds` only. */
  readonly trainingSeconds: number;
  readonly wallSeconds: number;
}

export interface OneRun {
  readonly arm: string;
  readonly seed: number;
  /** Of the whole study. */
  readonly out: string;
  readonly shared: TrainingConfig;
}

/**
 * Trains one arm with one seed, or goes on where that was broken off, or reads what is there.
 * @throws RunError where the folder has a run of another configuration, or the signal has ended it
 */
export async function finishRun(
  { arm, seed, out, shared }: OneRun,
  options: { readonly onEvent?: OnEvent; readonly signal?: AbortSignal },
): Promise<FinishedRun> {
  const folder = join(out, "runs", `${arm}-seed-${seed}`);
  const config = { ...armConfig(arm, shared), seed, out: folder };
  const resume = existsSync(layout.run(folder));
  if (resume) requireSameRun(folder, resolveConfig(config));
  if (readSummary(folder) === undefined) await train(resume ? { out: folder } : config, { ...options, resume });
  return readFinished(folder, arm, seed);
}

/** @throws RunError where the run has not finished */
export function readFinished(folder: string, arm: string, seed: number): FinishedRun {
  const summary = readSummary(folder);
  if (summary === undefined) throw new RunError(folder, "unfinished", { expected: "a run with a summary" });
  const calls = readMetrics(folder).map(({ metrics }) => Number(metrics.toolCalls));
  const timings = readTimings(folder);
  const total = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0);
  return {
    arm,
    seed,
    points: readEvaluations(folder)
      .filter(({ temperature }) => temperature > 0)
      .map((record) => ({
        step: record.step,
        calls: total(calls.slice(0, record.step)),
        rewards: readEpisodes(folder, record).map(({ reward }) => reward),
        success: record.mean,
      })),
    steps: summary.steps,
    episodes: summary.episodes,
    sampledTokens: summary.sampledTokens,
    uniqueTokens: total(timings.map(({ trainedTokens }) => trainedTokens)),
    totalTokens: total(timings.map(({ denseTokens }) => denseTokens)),
    trainingSeconds: total(timings.map(({ rolloutSeconds, updateSeconds }) => rolloutSeconds + updateSeconds)),
    wallSeconds: summary.wallSeconds,
  };
}
