import { mean } from "../../src/core/mean.ts";
import { present } from "../../src/core/present.ts";
import { type SeedsByTasks, seedsAndTasksInterval } from "../../src/statistics/clustered.ts";
import type { Estimate } from "../../src/statistics/estimate.ts";
import { armsOf, partOf, type Study } from "./definition.ts";
import { type CurvePoint, endsOf, type RunOutcome, type Spent } from "./outcome.ts";
import { plannedRuns } from "./plan.ts";
import { chosenRate, fell, type RateResult, rateCurve, type Stability, stabilityOf, survived } from "./tuning.ts";

/** Decides the random numbers of simulated intervals. */
const intervalSeed = 1;

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
  /** Height of the held-out curve: its area over episodes up to what every run of the world has played, divided by that. */
  readonly area?: Estimate;
  readonly fell?: number;
  readonly survived?: number;
  readonly optimiserSteps?: number;
  readonly toolCalls?: number;
  readonly sampledTokens?: number;
  /** The mean curve. */
  readonly curve?: readonly (Spent & { readonly value: Estimate })[];
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
    return own
      .filter((run) => run.arm === arm && run.rate === rate && study.seeds.includes(run.seed))
      .sort((a, b) => a.seed - b.seed);
  };
  const runs = new Map(armsOf(study, world).map((arm) => [arm, reportedOf(arm)]));
  const reported = [...runs.values()].flat();
  const common = Math.min(...reported.map(({ curve }) => endsOf(curve).end.episodes));
  return {
    ...{ world, title: partOf(study, "worlds", world).title, planned: plannedRuns(study, world) },
    done: { tuning: tuning.length, reported: reported.length },
    atOtherRates: own.length - tuning.length - reported.length,
    arms: [...runs].map(([arm, own]) => armResult(study, { world, arm }, tuning, own, common)),
  };
}

function armResult(
  study: Study,
  { world, arm }: { readonly world: string; readonly arm: string },
  tuning: readonly RunOutcome[],
  runs: readonly RunOutcome[],
  common: number,
): ArmResult {
  const rates = rateCurve(study, { world, arm }, tuning);
  const result = {
    ...{ arm, title: partOf(study, "arms", arm).title, rates },
    ...{ rate: chosenRate(study, world, arm, tuning), stability: stabilityOf(rates), seeds: runs.map(({ seed }) => seed) },
  };
  if (runs.length === 0) return result;
  const tables = (of: (run: RunOutcome) => readonly number[]) => estimateOf(runs.map(of));
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
    ...(greedy.length === runs.length ? { greedy: estimateOf(greedy) } : {}),
    area: tables((run) => areas(run.curve, common)),
    ...{ fell: runs.filter(fell).length, survived: runs.filter(survived).length },
    optimiserSteps: mean(runs.map((run) => run.optimiserSteps / endsOf(run.curve).end.steps)),
    ...{ toolCalls: last.toolCalls, sampledTokens: last.sampledTokens },
  };
}

function spent(points: readonly CurvePoint[]): Spent {
  const of = (sum: keyof Spent) => mean(points.map((point) => point[sum]));
  return { steps: of("steps"), episodes: of("episodes"), toolCalls: of("toolCalls"), sampledTokens: of("sampledTokens") };
}

function estimateOf(table: SeedsByTasks): Estimate {
  return seedsAndTasksInterval(table, { seed: intervalSeed, range: [0, 1] });
}

/**
 * Returns, for each task, the mean height of its curve over episodes: trapezia between evaluations.
 * @param until episodes that every run has played, > 0; the curve is cut there, on a straight line between evaluations
 */
export function areas(curve: readonly CurvePoint[], until: number): number[] {
  const { start } = endsOf(curve);
  return start.values.map((height, task) => {
    let [area, from] = [0, start];
    for (const to of curve.slice(1)) {
      const width = to.episodes - from.episodes;
      const share = width > 0 ? Math.min(1, Math.max(0, (until - from.episodes) / width)) : 0;
      const [before, after] = [Number(from.values[task]), Number(to.values[task])];
      const reached = before + share * (after - before);
      area += (share * width * (before + reached)) / 2;
      from = to;
    }
    return until > 0 ? area / until : height;
  });
}
