import { mean } from "../../src/core/mean.ts";
import type { Estimate } from "../../src/statistics/estimate.ts";
import { crossedTest } from "./crossed.ts";
import type { Cell, Contrast, Question } from "./definition.ts";
import { fell, type RunOutcome } from "./outcome.ts";

/** Below these no p-value is given: two or three seeds say too little of others. */
const fewestSeeds = 5;

/** A contrast with the runs that are there. */
export interface ContrastResult extends Contrast {
  readonly isPrimary: boolean;
  /** The seeds that both cells have. */
  readonly seeds: readonly number[];
  /** The values of both cells. Absent where no seed is shared. */
  readonly values?: readonly [more: number, less: number];
  /** Absent with one seed, of which nothing follows for others, and of runs that fell. */
  readonly difference?: Estimate;
  /** Absent with fewer than five seeds, and of contrasts that only describe. */
  readonly pValue?: number;
}

/**
 * Computes the contrasts of a question. Its two primaries are tested, each at half of the level (Bonferroni), so that both verdicts together are
 * false in at most 5 %.
 */
export function answersTo({ contrasts }: Question, outcomes: readonly RunOutcome[]): ContrastResult[] {
  return contrasts.map((contrast, i) => contrastResult({ ...contrast, isPrimary: i < 2 }, outcomes));
}

function contrastResult(contrast: Contrast & { readonly isPrimary: boolean }, outcomes: readonly RunOutcome[]): ContrastResult {
  const [more, less] = [runsAt(contrast.more, outcomes), runsAt(contrast.less, outcomes)];
  const seeds = [...more.keys()].filter((seed) => less.has(seed)).sort((a, b) => a - b);
  if (seeds.length === 0) return { ...contrast, seeds };
  const tableOf = (runs: ReadonlyMap<number, RunOutcome>) => seeds.map((seed) => valuesOf(contrast.outcome, runs.get(seed)));
  const [ofMore, ofLess] = [tableOf(more), tableOf(less)];
  const values = [mean(ofMore.map(mean)), mean(ofLess.map(mean))] as const;
  if (seeds.length === 1 || contrast.outcome === "fell") return { ...contrast, seeds, values };
  const { difference, pValue } = crossedTest(
    ofMore.map((row, seed) => row.map((value, task) => value - Number(ofLess[seed]?.[task]))),
  );
  const clamp = (value: number) => Math.max(-1, Math.min(1, value));
  return {
    ...{ ...contrast, seeds, values },
    difference: { ...difference, low: clamp(difference.low), high: clamp(difference.high) },
    ...(contrast.isPrimary && seeds.length >= fewestSeeds ? { pValue } : {}),
  };
}

/** The runs of a cell by seed. */
function runsAt([world, arm, rate]: Cell, outcomes: readonly RunOutcome[]): ReadonlyMap<number, RunOutcome> {
  const runs = outcomes.filter((run) => run.world === world && run.arm === arm && run.rate === rate);
  return new Map(runs.map((run) => [run.seed, run]));
}

function valuesOf(outcome: Contrast["outcome"], run: RunOutcome | undefined): readonly number[] {
  if (run === undefined) return [];
  if (outcome === "fell") return [Number(fell(run))];
  return run.final[outcome] ?? [];
}
