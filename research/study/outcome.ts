import { createHash } from "node:crypto";
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { RunError } from "../../src/core/errors.ts";
import { mean } from "../../src/core/mean.ts";
import type { Trajectory } from "../../src/core/trajectory.ts";
import { makeFolder } from "../../src/files/folder.ts";
import { readEpisodes, readEvaluations, readMetrics } from "../../src/runs/read.ts";
import type { EvaluationRecord } from "../../src/runs/records.ts";
import { sealed, unsealed } from "../../src/runs/seal.ts";
import { signFlipTest } from "../../src/statistics/exact-tests.ts";
import { outcomesOf, requireScored } from "../../src/training/evaluation/compare.ts";
import { type RunKey, runId, runsOf, type Study, settingsOf } from "./definition.ts";

/** Values of tasks, in the order of the tasks: the mean over the attempts at each. */
const values = z.array(z.number());

/** The record that is kept of a run: one line each, from which everything else is computed. */
export const runOutcomeSchema = z.object({
  world: z.string(),
  arm: z.string(),
  rate: z.number(),
  seed: z.int(),
  /** SHA-256 of the settings as they were written: an outcome of other settings is not of this plan. */
  plan: z.string(),
  /** The held-out curve, from the start to the end: sampled attempts, one at each of the first tasks of the split. */
  curve: z.array(z.object({ steps: z.int(), values })),
  /** At the end, of all tasks. */
  final: z.object({ sampled: values, greedy: values.optional() }),
  optimiserSteps: z.number(),
});
export type RunOutcome = z.infer<typeof runOutcomeSchema>;

/** A run falls where its held-out value is this much lower than at an earlier evaluation, and by more than chance. */
const fallOf = 0.1;
/** The sign-flip test's p below which a fall is not chance. A policy that stays as it is falls in 3 to 4 % of curves of six points and 64 tasks; by 10 points alone, in half of them. */
const fallLevel = 0.01;

/** True if a run fell from a value that it had, on the same tasks. Values are those of its curve. */
export function fell({ curve }: Pick<RunOutcome, "curve">): boolean {
  let best = curve[0]?.values ?? [];
  for (const { values } of curve) {
    const lost = best.map((value, task) => value - Number(values[task]));
    if (mean(lost) > fallOf && signFlipTest(lost, 1).pValue < fallLevel) return true;
    if (mean(lost) < 0) best = values;
  }
  return false;
}

/** SHA-256 of what a run was asked to be, as the study's file says it. */
export function planHash(study: Study, key: RunKey): string {
  const identity = JSON.stringify([settingsOf(study, key), "success"]);
  return createHash("sha256").update(identity).digest("hex").slice(0, 16);
}

/** Reads what the folder of a finished run says. @throws RunError where a file of it is damaged */
export function outcomeOf(study: Study, key: RunKey, folder: string): RunOutcome {
  const evaluations = readEvaluations(folder);
  const valuesOf = (record: EvaluationRecord) => taskValues(readEpisodes(folder, record));
  const sampled = evaluations.filter(({ decoding }) => decoding === "sampled").sort((a, b) => a.step - b.step);
  const tasks = Math.min(...sampled.map((record) => record.tasks));
  const after = evaluations.filter(({ when }) => when === "after");
  const final = Object.fromEntries(after.map((record) => [record.decoding, valuesOf(record)]));
  return runOutcomeSchema.parse({
    ...key,
    plan: planHash(study, key),
    curve: sampled.map((record) => ({ steps: record.step, values: valuesOf(record).slice(0, tasks) })),
    final,
    optimiserSteps: readMetrics(folder).reduce((sum, { metrics }) => sum + (metrics.optimiserSteps ?? 0), 0),
  });
}

/** The mean of each task's attempts, tasks in the order in which they were played, to four digits. @throws MeasurementError as `requireScored` */
function taskValues(episodes: readonly Trajectory[]): number[] {
  return requireScored(outcomesOf(episodes)).success.map((value) => Math.round(value * 1e4) / 1e4);
}

const fileIn = (folder: string) => join(folder, "outcomes.jsonl");

/**
 * Reads the outcomes of a study's plan. Others in the file, by which learning rates were chosen, are left out.
 * @throws RunError where one is damaged, or of other settings than the study has now: a plan is fixed before its first run
 */
export function readOutcomes(study: Study, folder: string): RunOutcome[] {
  const path = fileIn(folder);
  if (!existsSync(path)) return [];
  const planned = new Set(runsOf(study).map(runId));
  const lines = readFileSync(path, "utf8").split("\n");
  const outcomes = lines.flatMap((line, index) => (line === "" ? [] : [readOutcome(study, line, `${path}, line ${index + 1}`)]));
  return outcomes.filter((outcome) => planned.has(runId(outcome)));
}

function readOutcome(study: Study, line: string, where: string): RunOutcome {
  let outcome: RunOutcome;
  try {
    outcome = runOutcomeSchema.parse(unsealed(line));
  } catch (cause) {
    throw new RunError(where, "damaged", { expected: "the outcome of a run", hint: "Delete the line to run it again.", cause });
  }
  const isPlanned = runsOf(study).some((key) => runId(key) === runId(outcome));
  if (!isPlanned || outcome.plan === planHash(study, outcome)) return outcome;
  throw new RunError(where, "of another plan", {
    expected: `an outcome of ${study.name} as it is defined now`,
    hint: "A plan is fixed before its first run. Restore it, or delete the line to run it again, or give the new plan a folder with --out.",
  });
}

/** Appends the outcome of a run: a line is one write. */
export function writeOutcome(folder: string, outcome: RunOutcome): void {
  makeFolder(folder);
  appendFileSync(fileIn(folder), `${sealed(JSON.stringify(outcome))}\n`);
}
