import { factsOf } from "../../algorithms/algorithms.ts";
import { ConfigError } from "../../core/errors.ts";
import type { Group, Trajectory } from "../../core/trajectory.ts";
import type { Environment } from "../../environments/environment.ts";
import type { TrainingConfig } from "../config/settings.ts";

type Settings = Pick<TrainingConfig, "algorithm" | "rollout">;

/** @throws ConfigError where an environment announces rewards of turns that the algorithm would ignore; before anything is sampled */
export function requireTurnRewards(settings: Settings, { name, turnRewards }: Pick<Environment, "name" | "turnRewards">): void {
  if (turnRewards === true && ignored(settings)) throw ignoredRewards(settings, name);
}

/**
 * Gives the algorithm the rewards that the settings say: each at its turn, or their sum alone.
 * @throws ConfigError where rewards came turn by turn and the algorithm would ignore that
 */
export function settleTurnRewards(groups: readonly Group[], settings: Settings, environment: string): readonly Group[] {
  const { algorithm, rollout } = settings;
  if (ignored(settings) && groups.some(({ trajectories }) => trajectories.some(rewardedBeforeTheEnd)))
    throw ignoredRewards(settings, environment);
  if (rollout.turnRewards !== "sum" || !factsOf(algorithm).readsTurnRewards) return groups;
  return groups.map((group) => ({ ...group, trajectories: group.trajectories.map(summed) }));
}

function ignored({ algorithm, rollout }: Settings): boolean {
  return !factsOf(algorithm).readsTurnRewards && rollout.turnRewards !== "sum";
}

/** A reward with the last turn is the same as one at the end. */
function rewardedBeforeTheEnd({ turns }: Trajectory): boolean {
  return turns.slice(0, -1).some(({ reward = 0 }) => reward !== 0);
}

function summed(trajectory: Trajectory): Trajectory {
  return { ...trajectory, turns: trajectory.turns.map(({ reward: _, ...turn }) => turn) };
}

function ignoredRewards({ algorithm, rollout }: Settings, environment: string): ConfigError {
  return new ConfigError("rollout.turnRewards", rollout.turnRewards, {
    expected: `"sum", or an algorithm that uses rewards of turns: "${algorithm.kind}" sees their sum alone`,
    hint:
      `"${environment}" gives rewards turn by turn. "ppo", "gigpo", "reinforce++" and a "custom" advantage of kind gae use them where they ` +
      'are given; rollout.turnRewards "sum" trains on the return.',
  });
}
