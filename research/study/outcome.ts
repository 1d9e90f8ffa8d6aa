import { z } from "zod";
import { present } from "../../src/core/present.ts";
import type { Trajectory } from "../../src/core/trajectory.ts";
import { readEpisodes, readEvaluations, readMetrics, readTimings } from "../../src/runs/read.ts";
import type { EvaluationRecord } from "../../src/runs/records.ts";
import { outcomesOf, requireScored } from "../../src/training/evaluation/compare.ts";
import type { RunKey } from "./definition.ts";

/** Values of tasks, in the order of the tasks: the mean over the attempts at each. */
const values = z.array(z.number());

const pointSchema = z.object({
  /** The spending of training by then: steps, episodes, tool calls and sampled tokens. */
  steps: z.int(),
  episodes: z.int(),
  toolCalls: z.number(),
  sampledTokens: z.number(),
  /** Sampled attempts, one at each task, at the first tasks of the split: the same number at every point of all runs. */
  values,
});

/** The record that is kept of a run: one line each, from which everything else is computed. */
export const runOutcomeSchema = z.object({
  world: z.string(),
  arm: z.string(),
  rate: z.number(),
  seed: z.int(),
  /** SHA-256 of the settings as they were written: an outcome of other settings is not of this plan. */
  plan: z.string(),
  /** The version of the package, and of Node. */
  version: z.string(),
  node: z.string(),
  /** The held-out curve, from the start to the end. */
  curve: z.array(pointSchema),
  /** At the end, of all tasks. Tuning runs have no greedy attempts. */
  final: z.object({ sampled: values, greedy: values.optional() }),
  optimiserSteps: z.number(),
  /** Processor time of the process that trained, in seconds; it covers the last process only where a run was continued. */
  cpuSeconds: z.number(),
  /** The engine's error where the run ended by one, as by numbers that are not finite. It then counts as 0 at all tasks from there on. */
  collapsed: z.string().optional(),
  /** True where the run was ended because it fell: it has no final values then. */
  ended: z.literal(true).optional(),
});
export type RunOutcome = z.infer<typeof runOutcomeSchema>;
export type CurvePoint = z.infer<typeof pointSchema>;
export type Spent = Omit<CurvePoint, "values">;

/** Returns the first and the last point of a curve, which has one at least. */
export function endsOf<Point>(curve: readonly Point[]): { readonly start: Point; readonly end: Point } {
  return { start: present(curve[0], "the start of a curve"), end: present(curve.at(-1), "the end of a curve") };
}

export interface OutcomeContext {
  readonly key: RunKey;
  readonly plan: string;
  readonly version: string;
  readonly cpuSeconds: number;
  /** Steps and tasks that the configuration asks for. */
  readonly steps: number;
  readonly collapsed?: string;
  readonly ended?: true;
}

/** Reads the held-out curve of a run folder, as far as it has come. */
export function curveOf(folder: string): CurvePoint[] {
  const spent = spending(folder);
  const sampled = readEvaluations(folder).filter(({ decoding }) => decoding === "sampled");
  const tasks = Math.min(...sampled.map((record) => record.tasks));
  return sampled
    .sort((a, b) => a.step - b.step)
    .map((record) => ({ ...spent(record.step), values: taskValues(readEpisodes(folder, record)).slice(0, tasks) }));
}

/**
 * Reads what a run folder says. A run that collapsed has 0 at all tasks from its last step on.
 * @throws RunError where a file of it is damaged
 */
export function outcomeOf(folder: string, { key, steps, cpuSeconds, ...context }: OutcomeContext): RunOutcome {
  const evaluations = readEvaluations(folder);
  const valuesOf = (record: EvaluationRecord) => taskValues(readEpisodes(folder, record));
  const points = curveOf(folder);
  const nothing = { ...spending(folder)(steps), steps, values: endsOf(points).start.values.map(() => 0) };
  const finalOf = (decoding: EvaluationRecord["decoding"]) => {
    const of = (when: EvaluationRecord["when"]) => evaluations.find((one) => one.when === when && one.decoding === decoding);
    const [before, after] = [of("before"), of("after")];
    return after !== undefined ? valuesOf(after) : before && valuesOf(before).map(() => 0);
  };
  const greedy = finalOf("greedy");
  return {
    ...key,
    ...context,
    node: process.versions.node,
    curve: context.collapsed === undefined ? points : [...points, nothing],
    final: context.ended ? { sampled: [] } : { sampled: finalOf("sampled") ?? [], ...(greedy === undefined ? {} : { greedy }) },
    optimiserSteps: total(readMetrics(folder).map(({ metrics }) => metrics.optimiserSteps)),
    cpuSeconds: Math.round(cpuSeconds * 10) / 10,
  };
}

/** Returns a function from a number of steps to what training had spent after them, evaluations left out. */
function spending(folder: string): (steps: number) => Spent {
  const metrics = readMetrics(folder).map((record) => record.metrics);
  const timings = readTimings(folder);
  return (steps) => ({
    steps,
    episodes: total(metrics.slice(0, steps).map(({ episodes }) => episodes)),
    toolCalls: total(metrics.slice(0, steps).map(({ toolCalls }) => toolCalls)),
    sampledTokens: total(timings.slice(0, steps).map(({ sampledTokens }) => sampledTokens)),
  });
}

function total(counts: readonly (number | null | undefined)[]): number {
  return counts.reduce<number>((sum, count) => sum + (count ?? 0), 0);
}

/** The mean of each task's attempts, tasks in the order in which they were played, to four digits. @throws MeasurementError as `requireScored` */
function taskValues(episodes: readonly Trajectory[]): number[] {
  return requireScored(outcomesOf(episodes)).success.map((value) => Math.round(value * 1e4) / 1e4);
}
