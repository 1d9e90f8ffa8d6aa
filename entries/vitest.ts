import type { TaskRequest } from "../src/environments/define.ts";
import { type AgentEvaluation, evaluateAgent } from "../src/sdk/evaluate-agent.ts";
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
  async toSucceed<T extends TaskRequest>(agent: AgentEvaluation<T>["agent"], tasks: readonly T[], options: SuccessOptions<T>) {
    const { atLeast, ...rest } = options;
    const { success, allSucceed, k, tasks: measured } = await evaluateAgent({ ...rest, agent, tasks });
    const unclear = success.low < atLeast && success.high > atLeast;
    const failures = measured.flatMap(({ errors }) => errors.filter((error) => error !== undefined));
    const lines = [
      `expected at least ${percent(atLeast)} of ${tasks.length * k} attempts to succeed: ${interval(success)}, the 95 % interval over tasks`,
      `all ${k} attempts at a task succeed: ${percent(allSucceed)} (pass^${k})`,
      ...(unclear ? ["The interval contains the limit: more tasks or attempts decide it, a repetition does not."] : []),
      ...(failures.length === 0 ? [] : [`${failures.length} attempts failed, the first: ${failures[0]}`]),
    ];
    return { pass: success.mean >= atLeast, message: () => lines.join("\n"), actual: success, expected: atLeast };
  },
};

/** The types of the matchers, for vitest's `Matchers`. */
export interface AgentMatchers<R = unknown> {
  toSucceed<T extends TaskRequest>(tasks: readonly T[], options: SuccessOptions<T>): Promise<R>;
}
