import "../extensions/engines.ts";

import { type AgentEvaluation, evaluateInTest } from "../extensions/agents/evaluate-agent.ts";
import { ConfigError, MeasurementError } from "../src/core/errors.ts";
import { verdictWithheld } from "../src/core/outcome.ts";
import type { TaskRequest } from "../src/environments/define.ts";
import { interval, percent } from "../src/terminal/format.ts";

/** `retrograde-rl/vitest`: a matcher for tests of agents, whose answers differ from attempt to attempt. */

export interface SuccessOptions<T extends TaskRequest> extends Omit<AgentEvaluation<T>, "agent" | "tasks"> {
  /** Least share of attempts with a reward of at least 1. */
  readonly atLeast: number;
}

/**
 * Matchers for `expect.extend` of vitest. `toSucceed` attempts each task k times, and passes if the share of successes is at least the
 * one that is asked for. Its message has the interval, and pass^k.
 * @example
 * expect.extend(agentMatchers);
 * await expect(agent).toSucceed(tasks, { reward, atLeast: 0.8, k: 5 });
 */
export const agentMatchers = {
  toSucceed<T extends TaskRequest>(
    this: object | undefined,
    agent: AgentEvaluation<T>["agent"],
    tasks: readonly T[],
    options: SuccessOptions<T>,
  ) {
    const result = succeeds(agent, tasks, options);
    keepWaiting(this as MatcherState | undefined, result);
    return result;
  },
};

async function succeeds<T extends TaskRequest>(
  agent: AgentEvaluation<T>["agent"],
  tasks: readonly T[],
  { atLeast, ...rest }: SuccessOptions<T>,
) {
  if (!(atLeast >= 0 && atLeast <= 1)) throw new ConfigError("atLeast", atLeast, { expected: "a share from 0 to 1" });
  const measuredAgent = await evaluateInTest({ ...rest, agent, tasks });
  const { success, allSucceed, k, tasks: measured } = measuredAgent;
  const withheld = verdictWithheld([measuredAgent], ["the agent"]);
  const first = (what: "errors" | "failures") => measured.flatMap((task) => task[what].filter((each) => each !== undefined));
  const [errors, own] = [first("errors"), first("failures")];
  if (withheld !== undefined)
    throw new MeasurementError("toSucceed", withheld, {
      expected: "errors in at most a tenth of the attempts",
      hint: `An error of a server, the network or the reward is no result, so neither toSucceed nor its negation holds. The first: ${errors[0]}`,
    });
  const unclear = success.low < atLeast && success.high > atLeast;
  const lines = [
    `expected at least ${percent(atLeast)} of ${measuredAgent.attempts - measuredAgent.errors} attempts to succeed: ${interval(success)}, the 95 % interval over tasks`,
    ...(allSucceed === undefined ? [] : [`all ${k} attempts at a task succeed: ${percent(allSucceed)} (pass^${k})`]),
    ...(unclear ? ["The interval contains the limit: more tasks or attempts decide it, a repetition does not."] : []),
    ...(own.length === 0 ? [] : [`${own.length} attempts failed by an error of the agent, the first: ${own[0]}`]),
    ...(errors.length === 0
      ? []
      : [`${errors.length} attempts ended by another error and are not counted, the first: ${errors[0]}`]),
  ];
  return { pass: success.mean >= atLeast - 1e-9, message: () => lines.join("\n"), actual: success, expected: atLeast };
}

/** The part of vitest's state of a matcher that is used here. */
interface MatcherState {
  readonly isNot?: boolean;
  readonly task?: object & { promises?: Promise<unknown>[] };
}

/**
 * Lets a test that does not await the assertion wait for the result and fail by it, as vitest does for its own assertions. One that settles while
 * the test runs is awaited, or an unhandled rejection.
 */
function keepWaiting(
  state: MatcherState | undefined,
  result: Promise<{ readonly pass: boolean; readonly message: () => string }>,
): void {
  const task = state?.task;
  if (task === undefined) return;
  const waiting = (task.promises ??= []);
  const checked = result
    .then(({ pass, message }) => {
      if (pass === (state?.isNot === true)) throw new Error(message());
    })
    .finally(() => waiting.splice(waiting.indexOf(checked), 1));
  checked.catch(() => {}); // it is the test that reports it
  waiting.push(checked);
}

/** The types of the matchers, for vitest's `Matchers`. */
export interface AgentMatchers<R = unknown> {
  toSucceed<T extends TaskRequest>(tasks: readonly T[], options: SuccessOptions<T>): Promise<R>;
}
