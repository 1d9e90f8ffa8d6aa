import { withinTime } from "../core/deadline.ts";
import { reasonOf } from "../core/errors.ts";
import { mean } from "../core/mean.ts";
import { Semaphore } from "../core/semaphore.ts";
import { passHatK } from "../statistics/attempts.ts";
import type { Estimate } from "../statistics/estimate.ts";
import { meanInterval } from "../statistics/intervals.ts";
import { comparePaired, type PairedComparison } from "../statistics/paired.ts";

export interface MeasureOptions {
  /** Independent attempts at each task. Default 1. */
  readonly k?: number;
  /** Attempts at the same time. Default 4. */
  readonly concurrency?: number;
  /** Time of one attempt, in milliseconds. Default 120,000. */
  readonly timeoutMs?: number;
}

/** The attempts at one task, in their order. */
export interface MeasuredTask<T> {
  readonly task: T;
  /** 0 for an attempt that failed. */
  readonly rewards: readonly number[];
  /** Why an attempt failed; undefined if it did not. */
  readonly errors: readonly (string | undefined)[];
}

export interface MeasuredAgent<T> {
  readonly k: number;
  readonly tasks: readonly MeasuredTask<T>[];
  /** Mean reward, with its interval over tasks. */
  readonly reward: Estimate;
  /** Share of attempts with a reward of at least 1, with its interval over tasks. */
  readonly success: Estimate;
  /** pass^k: the chance that all k attempts at a task succeed. */
  readonly allSucceed: number;
}

/** Seed of the intervals, which are simulated. */
const seed = 1;

/**
 * Attempts every task k times.
 * @param attempt gives the reward of one attempt
 * @throws RangeError without tasks
 */
export async function measure<T>(
  tasks: readonly T[],
  attempt: (task: T, signal: AbortSignal) => Promise<number>,
  { k = 1, concurrency = 4, timeoutMs = 120_000 }: MeasureOptions,
): Promise<MeasuredAgent<T>> {
  const places = new Semaphore(concurrency);
  const tried = async (task: T) => {
    try {
      const reward = await withinTime((signal) => attempt(task, signal), timeoutMs);
      if (!Number.isFinite(reward)) throw new RangeError(`the reward is ${reward}; expected a finite number`);
      return { reward, error: undefined };
    } catch (error) {
      return { reward: 0, error: reasonOf(error) };
    }
  };
  const measured = await Promise.all(
    tasks.map(async (task) => {
      const attempts = await Promise.all(Array.from({ length: k }, () => places.run(() => tried(task))));
      return { task, rewards: attempts.map(({ reward }) => reward), errors: attempts.map(({ error }) => error) };
    }),
  );
  const successes = measured.map(({ rewards }) => rewards.filter((reward) => reward >= 1).length);
  return {
    k,
    tasks: measured,
    reward: meanInterval(measured.map(meanReward), { seed }),
    success: meanInterval(
      successes.map((count) => count / k),
      { seed, range: [0, 1] },
    ),
    allSucceed: mean(successes.map((count) => passHatK(k, count, k))),
  };
}

/**
 * Compares two measurements of the same tasks, task by task: two models under one agent, or an agent before and after.
 * @throws RangeError if they are not of the same tasks in the same order
 * @example
 * const measured = (name: string) =>
 *   evaluateAgent({
 *     agent: "./agent.ts",
 *     tasks: [{ prompt: "2 + 2?" }],
 *     reward: ({ answer }) => (answer === "4" ? 1 : 0),
 *     endpoint: { baseUrl: "http://localhost:8765/v1", apiKey: "none", name },
 *   });
 * const { difference, pValue } = compareAgents(await measured("before"), await measured("after"));
 */
export function compareAgents<T>(first: MeasuredAgent<T>, second: MeasuredAgent<T>): PairedComparison {
  const texts = (measured: MeasuredAgent<T>) => JSON.stringify(measured.tasks.map(({ task }) => task));
  if (texts(first) !== texts(second)) throw new RangeError("the measurements are of different tasks, or in another order");
  return comparePaired(first.tasks.map(meanReward), second.tasks.map(meanReward), { seed });
}

function meanReward<T>({ rewards }: MeasuredTask<T>): number {
  return mean(rewards);
}
