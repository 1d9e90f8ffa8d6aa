import { DeadlineError } from "../core/deadline.ts";
import { ConfigError } from "../core/errors.ts";
import { present } from "../core/present.ts";
import type { Trajectory } from "../core/trajectory.ts";
import { callUserCode } from "../core/user-code.ts";
import type { Task } from "../environments/environment.ts";
import { type RewardConfig, rewardName } from "./config.ts";
import { type RewardContext, rewardKinds } from "./kinds.ts";
import { formatScore, lastAnswer, lengthCost, toolCost } from "./parts.ts";
import { type FinishedEpisode, type Reward, RewardError, type RewardPart, type ScoredGroup } from "./reward.ts";

/**
 * The parts of a run's reward. Nothing is read, written or requested yet.
 * @throws ConfigError for a reward from code that is not there, or one without its key, naming the variable
 */
export function createRewards(configs: readonly RewardConfig[], context: RewardContext): RewardPart[] {
  const { code, timeoutMs } = context;
  const opened = new Map(
    [...rewardKinds].map(([name, kind]) => [
      name,
      kind.open(
        configs.filter((config) => config.kind === name),
        context,
      ),
    ]),
  );

  return configs.map((config, index): RewardPart => {
    const part = { name: rewardName(config), weight: config.weight };
    switch (config.kind) {
      case "environment":
        return { ...part, ofFailures: "nothing", ...eachTrajectory(({ reward }) => reward) };
      case "format":
        return { ...part, ofFailures: "nothing", ...eachTrajectory((trajectory) => formatScore(trajectory, config)) };
      case "length":
        return { ...part, ofFailures: "everything", ...eachTrajectory((trajectory) => lengthCost(trajectory, config)) };
      case "tool-cost":
        return { ...part, ofFailures: "everything", ...eachTrajectory((trajectory) => toolCost(trajectory, config)) };
      case "verifiable":
      case "compare":
        return { ...part, ofFailures: "nothing", ...fromCode(codeOf(config, index, code), timeoutMs) };
      default:
        return present(opened.get(config.kind), `the kind "${config.kind}"`)(config, index);
    }
  });
}

function eachTrajectory(scoreOf: (trajectory: Trajectory) => number): Pick<RewardPart, "score"> {
  return { score: (groups) => ({ values: groups.map(({ trajectories }) => trajectories.map(scoreOf)) }) };
}

/** One function at a time: it may keep state, or a machine busy. A group whose answer does not come in time is left out of the update. */
function fromCode(reward: Reward, timeoutMs: number): Pick<RewardPart, "score"> {
  return {
    score: async (groups, { signal, onScored, warn }) => {
      const what = `reward "${reward.name}"`;
      const ask = <T>(work: (signal: AbortSignal) => T | Promise<T>) => callUserCode(what, work, { timeoutMs, signal });
      const values: (number[] | undefined)[] = [];
      let late = 0;
      for (const group of groups) {
        const episodes = group.trajectories.map((trajectory) => finished(trajectory, group.task));
        try {
          if ("compare" in reward)
            values.push([...(episodes.length === 0 ? [] : await ask((given) => reward.compare(episodes, { signal: given })))]);
          else {
            const given: number[] = [];
            for (const episode of episodes) given.push(numberOf(await ask((own) => reward.verify(episode, { signal: own }))));
            values.push(given);
          }
        } catch (error) {
          signal?.throwIfAborted();
          if (error instanceof DeadlineError) {
            warn(`${what}: group ${group.id} is left out of the update: ${error.message} (rollout.episodeTimeoutMs)`);
            values.push(undefined);
            late++;
          } else
            throw new RewardError(reward.name, error instanceof Error ? error : String(error), {
              expected: `numbers for the episodes of group ${group.id}`,
              hint: "The function threw. Episodes that it cannot score should get a number that says so.",
              cause: error,
            });
        }
        signal?.throwIfAborted();
        onScored(episodes.length);
      }
      return { values, ...(late === 0 ? {} : { metrics: { "reward/late": late } }) };
    },
  };
}

/** Returns a boolean as a number. What is neither stays what it is, for the message that refuses it. */
function numberOf(value: number | boolean): number {
  return typeof value === "boolean" ? Number(value) : value;
}

function finished(trajectory: Trajectory, task: ScoredGroup["task"]): FinishedEpisode<Task> {
  const { messages, reward, scores, stopReason } = trajectory;
  return {
    task,
    answer: lastAnswer(trajectory),
    conversation: messages,
    reward,
    scores,
    stopReason,
    trajectory,
  };
}

function codeOf(config: RewardConfig, index: number, code: readonly Reward[]): Reward {
  const found = code.find(({ name }) => name === rewardName(config));
  if (found !== undefined) return found;
  throw new ConfigError(`rewards.${index}`, rewardName(config), {
    expected: code.length === 0 ? "a reward that the configuration file defines" : code.map(({ name }) => name),
    hint: "Rewards from code are functions: put defineReward({ name, … }) into rewards of retrograde.config.ts.",
  });
}
