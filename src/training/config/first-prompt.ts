import type { Message } from "../../core/messages.ts";
import { callUserCode } from "../../core/user-code.ts";
import { type Environment, splitWithTasks } from "../../environments/environment.ts";
import { whileEpisode } from "../../environments/lifetime.ts";
import type { TextProtocol } from "../../environments/protocol.ts";
import type { Tool } from "../../tools/tool.ts";

/** The prompt that a model is shown first in an environment. */
export interface FirstPrompt {
  readonly messages: readonly Message[];
  readonly tools: readonly Tool[];
  readonly protocol?: TextProtocol;
}

/**
 * Starts and closes an episode of an environment's first task, to look at its prompt.
 * @returns undefined if it has no tasks
 * @throws what the environment throws; DeadlineError
 */
export async function requireFirstPrompt(environment: Environment, timeoutMs = 120_000): Promise<FirstPrompt | undefined> {
  const look = async () => {
    const split = await splitWithTasks(environment);
    if (split === undefined) return undefined;
    return whileEpisode(environment, await environment.task(split, 0), 0, ({ messages, tools, protocol }) => ({
      ...{ messages, tools },
      ...(protocol === undefined ? {} : { protocol }),
    }));
  };
  return callUserCode(`start() of "${environment.name}"`, look, { timeoutMs });
}

/** The same, and undefined if the episode cannot be started: a rollout then reports it with its message. */
export function firstPrompt(environment: Environment, timeoutMs?: number): Promise<FirstPrompt | undefined> {
  return requireFirstPrompt(environment, timeoutMs).catch(() => undefined);
}
