import { z } from "zod";
import { DeadlineError } from "../core/deadline.ts";
import { ConfigError } from "../core/errors.ts";
import type { Trajectory } from "../core/trajectory.ts";
import { callUserCode } from "../core/user-code.ts";
import type { Task } from "../environments/environment.ts";
import { type FinishedEpisode, lastAnswer, type Reward, RewardError, type RewardPart, type ScoredGroup } from "./reward.ts";
import { common, partName, type RewardKind } from "./reward-kind.ts";

/** A reward from code, as a configuration records it: `defineReward` has the rest. */
function fromCode<const Kind extends string>(kind: Kind) {
  const settings = z.strictObject({ kind: z.literal(kind), name: partName, weight: common.weight });
  const rewardKind: RewardKind<typeof settings> = {
    settings,
    open:
      (_, { code, timeoutMs }) =>
      ({ name }, index) => ({ score: scoreBy(codeOf(name, index, code), timeoutMs) }),
  };
  return rewardKind;
}
export const verifiable = fromCode("verifiable");
export const compare = fromCode("compare");

/** One function at a time: it may keep state, or a machine busy. A group whose answer does not come in time is left out of the update. */
function scoreBy(reward: Reward, timeoutMs: number): RewardPart["score"] {
  return async (groups, { signal, onScored, warn }) => {
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

function codeOf(wanted: string, index: number, code: readonly Reward[]): Reward {
  const found = code.find(({ name }) => name === wanted);
  if (found !== undefined) return found;
  throw new ConfigError(`rewards.${index}`, wanted, {
    expected: code.length === 0 ? "a reward that the configuration file defines" : code.map(({ name }) => name),
    hint: "Rewards from code are functions: put defineReward({ name, … }) into rewards of retrograde.config.ts.",
  });
}
