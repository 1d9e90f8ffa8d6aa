import { mean } from "../../src/core/mean.ts";
import { present } from "../../src/core/present.ts";
import type { Estimate } from "../../src/statistics/estimate.ts";
import { comparePaired } from "../../src/statistics/paired.ts";
import { crossedTest, smallestCrossed } from "./crossed.ts";
import { type Cell, type Contrast, partOf, type RunKey, type Study } from "./definition.ts";
import type { RunOutcome } from "./outcome.ts";
import { chosenRate, fell } from "./tuning.ts";

/** Below these no p-value is given: two or three seeds say too little of others. */
const fewestSeeds = 5;
/** A tested contrast holds below this. */
const level = 0.05;

/** A contrast with the runs that are there. */
export interface ContrastResult extends Contrast {
  /** Whether it is the question's primary, tested after it, tested only if those before it had held, or not tested. */
  readonly role: "primary" | "in sequence" | "not looked at" | "descriptive";
  /** The rates of the cells; undefined where tuning has chosen none. */
  readonly rates: readonly (number | undefined)[];
  /** The seeds that all cells have: reported ones, or tuning ones where fewer than two reported seeds are shared. */
  readonly seeds: readonly number[];
  readonly split: "test" | "validation";
  /** The values of both cells. Absent where no seed is shared. */
  readonly values?: readonly [more: number, less: number];
  /** Absent with one seed, of which nothing follows for others. */
  readonly difference?: Estimate;
  /** The difference that four of five such studies would have seen. */
  readonly smallest?: number;
  /** Absent with fewer than five seeds, and of contrasts that are not tested. */
  readonly pValue?: number;
}

export interface QuestionResult {
  readonly question: string;
  readonly contrasts: readonly ContrastResult[];
}

/**
 * Computes the contrasts of every question. Gate-keeping: the primary is tested first, and each other contrast with a test only if all before it
 * held, so that all verdicts of a question together are false in at most 5 % and none needs a correction (Maurer et al., 1995). Two primaries are
 * both tested, each at half of the level (Bonferroni).
 */
export function answers(study: Study, outcomes: readonly RunOutcome[]): QuestionResult[] {
  return Object.entries(study.questions).map(([question, { contrasts, primaries }]) => {
    let isOpen = true;
    const results = contrasts.map((contrast, i): ContrastResult => {
      const { pValue, ...result } = contrastResult(study, contrast, outcomes);
      if (contrast.test === undefined) return { ...result, role: "descriptive" };
      const isPrimary = i < primaries;
      if (!isPrimary && !isOpen) return { ...result, role: "not looked at" };
      isOpen &&= pValue !== undefined && pValue < (isPrimary ? level / primaries : level);
      return { ...result, role: isPrimary ? "primary" : "in sequence", pValue };
    });
    return { question, contrasts: results };
  });
}

/**
 * Returns the runs that a question needs at rates that it names: those of its primary first, and all cells with one seed before the next seed.
 * @param seeds the first reported seeds alone. Default: as many as the plan asks for
 */
export function runsOf(study: Study, question: string, seeds?: number): RunKey[] {
  const { contrasts, primaries, seeds: planned } = partOf(study, "questions", question);
  const keys = [contrasts.slice(0, primaries), contrasts.slice(primaries)].flatMap((part) =>
    study.seeds.flatMap((seed, i) =>
      part
        .filter(() => i < (seeds ?? planned))
        .flatMap(({ more, less }) => [more, less])
        .flatMap(([world, arm, rate]) => (rate === "best" ? [] : [{ world, arm, rate, seed }])),
    ),
  );
  return [...new Map(keys.map((key) => [JSON.stringify(key), key])).values()];
}

function contrastResult(study: Study, contrast: Contrast, outcomes: readonly RunOutcome[]): Omit<ContrastResult, "role"> {
  const { outcome } = contrast;
  const usable = outcomes.filter(
    ({ ended, final }) => outcome === "fell" || (!ended && (outcome !== "greedy" || final.greedy !== undefined)),
  );
  const cells = [contrast.more, contrast.less].map((cell) => runsAt(study, cell, outcomes, usable));
  const shared = (isTuning: boolean) =>
    (cells[0]?.runs ?? [])
      .filter(({ seed }) => study.tuningSeeds.includes(seed) === isTuning)
      .map(({ seed }) => ({ seed, runs: cells.flatMap(({ runs }) => runs.find((run) => run.seed === seed) ?? []) }))
      .filter(({ runs }) => runs.length === cells.length);
  const [reported, tuning] = [shared(false), shared(true)];
  const isReported = reported.length > 1 || tuning.length < reported.length;
  const bySeed = isReported ? reported : tuning;
  const result = {
    ...contrast,
    ...{ rates: cells.map(({ rate }) => rate), seeds: bySeed.map(({ seed }) => seed) },
    split: isReported ? ("test" as const) : ("validation" as const),
  };
  if (bySeed.length === 0) return result;
  const tables = bySeed.map(({ runs }) => {
    const table = runs.map((run) => valuesOf(outcome, run));
    return [present(table[0], "the first cell"), present(table[1], "the second cell")] as const;
  });
  const values = [mean(tables.map(([more]) => mean(more))), mean(tables.map(([, less]) => mean(less)))] as const;
  if (bySeed.length === 1) return { ...result, values };
  const differences = tables.map(([more, less]) => more.map((value, i) => value - Number(less[i])));
  const { difference, pValue, smallest } =
    outcome === "fell"
      ? comparePaired(
          differences.map(() => 0),
          differences.map(mean),
          { seed: 1, range: [-1, 1] },
        )
      : { ...crossedTest(differences), smallest: smallestCrossed(differences) };
  const clamp = (value: number) => Math.max(-1, Math.min(1, value));
  return {
    ...{ ...result, values, smallest: clamp(smallest) },
    difference: { ...difference, low: clamp(difference.low), high: clamp(difference.high) },
    ...(bySeed.length >= fewestSeeds ? { pValue } : {}),
  };
}

/** Rates are chosen by all tuning runs, whatever is compared: these have no greedy attempts. */
function runsAt(study: Study, [world, arm, chosen]: Cell, outcomes: readonly RunOutcome[], usable: readonly RunOutcome[]) {
  const rate = chosen === "best" ? chosenRate(study, world, arm, outcomes) : chosen;
  const runs = usable.filter((run) => run.world === world && run.arm === arm && run.rate === rate);
  return { rate, runs: runs.toSorted((a, b) => a.seed - b.seed) };
}

function valuesOf(outcome: Contrast["outcome"], run: RunOutcome): readonly number[] {
  if (outcome === "fell") return [Number(fell(run))];
  return outcome === "greedy" ? present(run.final.greedy, "greedy attempts") : run.final.sampled;
}
