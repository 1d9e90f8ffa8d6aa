import { resolve } from "node:path";
import type { Trajectory } from "../../src/core/trajectory.ts";
import type { EvaluationKey } from "../../src/runs/layout.ts";
import {
  readEpisodes,
  readEvaluations,
  readMetrics,
  readRun,
  readSummary,
  readTrajectories,
  trajectorySteps,
} from "../../src/runs/read.ts";
import type { EvaluationRecord, RunRecord, StepRecord, Summary } from "../../src/runs/records.ts";
import { marksOf, readRemarks } from "./remarks.ts";

/** A recorded run, as its folder has it now. Episodes are read on demand. */
export interface LoadedRun {
  /** Absolute. */
  readonly folder: string;
  /** Configuration, version and time of its start. */
  readonly record: RunRecord;
  /** Undefined until the run is finished. */
  readonly summary: Summary | undefined;
  /** Finished steps in order, with their metrics and warnings (docs/runs.md). */
  readonly steps: readonly StepRecord[];
  readonly evaluations: readonly EvaluationRecord[];
  /** Rewards that people gave to episodes in the dashboard, by the episode's id. */
  readonly marks: ReadonlyMap<string, number>;
  /** Steps whose episodes are kept. */
  readonly episodeSteps: readonly number[];
  /** Returns the episodes that a step was trained on. @throws RunError if that step has none */
  episodes(step: number): Trajectory[];
  /** Returns every attempt of one of the `evaluations`. */
  attempts(evaluation: EvaluationKey): Trajectory[];
}

/**
 * Loads a run that `train` or the command line has recorded.
 * @throws RunError if the folder holds no run, or a file of it is damaged
 * @example
 * const run = loadRun("runs/office-seeupo-1");
 * const rewards = run.steps.map(({ metrics }) => metrics.reward);
 */
export function loadRun(folder: string): LoadedRun {
  return {
    folder: resolve(folder),
    record: readRun(folder),
    summary: readSummary(folder),
    steps: readMetrics(folder),
    evaluations: readEvaluations(folder),
    marks: marksOf(readRemarks(folder)),
    episodeSteps: trajectorySteps(folder),
    episodes: (step) => readTrajectories(folder, step),
    attempts: (evaluation) => readEpisodes(folder, evaluation),
  };
}
