import { mean } from "../../src/core/mean.ts";
import { signFlipTest } from "../../src/statistics/exact-tests.ts";
import { type RunKey, ratesOf, type Study } from "./definition.ts";
import { endsOf, type RunOutcome } from "./outcome.ts";

/** A run falls where its held-out value is this much lower than at an earlier evaluation, and by more than chance. */
export const fallOf = 0.1;
/** The sign-flip test's p below which a fall is not chance. A policy that stays as it is falls in 3 to 4 % of curves of six points and 64 tasks; by 10 points alone, in half of them. */
export const fallLevel = 0.01;

/** Rates are good where the mean of the tuning runs is at most this much below that of the best rate. */
export const goodWithin = 0.05;

/** The results of the tuning runs of an arm for one learning rate. */
export interface RateResult {
  readonly rate: number;
  /** Tuning runs, and how many of them survived. */
  readonly runs: number;
  readonly survived: number;
  /** True if one of them fell: the rate is then not chosen while another has none that did. */
  readonly fell: boolean;
  /** Held-out value at the end, mean over tasks and runs. */
  readonly final: number;
}

/** True if a run fell from a value that it had, on the same tasks. Values are those of its curve. */
export function fell({ curve }: Pick<RunOutcome, "curve">): boolean {
  let best = endsOf(curve).start.values;
  for (const { values } of curve) {
    const lost = best.map((value, task) => value - Number(values[task]));
    if (mean(lost) > fallOf && signFlipTest(lost, 1).pValue < fallLevel) return true;
    if (mean(lost) < 0) best = values;
  }
  return false;
}

/** The values that a run ends with: after training, or where it was ended. */
export function lastValues({ curve, final, ended }: RunOutcome): readonly number[] {
  return ended ? endsOf(curve).end.values : final.sampled;
}

/** True if a run ended by itself, and neither fell nor ended lower than it began. */
export function survived(outcome: RunOutcome): boolean {
  const { start, end } = endsOf(outcome.curve);
  return outcome.collapsed === undefined && !fell(outcome) && mean(end.values) >= mean(start.values);
}

/** Returns what the tuning runs say of each rate that has any, the smallest first. */
export function rateCurve(
  study: Study,
  { world, arm }: Pick<RunKey, "world" | "arm">,
  outcomes: readonly RunOutcome[],
): RateResult[] {
  const tuning = outcomes.filter((run) => run.world === world && run.arm === arm && study.tuningSeeds.includes(run.seed));
  return ratesOf(study, world, arm)
    .toSorted((a, b) => a - b)
    .map((rate) => ({ rate, runs: tuning.filter((run) => run.rate === rate) }))
    .filter(({ runs }) => runs.length > 0)
    .map(({ rate, runs }) => ({
      rate,
      runs: runs.length,
      survived: runs.filter(survived).length,
      fell: runs.some(fell),
      final: mean(runs.map((run) => mean(lastValues(run)))),
    }));
}

/** Returns the rate with the best mean at the end of tuning runs of which none fell, the smaller one of equals; undefined if there is none. */
export function chosenRate(study: Study, world: string, arm: string, outcomes: readonly RunOutcome[]): number | undefined {
  const curve = rateCurve(study, { world, arm }, outcomes).filter((result) => !result.fell);
  const best = Math.max(...curve.map(({ final }) => final));
  return curve.find(({ final }) => final === best)?.rate;
}

/** Returns the best other rate where tuning hardly distinguishes it from the chosen one; undefined if there is none. @param curve smallest rate first */
export function rivalRate(curve: readonly RateResult[]): { readonly rate: number; readonly behind: number } | undefined {
  const [best, second] = curve.toSorted((a, b) => b.final - a.final || a.rate - b.rate);
  if (best === undefined || second === undefined || second.final < best.final - goodWithin) return undefined;
  return { rate: second.rate, behind: best.final - second.final };
}

export interface Stability {
  /** Undefined if all seeds survive at no rate. */
  readonly largestSurviving?: number;
  /** The rates around the best one that are good, without a gap. */
  readonly goodFrom: number;
  readonly goodTo: number;
  /** True where the good range reaches the last rate that was tried, so that it may be wider. */
  readonly openBelow: boolean;
  readonly openAbove: boolean;
}

/** Reads a rate curve; undefined if it is empty. @param curve smallest rate first */
export function stabilityOf(curve: readonly RateResult[]): Stability | undefined {
  if (curve.length === 0) return undefined;
  const best = Math.max(...curve.map(({ final }) => final));
  const isGood = curve.map(({ final }) => final >= best - goodWithin);
  const top = curve.findIndex(({ final }) => final === best);
  const from = isGood.lastIndexOf(false, top) + 1;
  const behind = isGood.indexOf(false, top);
  const { start, end } = endsOf(curve.slice(from, behind < 0 ? undefined : behind));
  const largestSurviving = curve.findLast(({ runs, survived }) => survived === runs)?.rate;
  return {
    ...(largestSurviving === undefined ? {} : { largestSurviving }),
    ...{ goodFrom: start.rate, goodTo: end.rate },
    ...{ openBelow: from === 0, openAbove: behind < 0 },
  };
}
