import { EngineError } from "../../core/errors.ts";
import type { ActionInContext, Group, Trajectory, Turn } from "../../core/trajectory.ts";
import { sharedMeanAdvantages } from "../advantages/attribution.ts";
import { gae } from "../advantages/gae.ts";
import { gigpoAdvantages } from "../advantages/gigpo.ts";
import { type Advantages, groupRelativeAdvantages, leaveOneOutAdvantages, returnsOf } from "../advantages/group-relative.ts";
import { discountedReturns } from "../advantages/returns.ts";
import { whitened } from "../advantages/statistics.ts";
import { ownTurns, treeAdvantages } from "../advantages/tree.ts";
import { bestOfGroupAdvantages, gpgAdvantages, lengthWeightedAdvantages } from "../advantages/within-groups.ts";
import type { UpdateMetrics } from "../metrics.ts";
import { type TokenRows, total } from "../objectives/objective.ts";
import type { AdvantageConfig } from "../settings/parts.ts";
import { type Episode, spread, trajectoryEnds, turnsOf, withReturns } from "../step/episodes.ts";
import type { FixedRows } from "../step/minimise.ts";

/** The data that advantages are estimated from. */
export interface Evidence {
  readonly groups: readonly Group[];
  /** β·κ per token, taken from the reward. */
  readonly klPenalties?: FixedRows;
  /** V before each token, of the critic at the start of the update. */
  readonly values?: FixedRows;
}

/** One row per trained turn, one number per token. */
export interface Estimate {
  readonly episodes: readonly Episode[];
  readonly advantages: TokenRows;
  /** The targets that a critic is fitted to. NaN at tokens that are no step of their own: it is not fitted there. */
  readonly returns?: TokenRows;
  readonly metrics: UpdateMetrics;
}

/**
 * Advantages of every kind, per token. Those that are one number per trajectory or turn are repeated at each of its tokens.
 * @throws EnvError for a return that is not finite, ShapeError if two trajectories share an id
 */
export function estimate(config: AdvantageConfig, evidence: Evidence): Estimate {
  const { groups, klPenalties } = evidence;
  for (const group of groups) returnsOf(group);
  const episodes = episodesOf(groups, ({ turns }) => turns);
  const penalised = () =>
    klPenalties === undefined
      ? groups
      : withReturns(groups, (trajectory) => trajectory.reward - total(klPenalties(trajectory.turns)));
  const perTrajectory = (advantages: Advantages): Estimate => ({
    episodes,
    advantages: episodes.flatMap(({ trajectory, turns }) =>
      spread(
        turns,
        turns.map(() => advantages.get(trajectory.id) ?? 0),
      ),
    ),
    metrics: {},
  });
  switch (config.kind) {
    case "group-relative":
      return perTrajectory(groupRelativeAdvantages(penalised(), config));
    case "leave-one-out":
      return perTrajectory(leaveOneOutAdvantages(penalised(), config));
    case "length-weighted":
      return perTrajectory(lengthWeightedAdvantages(penalised(), config));
    case "best-of-group":
      return perTrajectory(bestOfGroupAdvantages(penalised(), config));
    case "gpg":
      return perTrajectory(gpgAdvantages(penalised(), config));
    case "normalised-group-relative": {
      const { advantages } = perTrajectory(groupRelativeAdvantages(penalised(), { std: "none", ...config }));
      return { episodes, advantages: whitened(advantages), metrics: {} };
    }
    case "normalised-returns": {
      const returns = discountedReturns(tokenRewards(episodes, klPenalties), config.gamma, trajectoryEnds(episodes));
      return { episodes, advantages: whitened(returns), metrics: {} };
    }
    case "gae":
      return config.over === "token" ? gaeOverTokens(episodes, evidence, config) : gaeOverTurns(episodes, evidence, config);
    case "gigpo":
      return gigpo(episodes, evidence, config);
    case "tree":
    case "shared-mean": {
      const own = episodesOf(groups, ownTurns);
      const perTurn = config.kind === "tree" ? treeAdvantages(penalised(), config) : sharedMeanAdvantages(penalised(), config);
      const advantages = own.flatMap(({ trajectory, turns }) => spread(turns, perTurn.get(trajectory.id) ?? []));
      return { episodes: own, advantages, metrics: {} };
    }
    default:
      return config satisfies never;
  }
}

function episodesOf(groups: readonly Group[], turnsOfOne: (trajectory: Trajectory) => readonly Turn[]): Episode[] {
  return groups.flatMap(({ trajectories }) => trajectories.map((trajectory) => ({ trajectory, turns: turnsOfOne(trajectory) })));
}

/**
 * r: the reward of each turn at its last token and the rest of R at the last one of all, less the KL penalty of each token.
 * One row per turn.
 */
function tokenRewards(episodes: readonly Episode[], klPenalties: FixedRows | undefined): number[][] {
  return episodes.flatMap(({ trajectory, turns }) => {
    const rows =
      klPenalties === undefined
        ? spread(
            turns,
            turns.map(() => 0),
          )
        : klPenalties(turns).map((row) => row.map((k) => -k));
    let rest = trajectory.reward;
    for (const [i, { reward }] of turns.entries()) {
      if (reward === undefined) continue;
      rest -= reward;
      addAtEnd(rows[i], reward);
    }
    const last = rows.at(-1);
    if (last !== undefined) addAtEnd(last, rest);
    return rows;
  });
}

function addAtEnd(row: number[], reward: number): void {
  if (row.length > 0) row[row.length - 1] += reward;
}

type Gae = Extract<AdvantageConfig, { kind: "gae" }>;

function gaeOverTokens(episodes: readonly Episode[], { klPenalties, values }: Evidence, config: Gae): Estimate {
  const rewards = tokenRewards(episodes, klPenalties);
  const valueRows = valuesOf(values)(turnsOf(episodes));
  const { advantages, returns } = gae(rewards, valueRows, config, trajectoryEnds(episodes));
  return { episodes, advantages: whitened(advantages), returns, metrics: explained(returns, valueRows) };
}

/** A turn is one action: its value is that of its context, its reward the sum of its tokens'. */
function gaeOverTurns(episodes: readonly Episode[], { klPenalties, values }: Evidence, config: Gae): Estimate {
  const turns = turnsOf(episodes);
  const perEpisode = (numbers: readonly number[]) => {
    let next = 0;
    return episodes.map((episode) => episode.turns.map(() => numbers[next++]));
  };
  const rewards = perEpisode(tokenRewards(episodes, klPenalties).map((row) => total([row])));
  const valueRows = perEpisode(valuesOf(values)(turns).map(([first = 0]) => first));
  const { advantages, returns } = gae(rewards, valueRows, config);
  const targets = returns.flat();
  return {
    episodes,
    advantages: spread(turns, whitened(advantages).flat()),
    returns: turns.map(({ action }, i) => action.map((_, t) => (t === 0 ? targets[i] : Number.NaN))),
    metrics: explained(returns, valueRows),
  };
}

function valuesOf(values: FixedRows | undefined): FixedRows {
  if (values !== undefined) return values;
  throw new EngineError("critic", undefined, {
    expected: "the values of a critic, which advantages of kind gae are estimated from",
  });
}

/** 1 − var(G − V)/var(G). Absent where all returns are equal. Sums are of distances to the first number, which keeps them exact enough. */
function explained(returns: TokenRows, values: TokenRows): UpdateMetrics {
  const start = returns.findIndex((row) => row.length > 0);
  if (start < 0) return {};
  const [g0, e0] = [returns[start][0], returns[start][0] - values[start][0]];
  let [count, g, gg, e, ee] = [0, 0, 0, 0, 0];
  for (let b = 0; b < returns.length; b++) {
    const [row, value] = [returns[b], values[b]];
    for (let t = 0; t < row.length; t++) {
      const [fromReturn, fromError] = [row[t] - g0, row[t] - value[t] - e0];
      g += fromReturn;
      gg += fromReturn * fromReturn;
      e += fromError;
      ee += fromError * fromError;
    }
    count += row.length;
  }
  const [ofReturns, ofErrors] = [gg - (g * g) / count, ee - (e * e) / count];
  return ofReturns > 0 ? { explainedVariance: 1 - ofErrors / ofReturns } : {};
}

function gigpo(
  episodes: readonly Episode[],
  { klPenalties }: Evidence,
  config: Extract<AdvantageConfig, { kind: "gigpo" }>,
): Estimate {
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
    metrics: turns.length === 0 ? {} : { anchorsShared: shared / turns.length },
  };
}

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
