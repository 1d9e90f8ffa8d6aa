import { z } from "zod";
import { mean, standardDeviation } from "../../core/mean.ts";
import type { ActionInContext, Turn } from "../../core/trajectory.ts";
import { total } from "../objectives/objective.ts";
import { spread, turnsOf } from "../step/episodes.ts";
import { defineAdvantage, discount, episodesOf, singletonGroups, tokenRewards } from "./advantage.ts";
import { discountedReturns } from "./returns.ts";
import { differ } from "./statistics.ts";

/** One turn of one trajectory. */
export interface GigpoStep {
  readonly group: string;
  readonly trajectory: string;
  /** The anchor state: what the turn answers to. Turns of a group with the same one are compared with each other. */
  readonly anchor: string;
  /** R of the whole trajectory. */
  readonly episodeReturn: number;
  /** Discounted return from this turn on. */
  readonly stepReturn: number;
}

export interface GigpoOptions {
  /** ω, the weight of the step advantage. */
  readonly omega: number;
  /** "mean_norm" subtracts the mean; "mean_std_norm" also divides by the deviation plus 1e-6. */
  readonly mode: "mean_norm" | "mean_std_norm";
  /** Whether the group's mean and deviation count a trajectory once, or once per turn. */
  readonly episodeBaseline: "trajectories" | "turns";
  readonly singletonGroups: "zero" | "raw";
}

/**
 * GiGPO (arXiv:2505.10978, §4): one advantage per turn, of its episode among its group and of its step among the turns of the
 * group that stood in the same state.
 *
 *   A = A^E + ω A^S        A^E = R − mean_g R,  A^S = G − mean_anchor G        mode "mean_std_norm": each / (std + 1e-6)
 *
 * An anchor state that occurs once has A^S = 0. Equal returns give exact zeros.
 * @returns one advantage per step, and how many of the steps share their anchor with another
 */
export function gigpoAdvantages(
  steps: readonly GigpoStep[],
  { omega, mode, episodeBaseline, singletonGroups: singletons }: GigpoOptions,
): { advantages: number[]; episodeAdvantages: number[]; shared: number } {
  const episodes = new Map<string, Map<string, number>>();
  const rows = new Map<string, number[]>();
  const anchors = new Map<string, number[]>();
  const anchorOf = ({ group, anchor }: GigpoStep) => `${group}\n${anchor}`;
  for (const step of steps) {
    const { group, trajectory, episodeReturn, stepReturn } = step;
    episodes.set(group, (episodes.get(group) ?? new Map()).set(trajectory, episodeReturn));
    append(rows, group, episodeReturn);
    append(anchors, anchorOf(step), stepReturn);
  }
  const pools = new Map(
    [...episodes].map(([group, returns]) => [
      group,
      episodeBaseline === "turns" ? (rows.get(group) ?? []) : [...returns.values()],
    ]),
  );
  const episodeNorms = normsOf(pools, mode, singletons);
  const anchorNorms = normsOf(anchors, mode, "zero");
  const episodeAdvantages = steps.map(({ group, episodeReturn }) => normalised(episodeReturn, episodeNorms.get(group)));
  const advantages = steps.map(
    (step, i) => episodeAdvantages[i] + omega * normalised(step.stepReturn, anchorNorms.get(anchorOf(step))),
  );
  const shared = [...anchors.values()].reduce((sum, pool) => sum + (pool.length > 1 ? pool.length : 0), 0);
  return { advantages, episodeAdvantages, shared };
}

interface Norm {
  readonly centre: number;
  readonly divisor: number;
}

function normsOf(
  pools: ReadonlyMap<string, readonly number[]>,
  mode: GigpoOptions["mode"],
  singletons: GigpoOptions["singletonGroups"],
): Map<string, Norm | undefined> {
  const divisor = (deviation: number) => (mode === "mean_std_norm" ? deviation + 1e-6 : 1);
  return new Map(
    [...pools].map(([key, pool]) => {
      if (pool.length === 1 && singletons === "raw") return [key, { centre: 0, divisor: divisor(1) }];
      return [key, differ(pool) ? { centre: mean(pool), divisor: divisor(standardDeviation(pool)) } : undefined];
    }),
  );
}

/** 0 where there is nothing to compare with. */
function normalised(value: number, norm: Norm | undefined): number {
  return norm === undefined ? 0 : (value - norm.centre) / norm.divisor;
}

function append(lists: Map<string, number[]>, key: string, value: number): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [value]);
  else list.push(value);
}

export const gigpoKind = defineAdvantage({
  kind: "gigpo",
  formula: "of the episode among its group + ω · of the step among the turns that start from the same state",
  source: "arXiv:2505.10978",
  comparedWithin: "group",
  readsTurnRewards: true,
  metrics: {
    anchorsShared: {
      fold: "mean",
      meaning: "GiGPO: share of turns whose anchor state occurs in another turn of the group; the others have no step advantage.",
    },
  },
  settings: {
    /** ω = 1 and γ = 0.95: arXiv:2505.10978, §5.1. */
    omega: z.number().min(0).default(1),
    gamma: discount(0.95),
    /** The authors' code (langfengQ/verl-agent) runs both; "mean_norm" is the paper's F_norm = 1. */
    mode: z.enum(["mean_norm", "mean_std_norm"]).default("mean_norm"),
    /** "trajectories": the paper's, each counts once; "turns": long trajectories weigh more. */
    episodeBaseline: z.enum(["trajectories", "turns"]).default("trajectories"),
    singletonGroups,
  },
  estimate: ({ groups, klPenalties }, config) => {
    const episodes = episodesOf(groups);
    const turns = turnsOf(episodes);
    const rewards = tokenRewards(episodes, klPenalties).map((row) => total([row]));
    let next = 0;
    const steps = episodes.flatMap(({ trajectory, turns: own }) => {
      const ofTurns = own.map(() => rewards[next++]);
      const [stepReturns] = discountedReturns([ofTurns], config.gamma);
      const episodeReturn = total([ofTurns]);
      return own.map((_, i) => ({
        group: trajectory.group,
        trajectory: trajectory.id,
        anchor: anchorState(own, i),
        episodeReturn,
        stepReturn: stepReturns[i],
      }));
    });
    const { advantages, shared } = gigpoAdvantages(steps, config);
    return {
      episodes,
      advantages: spread(turns, advantages),
      metrics: { ...(turns.length > 0 && { anchorsShared: shared / turns.length }) },
    };
  },
});

/**
 * Returns what a turn answers to: the ids of its context that follow the previous turn's context and action; its whole context
 * where there is no previous turn or where the template rewrote history.
 */
export function anchorState(turns: readonly (ActionInContext & Pick<Turn, "rewritten">)[], index: number): string {
  const { context, rewritten } = turns[index];
  if (index === 0 || rewritten) return context.slice().join();
  const { context: before, action } = turns[index - 1];
  return `…${context.slice(before.length + action.length).join()}`;
}
