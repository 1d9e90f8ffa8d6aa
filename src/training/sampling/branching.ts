import { ownTurns } from "../../algorithms/advantages/tree.ts";
import { ConfigError, EnvError } from "../../core/errors.ts";
import { mean } from "../../core/mean.ts";
import { present } from "../../core/present.ts";
import type { Group, Trajectory, Turn } from "../../core/trajectory.ts";
import type { Environment } from "../../environments/environment.ts";
import { whileEpisode } from "../../environments/lifetime.ts";
import { opened } from "../../rollouts/answers.ts";
import { type Forking, forkingOf } from "../../rollouts/branching/fork.ts";
import { firstRolloutsOf } from "../../rollouts/branching/settings.ts";
import type { Metrics } from "../../runs/records.ts";
import type { TrainingConfig } from "../config/settings.ts";
import { trainingTasks } from "../config/tasks.ts";

/**
 * Says how the environment's state gets to a fork, which an episode of the first training task shows; undefined where rollouts do
 * not branch.
 * @throws ConfigError where rollouts are to branch and cannot
 */
export async function checkBranching(
  { rollout: { branching, split }, seed }: TrainingConfig,
  environment: Environment,
): Promise<string | undefined> {
  if (branching === "off") return undefined;
  const task = present((await trainingTasks(environment, 0, 1, seed, { split }))[0], "a training task");
  const forking = await firstForking(environment, task);
  if ("by" in forking)
    return `Rollouts branch: episodes are ${forking.by === "clone" ? "copied" : "played again, call by call"}.`;
  throw new ConfigError("rollout.branching", branching, { expected: '"off" in this environment', hint: forking.refused });
}

async function firstForking(environment: Environment, task: Awaited<ReturnType<Environment["task"]>>): Promise<Forking> {
  try {
    return await whileEpisode(environment, task, 0, (episode) => forkingOf(environment, opened(episode)));
  } catch (cause) {
    throw new EnvError(`an episode of "${environment.name}"`, cause, { expected: "one that can be started and closed", cause });
  }
}

/** Calls that were made: shared turns' once, and again where a fork repeated them. */
export function toolCallsSpent(trajectories: readonly Trajectory[]): number {
  return trajectories.reduce((sum, trajectory) => {
    const turns = trajectory.branch?.by === "replay" ? trajectory.turns : ownTurns(trajectory);
    return sum + turns.reduce((calls, { toolCalls }) => calls + toolCalls, 0);
  }, 0);
}

/** The shares of decisions to branch among those with ΔH in the upper and in the lower half: equal where entropy does not decide. */
export function branchShares(decisions: readonly NonNullable<Turn["branching"]>[]): { above: number; below: number } {
  const sorted = decisions.toSorted((a, b) => a.rise - b.rise);
  const half = Math.floor(sorted.length / 2);
  const share = (part: typeof sorted) => mean(part.map(({ branch }) => Number(branch)));
  return { above: share(sorted.slice(sorted.length - half)), below: share(sorted.slice(0, half)) };
}

/**
 * Computes what a step's trees show. `entropyRise` is the mean ΔH of all turns at which branching was a question, `branchedAbove` and
 * `branchedBelow` are the shares of them that branch in its upper and lower half; the rest are counts.
 */
export function branchingMetrics(groups: readonly Group[], { branching, groupSize }: TrainingConfig["rollout"]): Metrics {
  if (branching === "off") return {};
  const trajectories = groups.flatMap((group) => group.trajectories);
  const decisions = trajectories.flatMap(ownTurns).flatMap((turn) => turn.branching ?? []);
  const count = <T>(items: readonly T[], is: (item: T) => boolean) => items.filter(is).length;
  const shares = decisions.length < 2 ? { above: null, below: null } : branchShares(decisions);
  const roots = count(trajectories, ({ branch }) => branch === undefined);
  return {
    leavesPerTask: trajectories.length / groups.length,
    branches: count(decisions, ({ forks }) => forks > 0),
    refills: groups.reduce((sum, group) => sum - firstRolloutsOf(branching, groupSize, group.trajectories[0]?.turns), roots),
    forksCloned: count(trajectories, ({ branch }) => branch?.by === "clone"),
    forksReplayed: count(trajectories, ({ branch }) => branch?.by === "replay"),
    entropyRise: decisions.length === 0 ? null : mean(decisions.map(({ rise }) => rise)),
    branchedAbove: shares.above,
    branchedBelow: shares.below,
  };
}
