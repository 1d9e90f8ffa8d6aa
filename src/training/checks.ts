import { ignoresGroupsOfOne, miniBatchesOf, trainsSharedTurnsOnce } from "../algorithms/settings/questions.ts";
import type { Chat } from "../chat/chat.ts";
import type { Check } from "../core/settings.ts";
import type { Engine } from "../engines/engine.ts";
import { localChecks } from "../engines/settings.ts";
import type { Environment } from "../environments/environment.ts";
import { firstRolloutsOf } from "../rollouts/branching/settings.ts";
import { checkBranching } from "./branching.ts";
import { requireCapabilities } from "./capabilities.ts";
import { maxEpisodesOfStep, type TrainingConfig } from "./settings.ts";
import { checkShownTools } from "./shown-tools.ts";
import { checkDemonstrations } from "./supervised/lessons.ts";
import { checkSplits } from "./tasks.ts";
import { requireTurnRewards } from "./turn-rewards.ts";

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
    holds: ({ rollout }) => rollout.tasksPerStep * rollout.groupSize <= maxEpisodesOfStep,
    setting: "rollout.tasksPerStep",
    expected: `at most ${maxEpisodesOfStep} episodes in a step (rollout.tasksPerStep × rollout.groupSize): all of them are in memory at once`,
  },
  {
    holds: ({ evaluation }) => evaluation.tasks * evaluation.k <= maxEvaluatedEpisodes,
    setting: "evaluation.tasks",
    expected: `at most ${maxEvaluatedEpisodes} episodes in an evaluation (evaluation.tasks × evaluation.k): all of them are in memory at once`,
  },
  ...localChecks.map(({ holds, setting, ...check }) => ({
    ...check,
    holds: ({ engine }: TrainingConfig) => engine.kind !== "local" || holds(engine),
    setting: `engine.${setting}`,
  })),
  {
    holds: ({ algorithm, rollout }) => miniBatchesOf(algorithm) <= rollout.tasksPerStep,
    setting: "algorithm.miniBatches",
    expected: "at most rollout.tasksPerStep: groups are dealt out whole",
  },
  {
    holds: ({ algorithm, rollout }) => rollout.groupSize > 1 || !ignoresGroupsOfOne(algorithm),
    setting: "rollout.groupSize",
    expected:
      "at least 2 under an algorithm that compares the rollouts of a task: the advantage of a group of one is 0, so nothing is learned " +
      '(ppo and reinforce++ train groups of one, and so does singletonGroups "raw")',
  },
  {
    holds: ({ correction, rollout, algorithm }) =>
      correction === "off" || correction.level !== "sequence" || rollout.branching === "off" || !trainsSharedTurnsOnce(algorithm),
    setting: "correction.level",
    expected: '"token" or "turn" here: turns that branches share are trained once, so they have no one trajectory',
  },
];

/** Conditions between the configuration and its environment, which is not open yet. */
const environmentChecks: readonly ((config: TrainingConfig, environment: Environment) => void | Promise<void>)[] = [
  checkSplits,
  requireTurnRewards,
  checkDemonstrations,
];

/** @throws ConfigError for the first condition that does not hold, before a model is downloaded or anything opened */
export async function checkEnvironment(config: TrainingConfig, environment: Environment): Promise<void> {
  for (const check of environmentChecks) await check(config, environment);
}

/** All that a run opens. */
export interface OpenedParts {
  readonly engine: Pick<Engine, "info">;
  readonly chat: Chat;
  readonly environment: Environment;
}

/** Conditions between the configuration and all that is open. Each may resolve to a notice. */
const openedChecks: readonly ((config: TrainingConfig, opened: OpenedParts) => unknown)[] = [
  (config, { engine }) => requireCapabilities(config, engine.info),
  (config, { environment }) => checkBranching(config, environment),
  (config, { chat, environment }) => checkShownTools(chat, environment, config),
];

/**
 * Checks a run of which everything is open and nothing is written.
 * @returns the notices that a user should read
 * @throws ConfigError for the first condition that does not hold
 */
export async function checkOpened(config: TrainingConfig, opened: OpenedParts): Promise<string[]> {
  const notices: string[] = [];
  for (const check of openedChecks) {
    const notice = await check(config, opened);
    if (typeof notice === "string") notices.push(notice);
  }
  return notices;
}
