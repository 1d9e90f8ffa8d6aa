import { factsOf, miniBatchesOf } from "../algorithms/algorithms.ts";
import { ConfigError } from "../core/errors.ts";
import type { Check } from "../core/settings.ts";
import type { Environment } from "../environments/environment.ts";
import { environmentName, rewardName } from "../rewards/config.ts";
import { choosingRuleOf } from "../rollouts/branching/rules.ts";
import { firstRolloutsOf } from "../rollouts/branching/settings.ts";
import { requireCapabilities } from "./config/capabilities.ts";
import { requireFirstPrompt } from "./config/first-prompt.ts";
import { checkRoles } from "./config/roles.ts";
import { maxEpisodesOfStep, type TrainingConfig } from "./config/settings.ts";
import { checkShownTools } from "./config/shown-tools.ts";
import { taskSamplerOf } from "./config/task-samplers/kinds.ts";
import { checkSplits, trainingTasks } from "./config/tasks.ts";
import { checkBranching } from "./sampling/branching.ts";
import type { StepArguments } from "./sampling/step-arguments.ts";
import { requireTurnRewards } from "./sampling/turn-rewards.ts";
import { checkDemonstrations } from "./supervised/lessons.ts";

/**
 * This file lists what refuses a run before it begins: what the configuration says by itself, what it says of its environment, and what it says of
 * all that a run opens. Each list is checked once, at the first place where its facts are known.
 */

const maxEvaluatedEpisodes = 1_000_000;

/** Conditions between settings of different parts. `resolveConfig` requires them. */
export const configurationChecks: readonly Check<TrainingConfig>[] = [
  {
    holds: ({ rollout: { branching, groupSize } }) => branching === "off" || firstRolloutsOf(branching, groupSize) <= groupSize,
    setting: "rollout.branching.firstRollouts",
    expected: "at most rollout.groupSize, the leaves of a tree",
  },
  {
    holds: ({ rollout: { branching } }) =>
      branching === "off" || typeof branching.firstRollouts !== "object" || choosingRuleOf(branching.rule) === undefined,
    setting: "rollout.branching.firstRollouts",
    expected: "a number under a rule that chooses among rollouts that have ended",
  },
  {
    holds: ({ algorithm, rollout: { branching } }) =>
      branching === "off" || choosingRuleOf(branching.rule) === undefined || !factsOf(algorithm).trainsSharedTurnsOnce,
    setting: "rollout.branching.rule",
    expected:
      "one that forks before actions under an algorithm that trains turns which branches share once: it divides no action",
  },
  {
    holds: ({ rollout }) => rollout.ahead === 0 || !taskSamplerOf(rollout.tasks).needsOutcomes,
    setting: "rollout.tasks",
    expected: '"epochs" where rollout.ahead is above 0: steps that are sampled ahead have no outcomes yet',
  },
  {
    holds: ({ rollout }) => rollout.tasksPerStep * rollout.groupSize <= maxEpisodesOfStep,
    setting: "rollout.tasksPerStep",
    expected: `at most ${maxEpisodesOfStep} episodes in a step (rollout.tasksPerStep × rollout.groupSize): all of them are in memory at once`,
  },
  {
    holds: ({ evaluation }) => evaluation.tasks * evaluation.k <= maxEvaluatedEpisodes,
    setting: "evaluation.tasks",
    expected: `at most ${maxEvaluatedEpisodes} episodes in an evaluation (evaluation.tasks × evaluation.k): all of them are in memory at once`,
  },
  {
    holds: ({ algorithm, rollout }) => miniBatchesOf(algorithm) <= rollout.tasksPerStep,
    setting: "algorithm.miniBatches",
    expected: "at most rollout.tasksPerStep: groups are dealt out whole",
  },
  {
    holds: ({ algorithm, rollout }) => rollout.groupSize > 1 || !factsOf(algorithm).ignoresGroupsOfOne,
    setting: "rollout.groupSize",
    expected:
      "at least 2 under an algorithm that compares the rollouts of a task: the advantage of a group of one is 0, so nothing is learned " +
      '(ppo and reinforce++ train groups of one, and so does singletonGroups "raw")',
  },
  {
    holds: ({ correction, rollout, algorithm }) =>
      correction === "off" ||
      correction.level !== "sequence" ||
      rollout.branching === "off" ||
      !factsOf(algorithm).trainsSharedTurnsOnce,
    setting: "correction.level",
    expected: '"token" or "turn" here: turns that branches share are trained once, so they have no one trajectory',
  },
];

/** @throws ConfigError for the first requirement of the algorithm that the run lacks */
export function requireParts({ algorithm, rewards, rollout }: TrainingConfig): void {
  const unmet = factsOf(algorithm).unmet({
    rewards: rewards === undefined ? [] : [...new Set([environmentName, ...rewards.map(rewardName)])],
    branching: rollout.branching !== "off",
    klInReward: "klIn" in algorithm && algorithm.klCoef > 0 && algorithm.klIn === "reward",
  });
  if (unmet !== undefined) throw new ConfigError(`algorithm.${unmet.setting}`, unmet.value, { expected: unmet.expected });
}

/** Conditions between a configuration and its environment, which is not open yet. */
const environmentChecks: readonly ((config: TrainingConfig, environment: Environment) => void | Promise<void>)[] = [
  checkSplits,
  requireTurnRewards,
  checkRoles,
  checkDemonstrations,
];

/** @throws ConfigError for the first condition that does not hold */
export async function checkEnvironment(config: TrainingConfig, environment: Environment): Promise<void> {
  for (const check of environmentChecks) await check(config, environment);
}

/**
 * Checks a configuration against all that its run has opened, before anything is written.
 * @returns the notices that a user should read
 * @throws ConfigError for the first condition that does not hold
 */
export async function checkOpened(
  config: TrainingConfig,
  { engine, chat, environment, rewards = [] }: Pick<StepArguments, "engine" | "chat" | "environment" | "rewards">,
): Promise<string[]> {
  requireCapabilities(config, engine.info);
  if (rewards.some(({ check }) => check !== undefined)) {
    const { split, episodeTimeoutMs } = config.rollout;
    for (const task of await trainingTasks(environment, 0, 1, config.seed, { split, timeoutMs: episodeTimeoutMs }))
      for (const part of rewards) part.check?.(task);
  }
  if (environment.roles !== undefined) await requireFirstPrompt(environment, config.rollout.episodeTimeoutMs); // its `start` names roles and rewards
  const notices = [await checkBranching(config, environment), await checkShownTools(chat, environment, config)];
  return notices.filter((notice) => notice !== undefined);
}
