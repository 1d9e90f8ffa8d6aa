import type { TrainingConfig } from "../../src/training/config.ts";
import { baselines } from "./arms.ts";
import { type CallRatio, type Curve, callRatios, callsSpent, callsToReach, rewardAt, rewardGaps, smoothed } from "./curves.ts";
import { type Estimate, estimates, geometricMean, mean, type Statistic, tInterval } from "./intervals.ts";
import type { FinishedRun } from "./runs.ts";

/** Rewards that are asked for, chosen before anything was trained. */
export const targets = [0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9];
const bandPoints = 40;

/** Calls that a run had spent when it first reached a reward; null where it never did. */
export interface Reached {
  readonly target: number;
  readonly arm: string;
  readonly calls: readonly (number | null)[];
  /** The same with every evaluation averaged with the two beside it. */
  readonly smoothed: readonly (number | null)[];
}

export interface RatioRow {
  readonly target: number;
  readonly arm: string;
  readonly base: string;
  /** One for each seed; null where neither reaches the target, or one starts there. */
  readonly ratios: readonly (CallRatio | null)[];
  /** The geometric mean of those that are no bounds, with the bootstrap interval over seeds and tasks. */
  readonly ratio: Estimate | null;
  /** Student's interval of the mean of their logarithms: seeds alone. */
  readonly t: { readonly low: number; readonly high: number } | null;
  readonly smoothed: number | null;
}

export interface RewardGap {
  readonly arm: string;
  readonly base: string;
  /** Of the calls of the base: at 0.5 the claim is that the gap is not below 0. */
  readonly share: number;
  /** One for each seed. */
  readonly gaps: readonly number[];
  readonly gap: Estimate | null;
  readonly t: { readonly low: number; readonly high: number } | null;
}

export interface Band {
  readonly arm: string;
  /** Means over seeds, up to the calls that all of them have spent. */
  readonly points: readonly { readonly calls: number; readonly reward: Estimate }[];
}

export interface Results {
  readonly format: "retrograde-arpo-tool-calls/1";
  readonly config: TrainingConfig;
  readonly seeds: readonly number[];
  readonly arms: readonly string[];
  readonly targets: readonly number[];
  readonly runs: readonly FinishedRun[];
  readonly reached: readonly Reached[];
  readonly ratios: readonly RatioRow[];
  readonly gaps: readonly RewardGap[];
  readonly bands: readonly Band[];
}

/** @param runs every arm with every seed */
export function resultsOf(runs: readonly FinishedRun[], config: TrainingConfig): Results {
  const arms = [...new Set(runs.map(({ arm }) => arm))];
  const seeds = [...new Set(runs.map(({ seed }) => seed))];
  const curves = new Map(arms.map((arm) => [arm, seeds.map((seed) => curveOf(runs, arm, seed))]));
  const of = (arm: string) => curves.get(arm) ?? [];
  const pairs = baselines.flatMap((base) =>
    arms.includes(base) ? arms.filter((arm) => !baselines.includes(arm)).map((arm) => ({ arm, base })) : [],
  );

  const asked: Statistic[] = [];
  /** Every statistic shares the draws; its estimate is read when all of them are made. */
  const ask = (statistic: Statistic) => {
    const at = asked.push(statistic) - 1;
    return () => estimated[at] ?? null;
  };
  const ratios = pairs.flatMap(({ arm, base }) =>
    targets.map((target) => ({
      ...{ target, arm, base },
      read: ask((drawn) => geometricMean(exact(callRatios(drawn(arm), drawn(base), target)))),
    })),
  );
  const gaps = pairs.flatMap(({ arm, base }) =>
    [1, 0.5].map((share) => ({
      ...{ arm, base, share },
      read: ask((drawn) => mean(rewardGaps(drawn(arm), drawn(base), share))),
    })),
  );
  const bands = arms.map((arm) => {
    const most = Math.min(...of(arm).map(callsSpent));
    const grid = Array.from({ length: bandPoints + 1 }, (_, i) => (most * i) / bandPoints);
    const points = grid.map((calls) => ({
      calls,
      read: ask((drawn) => mean(drawn(arm).map((curve) => rewardAt(curve, calls) ?? Number.NaN))),
    }));
    return { arm, points };
  });
  const estimated = estimates(runs, asked);

  return {
    format: "retrograde-arpo-tool-calls/1",
    ...{ config, seeds, arms, targets, runs },
    reached: targets.flatMap((target) =>
      arms.map((arm) => ({
        ...{ target, arm },
        calls: of(arm).map((curve) => callsToReach(curve, target) ?? null),
        smoothed: of(arm).map((curve) => callsToReach(smoothed(curve), target) ?? null),
      })),
    ),
    ratios: ratios.map(({ read, ...which }) => {
      const each = callRatios(of(which.arm), of(which.base), which.target);
      const inLogs = tInterval(exact(each).map(Math.log));
      const smooth = callRatios(of(which.arm).map(smoothed), of(which.base).map(smoothed), which.target);
      return {
        ...which,
        ratios: each.map((ratio) => ratio ?? null),
        ratio: read(),
        t: inLogs === undefined ? null : { low: Math.exp(inLogs.low), high: Math.exp(inLogs.high) },
        smoothed: geometricMean(exact(smooth)) ?? null,
      };
    }),
    gaps: gaps.map(({ read, ...which }) => {
      const each = rewardGaps(of(which.arm), of(which.base), which.share);
      return { ...which, gaps: each, gap: read(), t: tInterval(each) ?? null };
    }),
    bands: bands.map(({ arm, points }) => ({
      arm,
      points: points.flatMap(({ calls, read }) => {
        const reward = read();
        return reward === null ? [] : [{ calls, reward }];
      }),
    })),
  };
}

function curveOf(runs: readonly FinishedRun[], arm: string, seed: number): Curve {
  const points = runs.find((run) => run.arm === arm && run.seed === seed)?.points ?? [];
  return points.map(({ calls, rewards }) => ({ calls, reward: mean(rewards) }));
}

function exact(ratios: readonly (CallRatio | undefined)[]): number[] {
  return ratios.flatMap((each) => (each?.is === "=" ? [each.ratio] : []));
}
