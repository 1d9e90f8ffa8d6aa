import { ownTurns } from "../algorithms/advantages/tree.ts";
import { mean } from "../core/mean.ts";
import { type Group, stopReasons, succeeded, type Trajectory, type Turn } from "../core/trajectory.ts";
import type { Metrics } from "../runs/records.ts";
import { toolCallsSpent } from "./branching.ts";

export { succeeded };

/**
 * Computes what a step's rollouts show. Means are over episodes, `entropy` (nats) over action tokens; the rest are counts, to which
 * turns that the branches of a tree share contribute once.
 * @param weightVersion that of the engine: turns of another are stale
 */
export function rolloutMetrics(groups: readonly Group[], weightVersion: number): Metrics {
  const trajectories = groups.flatMap((group) => group.trajectories);
  const turns = trajectories.flatMap(ownTurns);
  const count = <T>(items: readonly T[], is: (item: T) => boolean) => items.filter(is).length;
  const total = <T>(items: readonly T[], of: (item: T) => number) => items.reduce((sum, item) => sum + of(item), 0);
  const average = (values: readonly number[]) => (values.length === 0 ? null : mean(values));
  return {
    reward: average(trajectories.map(({ reward }) => reward)),
    rewardMin: extreme(trajectories, Math.min),
    rewardMax: extreme(trajectories, Math.max),
    success: average(trajectories.map((trajectory) => Number(succeeded(trajectory)))),
    episodes: trajectories.length,
    turns: average(trajectories.map((trajectory) => trajectory.turns.length)),
    actionTokens: average(trajectories.map((trajectory) => total(trajectory.turns, ({ action }) => action.length))),
    entropy: average(turns.flatMap(({ entropies }) => entropies)),
    toolCalls: toolCallsSpent(trajectories),
    invalidToolCalls: total(turns, ({ invalidToolCalls }) => invalidToolCalls),
    ...failureCounts(turns),
    truncatedActions: count(turns, ({ truncated }) => truncated),
    historyRewrites: count(turns, ({ rewritten }) => rewritten),
    weightVersion,
    staleTurns: count(turns, (turn) => turn.weightVersion !== weightVersion),
    ...Object.fromEntries(stopReasons.map((reason) => [`stop/${reason}`, count(trajectories, (t) => t.stopReason === reason)])),
    ...scoreMeans(trajectories),
  };
}

function extreme(trajectories: readonly Trajectory[], of: (...values: number[]) => number): number | null {
  return trajectories.length === 0 ? null : of(...trajectories.map(({ reward }) => reward));
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
