import { mean } from "../../src/core/mean.ts";
import { crossedTest, pairedBySeed } from "../../src/statistics/clustered.ts";
import type { Estimate } from "../../src/statistics/estimate.ts";
import { comparePaired } from "../../src/statistics/paired.ts";
import { areas } from "./analysis.ts";
import type { Cell, Contrast, RunKey, Study } from "./definition.ts";
import type { RunOutcome } from "./outcome.ts";
import { chosenRate, fell } from "./tuning.ts";

/** Below these no p-value is given: two or three seeds say too little of others. */
const fewestSeeds = 5;

/** A contrast with the runs that are there. */
export interface ContrastResult extends Contrast {
  /** The rates of both cells; undefined where tuning has chosen none. */
  readonly rates: readonly [number | undefined, number | undefined];
  /** The seeds that both cells have: reported ones, or tuning ones where fewer than two reported seeds are shared. */
  readonly seeds: readonly number[];
  readonly split: "test" | "validation";
  /** Absent where no seed is shared. */
  readonly values?: readonly [more: number, less: number];
  /** Absent with one seed, of which nothing follows for others. */
  readonly difference?: Estimate;
  /** The difference that four of five such studies would have seen. */
  readonly smallest?: number;
  /** Absent with fewer than five seeds, and of descriptive contrasts. */
  readonly pValue?: number;
}

export interface QuestionResult {
  readonly question: string;
  readonly contrasts: readonly ContrastResult[];
}

/** Computes the contrasts of every question. The first of each is its primary, and the only one that is tested. */
export function answers(study: Study, outcomes: readonly RunOutcome[]): QuestionResult[] {
  return Object.entries(study.questions).map(([question, { contrasts }]) => ({
    question,
    contrasts: contrasts.map((contrast, i) => contrastResult(study, contrast, i === 0, outcomes)),
  }));
}

/** Returns the runs that a question needs at rates that it names, all cells with one seed before the next seed. */
export function runsOf(study: Study, question: string, seeds: readonly number[]): RunKey[] {
  const cells = study.questions[question].contrasts.flatMap(({ more, less }) => [more, less]);
  const keys = seeds.flatMap((seed) =>
    cells.flatMap(([world, arm, rate]) => (rate === "best" ? [] : [{ world, arm, rate, seed }])),
  );
  return [...new Map(keys.map((key) => [JSON.stringify(key), key])).values()];
}

function contrastResult(study: Study, contrast: Contrast, isPrimary: boolean, outcomes: readonly RunOutcome[]): ContrastResult {
  const [more, less] = [contrast.more, contrast.less].map((cell) => runsAt(study, cell, outcomes));
  const paired = (isTuning: boolean) =>
    more.runs.flatMap((run) => {
      const other = less.runs.find(({ seed }) => seed === run.seed);
      return other === undefined || study.tuningSeeds.includes(run.seed) !== isTuning ? [] : [[run, other] as const];
    });
  const reported = paired(false);
  const isReported = reported.length > 1 || paired(true).length < reported.length;
  const pairs = isReported ? reported : paired(true);
  const result = {
    ...contrast,
    ...{ rates: [more.rate, less.rate] as const, seeds: pairs.map(([{ seed }]) => seed) },
    split: isReported ? ("test" as const) : ("validation" as const),
  };
  if (pairs.length === 0) return result;
  const until = Math.min(...pairs.flat().map(({ curve }) => curve[curve.length - 1].episodes));
  const tables = [0, 1].map((side) => pairs.map((pair) => valuesOf(contrast, pair[side], until)));
  const values = [mean(tables[0].map(mean)), mean(tables[1].map(mean))] as const;
  if (pairs.length === 1) return { ...result, values };
  const bySeed = (table: readonly (readonly number[])[]) => table.map(mean);
  const { difference, pValue, smallest } =
    contrast.outcome === "fell"
      ? comparePaired(bySeed(tables[1]), bySeed(tables[0]), { seed: 1, range: [0, 1] })
      : crossedTest(pairedBySeed(tables[1], tables[0]));
  const clamp = (value: number) => Math.max(-1, Math.min(1, value));
  return {
    ...{ ...result, values, smallest: clamp(smallest) },
    difference: { ...difference, low: clamp(difference.low), high: clamp(difference.high) },
    ...(isPrimary && pairs.length >= fewestSeeds ? { pValue } : {}),
  };
}

function runsAt(study: Study, [world, arm, asked]: Cell, outcomes: readonly RunOutcome[]) {
  const rate = asked === "best" ? chosenRate(study, world, arm, outcomes) : asked;
  const runs = outcomes.filter((run) => run.world === world && run.arm === arm && run.rate === rate);
  return { rate, runs: runs.toSorted((a, b) => a.seed - b.seed) };
}

function valuesOf({ outcome }: Contrast, run: RunOutcome, until: number): readonly number[] {
  if (outcome === "fell") return [Number(fell(run))];
  return outcome === "area" ? areas(run.curve, "episodes", until) : run.final.sampled;
}
