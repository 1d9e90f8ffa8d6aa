import { ownTurns } from "../../algorithms/advantages/tree.ts";
import { mean } from "../../core/mean.ts";
import { isScored, succeeded } from "../../core/outcome.ts";
import { type Group, type StopReason, stopReasons, type Trajectory, type Turn } from "../../core/trajectory.ts";
import type { Metrics } from "../../runs/records.ts";
import { toolCallsSpent } from "./branching.ts";

/**
 * Computes what a step's rollouts show. Means are over episodes, those of rewards and scores over episodes that have one, `entropy` (nats) over
 * action tokens; the rest are counts, to which turns that the branches of a tree share contribute once.
 * @param weightVersion that of the engine: turns of another are stale
 */
export function rolloutMetrics(groups: readonly Group[], weightVersion: number): Metrics {
  const trajectories = groups.flatMap((group) => group.trajectories);
  const scored = trajectories.filter(isScored);
  const turns = trajectories.flatMap(ownTurns);
  const count = <T>(items: readonly T[], is: (item: T) => boolean) => items.filter(is).length;
  const total = <T>(items: readonly T[], of: (item: T) => number) => items.reduce((sum, item) => sum + of(item), 0);
  const average = (values: readonly number[]) => (values.length === 0 ? null : mean(values));
  return {
    reward: average(scored.map(({ reward }) => reward)),
    rewardMin: extreme(scored, Math.min),
    rewardMax: extreme(scored, Math.max),
    success: average(scored.map((trajectory) => Number(succeeded(trajectory)))),
    episodes: trajectories.length,
    turns: average(trajectories.map((trajectory) => trajectory.turns.length)),
    actionTokens: average(trajectories.map((trajectory) => total(trajectory.turns, ({ action }) => action.length))),
    entropy: average(trajectories.flatMap(ownEntropies)),
    toolCalls: toolCallsSpent(trajectories),
    invalidToolCalls: total(turns, ({ invalidToolCalls }) => invalidToolCalls),
    ...failureCounts(turns),
    truncatedActions: count(turns, ({ truncated }) => truncated),
    historyRewrites: count(turns, ({ rewritten }) => rewritten),
    weightVersion,
    staleTurns: count(turns, (turn) => turn.weightVersion !== weightVersion),
    ...endCounts(trajectories),
    ...scoreMeans(scored),
  };
}

/** Those of tokens that it does not share with the trajectory that it was forked from. */
function ownEntropies(trajectory: Trajectory): number[] {
  return ownTurns(trajectory).flatMap(({ entropies, turn }) =>
    turn === trajectory.branch?.turn ? entropies.slice(trajectory.branch.kept) : entropies,
  );
}

function extreme(trajectories: readonly Trajectory[], of: (...values: number[]) => number): number | null {
  return trajectories.length === 0 ? null : of(...trajectories.map(({ reward }) => reward));
}

/** Episodes by their ends. Only other people's agents have errors of their own: the count is there where it is not 0. */
function endCounts(trajectories: readonly Trajectory[]): Metrics {
  const count = (reason: StopReason) => trajectories.filter(({ stopReason }) => stopReason === reason).length;
  const shown = stopReasons.filter((reason) => reason !== "agent-error" || count(reason) > 0);
  return Object.fromEntries(shown.map((reason) => [`stop/${reason}`, count(reason)]));
}

/** Calls that raised an error, and calls without an answer in time: all of them, and those of each tool that has any. */
function failureCounts(turns: readonly Turn[]): Metrics {
  const counts: Record<string, number> & Record<"toolErrors" | "toolTimeouts", number> = { toolErrors: 0, toolTimeouts: 0 };
  for (const { tool, kind } of turns.flatMap(({ toolFailures = [] }) => toolFailures)) {
    if (kind === "invalid" || kind === "lost") continue; // `invalidToolCalls` counts the first; the second is a warning
    const name = kind === "error" ? "toolErrors" : "toolTimeouts";
    counts[name]++;
    counts[`${name}/${tool}`] = (counts[`${name}/${tool}`] ?? 0) + 1;
  }
  return counts;
}

function scoreMeans(trajectories: readonly Trajectory[]): Metrics {
  const names = [...new Set(trajectories.flatMap(({ scores }) => Object.keys(scores)))].sort();
  return Object.fromEntries(
    names.map((name) => [`score/${name}`, mean(trajectories.flatMap(({ scores }) => scores[name] ?? []))]),
  );
}
