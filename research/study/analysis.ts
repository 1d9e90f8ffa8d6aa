import { mean } from "../../src/core/mean.ts";
import { present } from "../../src/core/present.ts";
import { type SeedsByTasks, seedsAndTasksInterval } from "../../src/statistics/clustered.ts";
import type { Estimate } from "../../src/statistics/estimate.ts";
import { areas } from "./area.ts";
import { type Axis, armsOf, partOf, type Study, seedsOf } from "./definition.ts";
import { type CurvePoint, endsOf, type RunOutcome } from "./outcome.ts";
import { plannedRuns } from "./plan.ts";
import { chosenRate, fell, type RateResult, rateCurve, type Stability, stabilityOf, survived } from "./tuning.ts";

/** Decides the random numbers of simulated intervals. */
const intervalSeed = 1;

export interface AxisResult {
  readonly axis: Axis;
  /** Height of the held-out curve: its area over the axis up to what every run of the world has spent, divided by that. */
  readonly area: Estimate;
  /** The amount that had been spent when the mean curve first reached each target; undefined if it never did. */
  readonly targets: readonly { readonly target: number; readonly spent?: number }[];
}

/** The results of the reported runs of an arm. */
export interface ArmResult {
  readonly arm: string;
  readonly title: string;
  readonly rates: readonly RateResult[];
  readonly rate?: number;
  readonly stability?: Stability;
  /** The reported seeds that have run at the rate. The rest is absent if there are none. */
  readonly seeds: readonly number[];
  readonly sampled?: Estimate;
  readonly greedy?: Estimate;
  readonly perSeed?: readonly number[];
  readonly axes?: readonly AxisResult[];
  readonly fell?: number;
  readonly survived?: number;
  readonly optimiserSteps?: number;
  readonly toolCalls?: number;
  readonly sampledTokens?: number;
  /** The mean curve. */
  readonly curve?: readonly (Record<Axis, number> & { readonly value: Estimate })[];
}

export interface WorldResult {
  readonly world: string;
  readonly title: string;
  readonly planned: { readonly tuning: number; readonly reported: number };
  readonly done: { readonly tuning: number; readonly reported: number };
  /** Reported runs at other rates than the chosen one: those of questions, or of tuning that was replaced. */
  readonly atOtherRates: number;
  readonly arms: readonly ArmResult[];
}

/** Computes everything that the page says of a world. */
export function analyse(study: Study, world: string, outcomes: readonly RunOutcome[]): WorldResult {
  const own = outcomes.filter((run) => run.world === world);
  const tuning = own.filter(({ seed }) => study.tuningSeeds.includes(seed));
  const reportedOf = (arm: string) => {
    const rate = chosenRate(study, world, arm, own);
    const seeds = seedsOf(study, world);
    return own.filter((run) => run.arm === arm && run.rate === rate && seeds.includes(run.seed)).sort((a, b) => a.seed - b.seed);
  };
  const runs = new Map(armsOf(study, world).map((arm) => [arm, reportedOf(arm)]));
  const reported = [...runs.values()].flat();
  const common = new Map(study.axes.map((axis) => [axis, Math.min(...reported.map(({ curve }) => endsOf(curve).end[axis]))]));
  const { title, untilFall } = partOf(study, "worlds", world);
  return {
    ...{ world, title, planned: plannedRuns(study, world) },
    ...(untilFall
      ? { done: { tuning: 0, reported: own.length }, atOtherRates: 0 }
      : {
          done: { tuning: tuning.length, reported: reported.length },
          atOtherRates: own.length - tuning.length - reported.length,
        }),
    arms: [...runs].map(([arm, own]) => armResult(study, { world, arm }, tuning, own, common)),
  };
}

export const axisWords: Readonly<Record<Axis, string>> = {
  episodes: "episodes",
  toolCalls: "tool calls",
  steps: "steps",
  sampledTokens: "sampled tokens",
};

function armResult(
  study: Study,
  { world, arm }: { readonly world: string; readonly arm: string },
  tuning: readonly RunOutcome[],
  runs: readonly RunOutcome[],
  common: ReadonlyMap<Axis, number>,
): ArmResult {
  const rates = rateCurve(study, { world, arm }, tuning);
  const result = {
    ...{ arm, title: partOf(study, "arms", arm).title, rates },
    ...{ rate: chosenRate(study, world, arm, tuning), stability: stabilityOf(rates), seeds: runs.map(({ seed }) => seed) },
  };
  if (runs.length === 0) return result;
  const tables = (of: (run: RunOutcome) => readonly number[]) => estimateOf(study, runs.map(of));
  const greedy = runs.flatMap(({ final }) => (final.greedy === undefined ? [] : [final.greedy]));
  const points = Math.min(...runs.map(({ curve }) => curve.length));
  const curve = Array.from({ length: points }, (_, i) => {
    const at = (run: RunOutcome) => present(run.curve[i], "a point of a curve");
    return { ...spent(runs.map(at)), value: tables((run) => at(run).values) };
  });
  const last = spent(runs.map((run) => endsOf(run.curve).end));
  return {
    ...result,
    ...{ sampled: tables(({ final }) => final.sampled), perSeed: runs.map(({ final }) => mean(final.sampled)), curve },
    ...(greedy.length === runs.length ? { greedy: estimateOf(study, greedy) } : {}),
    axes: study.axes.map((axis) => ({
      axis,
      area: tables((run) => areas(run.curve, axis, common.get(axis) ?? 0)),
      targets: study.targets.map((target) => ({ target, spent: firstReached(curve, axis, target) })),
    })),
    ...{ fell: runs.filter(fell).length, survived: runs.filter(survived).length },
    optimiserSteps: mean(runs.map((run) => run.optimiserSteps / endsOf(run.curve).end.steps)),
    ...{ toolCalls: last.toolCalls, sampledTokens: last.sampledTokens },
  };
}

function spent(points: readonly CurvePoint[]): Record<Axis, number> {
  const of = (axis: Axis) => mean(points.map((point) => point[axis]));
  return { steps: of("steps"), episodes: of("episodes"), toolCalls: of("toolCalls"), sampledTokens: of("sampledTokens") };
}

function estimateOf({ measure }: Study, table: SeedsByTasks): Estimate {
  return seedsAndTasksInterval(table, { seed: intervalSeed, ...(measure === "success" ? { range: [0, 1] as const } : {}) });
}

/** Returns what was spent where a curve first reaches a value, on straight lines between its points. */
export function firstReached(
  curve: readonly (Record<Axis, number> & { readonly value: Estimate })[],
  axis: Axis,
  target: number,
): number | undefined {
  const at = curve.findIndex(({ value }) => value.mean >= target);
  const [from, to] = [curve[at - 1], curve[at]];
  if (from === undefined || to === undefined) return to?.[axis];
  const share = (target - from.value.mean) / (to.value.mean - from.value.mean);
  return from[axis] + share * (to[axis] - from[axis]);
}
