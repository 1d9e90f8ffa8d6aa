import { MeasurementError } from "../../src/core/errors.ts";
import { mean } from "../../src/core/mean.ts";
import { type AttemptCount, type Outcome, verdictWithheld } from "../../src/core/outcome.ts";
import { Semaphore } from "../../src/core/semaphore.ts";
import { sha256 } from "../../src/files/code-digests.ts";
import { passHatK } from "../../src/statistics/attempts.ts";
import type { Estimate } from "../../src/statistics/estimate.ts";
import { meanInterval } from "../../src/statistics/intervals.ts";
import { comparePaired, type PairedComparison, scoredPairs } from "../../src/statistics/paired.ts";

/** Attempts at the same time where nobody says how many. */
export const concurrentAttempts = 4;

export interface MeasureOptions {
  /** Independent attempts at each task. Default 1. */
  readonly k?: number;
  /** Attempts at the same time. Default 4. */
  readonly concurrency?: number;
  /** Time of one attempt, and of its reward, in milliseconds. Default 120,000. */
  readonly timeoutMs?: number;
  /** Ends it: its reason is thrown. */
  readonly signal?: AbortSignal;
}

/** The attempts at one task, in their order. */
export interface MeasuredTask<T> {
  readonly task: T;
  /** 0 where the agent failed by itself; undefined where an error left the attempt without a score. */
  readonly rewards: readonly (number | undefined)[];
  /** The error of a server, the network or the reward that left an attempt without a score; undefined if there was none. */
  readonly errors: readonly (string | undefined)[];
  /** The agent's own error, which is a reward of 0; undefined if there was none. */
  readonly failures: readonly (string | undefined)[];
}

/** Attempts that ended by an error are in no mean. */
export interface MeasuredAgent<T> extends AttemptCount {
  readonly k: number;
  readonly tasks: readonly MeasuredTask<T>[];
  /** Mean reward, with its interval over tasks. */
  readonly reward: Estimate;
  /** Share of attempts with a reward of at least 1, with its interval over tasks. */
  readonly success: Estimate;
  /** pass^k: the chance that all k attempts at a task succeed. Undefined where no task has k attempts with a score. */
  readonly allSucceed: number | undefined;
  /** SHA-256 of what gave the rewards. */
  readonly scoredBy: string;
}

/** Which attempt of which task it is, from 0. */
export interface Place {
  readonly task: number;
  readonly attempt: number;
}

/** Attempts at the beginning of which one has to have a score: what breaks them all breaks the rest, and a server's tokens cost money. */
const firstAttempts = 8;

/** Seed of the intervals, which are simulated. */
export const seed = 1;

/**
 * Attempts every task k times.
 * @param attempt gives the outcome of one attempt
 * @param scoredBy the code of the reward
 * @throws RangeError without tasks; MeasurementError where every attempt, or each of the first eight, ended by an error
 */
export async function measure<T>(
  tasks: readonly T[],
  attempt: (task: T, place: Place) => Promise<Outcome>,
  {
    k = 1,
    concurrency = concurrentAttempts,
    scoredBy,
  }: Pick<MeasureOptions, "k" | "concurrency"> & { readonly scoredBy: string },
): Promise<MeasuredAgent<T>> {
  const places = new Semaphore(concurrency);
  const first: Outcome[] = [];
  const one = async (task: T, place: Place) => {
    if (first.length === firstAttempts) requireScore(first, `the first ${firstAttempts}`);
    const outcome = await attempt(task, place);
    if (first.length < firstAttempts) first.push(outcome);
    return outcome;
  };
  const measured = await Promise.all(
    tasks.map(async (task, i) => ({
      task,
      outcomes: await Promise.all(Array.from({ length: k }, (_, j) => places.run(() => one(task, { task: i, attempt: j })))),
    })),
  );
  const all = measured.flatMap(({ outcomes }) => outcomes);
  requireScore(all, `all ${all.length}`);
  const perTask = measured.flatMap(({ outcomes }) => {
    const scores = outcomes.flatMap((outcome) => (outcome.kind === "score" ? [outcome] : []));
    return scores.length === 0 ? [] : [{ n: scores.length, c: scores.filter(({ success }) => success).length, scores }];
  });
  const whole = perTask.filter(({ n }) => n === k);
  return {
    k,
    attempts: all.length,
    errors: all.filter(({ kind }) => kind === "error").length,
    tasks: measured.map(({ task, outcomes }) => ({
      task,
      rewards: outcomes.map((outcome) => (outcome.kind === "score" ? outcome.reward : undefined)),
      errors: outcomes.map((outcome) => (outcome.kind === "error" ? outcome.error : undefined)),
      failures: outcomes.map((outcome) => (outcome.kind === "score" ? outcome.failure : undefined)),
    })),
    reward: meanInterval(
      perTask.map(({ scores }) => mean(scores.map(({ reward }) => reward))),
      { seed },
    ),
    success: meanInterval(
      perTask.map(({ n, c }) => c / n),
      { seed, range: [0, 1] },
    ),
    allSucceed: whole.length === 0 ? undefined : mean(whole.map(({ n, c }) => passHatK(n, c, k))),
    scoredBy: sha256(scoredBy),
  };
}

/** @throws MeasurementError where every outcome is an error */
function requireScore(outcomes: readonly Outcome[], which: string): void {
  const errors = outcomes.flatMap((outcome) => (outcome.kind === "error" ? [outcome.error] : []));
  if (errors.length === 0 || errors.length < outcomes.length) return;
  throw new MeasurementError(`the end of ${which} attempts`, errors[0], {
    expected: "at least one that no error ends",
    hint: "Nothing was measured: an attempt that a server or the reward ended has no score. Repair it, and measure again.",
  });
}

/**
 * Compares two measurements of the same tasks, task by task: two models under one agent, or an agent before and after. A task without a score on
 * one side is no pair.
 * @throws RangeError if they are not of the same tasks in the same order; MeasurementError if another reward scored them, or more than a tenth of
 * the attempts of one ended by an error
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
  if (first.scoredBy !== second.scoredBy)
    throw new MeasurementError("the reward of the second measurement", second.scoredBy.slice(0, 12), {
      expected: `that of the first, ${first.scoredBy.slice(0, 12)}`,
      hint: "What another reward has scored is not compared. Measure both with one.",
    });
  const withheld = verdictWithheld([first, second], ["the first measurement", "the second"]);
  if (withheld !== undefined)
    throw new MeasurementError("the comparison", withheld, {
      expected: "two measurements in which errors are rare",
      hint: "The errors are in `tasks`. Repair what raises them, and measure again.",
    });
  const values = ({ tasks }: MeasuredAgent<T>) =>
    tasks.map(({ rewards }) => {
      const scored = rewards.filter((reward) => reward !== undefined);
      return scored.length === 0 ? undefined : mean(scored);
    });
  return comparePaired(...scoredPairs(values(first), values(second)), { seed });
}

/** How often each reason is in a list. */
export function counted(reasons: readonly (string | undefined)[]): Record<string, number> {
  const found: Record<string, number> = {};
  for (const reason of reasons) if (reason !== undefined) found[reason] = (found[reason] ?? 0) + 1;
  return found;
}
