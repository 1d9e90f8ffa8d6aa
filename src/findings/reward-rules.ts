import { groupsWithoutSignal } from "../algorithms/advantages/by-group.ts";
import { factsOf } from "../algorithms/algorithms.ts";
import { isScored, succeeded } from "../core/outcome.ts";
import type { EpisodeFacts, Episodes, Rule, StepFacts } from "./rule.ts";

const constantSteps = 3;

/** Finds that every episode of several steps in a row had one and the same reward. */
export const constantReward: Rule<StepFacts> = (facts) => {
  const steps = [...facts.history, facts.record].slice(-constantSteps);
  const value = onlyReward(facts);
  if (steps.length < constantSteps || value === undefined) return undefined;
  if (!steps.every(({ metrics }) => metrics.rewardMin === value && metrics.rewardMax === value)) return undefined;
  return {
    cause: `Every episode of the last ${constantSteps} steps has the reward ${value}, so nothing is learned.`,
    example: facts.trajectories[0].id,
    next: nextFor(value, facts),
  };
};

/** Finds that all episodes of a step have one reward. */
export const equalRewards: Rule<StepFacts> = (facts) => {
  const value = onlyReward(facts);
  if (value === undefined || constantReward(facts) !== undefined || startAtZero(facts) !== undefined) return undefined;
  return {
    cause: `All ${facts.trajectories.filter(isScored).length} episodes have the reward ${value}, so this step learns nothing.`,
    example: facts.trajectories[0].id,
    next: nextFor(value, facts),
  };
};

/** Finds that rewards differ between tasks but not between the rollouts of any task. */
export const noSignal: Rule<StepFacts> = (facts) => {
  const { trained, config, trajectories } = facts;
  const compares = factsOf(config.algorithm).comparesWithinGroups && config.rollout.groupSize > 1;
  if (!compares || onlyReward(facts) !== undefined || groupsWithoutSignal(trained) < trained.length) return undefined;
  return {
    cause: "In no group do the rollouts of a task differ in reward, so this step learns nothing.",
    example: trajectories[0].id,
    next:
      "Choose tasks that the model solves sometimes, give partial rewards, or raise rollout.groupSize or rollout.temperature; " +
      'algorithm "dapo" samples until groups differ.',
  };
};

/**
 * Finds that no attempt succeeds or differs in its reward before training, nor in the first step: there is nothing that could be made more
 * likely. An evaluation alone may be of few tasks.
 */
export const startAtZero: Rule<StepFacts> = (facts) => {
  const { before, record, trajectories } = facts;
  const value = onlyReward(facts);
  if (record.step > 1 || value === undefined || value > 0 || trajectories.some(succeeded)) return undefined;
  if (before.some(({ mean, reward }) => mean > 0 || Math.abs(reward.mean - value) > 1e-9)) return undefined;
  const attempts = before.reduce((sum, { tasks, k }) => sum + tasks * k, trajectories.length);
  return {
    cause: `At the start ${value === 0 ? `none of ${attempts} attempts gets a reward` : `all ${attempts} attempts have the reward ${value}`}, the rollouts of the first step included.`,
    example: trajectories[0].id,
    next: nextFor(value, facts),
  };
};

/** Finds that every attempt succeeds before training. */
export const startAtHundred: Rule<EpisodeFacts> = ({ trajectories }) => {
  const scored = trajectories.filter(isScored);
  if (scored.length === 0 || !scored.every(succeeded)) return undefined;
  return {
    cause: `Before training all ${scored.length} attempts succeed, so there is nothing to learn.`,
    example: trajectories[0].id,
    next: "Check that a wrong answer gets a lower reward: read the example. A check whose promise is not awaited counts as true. If it is right, choose harder tasks.",
  };
};

/** The reward of all episodes that have one, if it is one and the same. */
function onlyReward({ trajectories }: Episodes): number | undefined {
  const rewards = new Set(trajectories.filter(isScored).map(({ reward }) => reward));
  return rewards.size === 1 ? [...rewards][0] : undefined;
}

function nextFor(value: number, { trajectories }: EpisodeFacts): string {
  if (trajectories.filter(isScored).every(succeeded)) return "Every episode succeeds: stop here, or train on harder tasks.";
  if (value > 0) return "Check that the reward depends on what the model did: read the example.";
  return (
    "Read the example. If the answer is right, the reward function is wrong. If the model cannot do the task yet, begin with " +
    "demonstrations (`retrograde-rl sft`, of an agent `train-agent --teacher`), easier tasks, partial rewards or a stronger model."
  );
}
