import { z } from "zod";
import type { Chat } from "../../chat/chat.ts";
import { nearestIssue } from "../../core/door.ts";
import { ConfigError, EnvError } from "../../core/errors.ts";
import { messageDoor } from "../../core/message-doors.ts";
import type { ActionInContext } from "../../core/trajectory.ts";
import type { Environment, Task } from "../../environments/environment.ts";
import { whileEpisode } from "../../environments/lifetime.ts";
import { encodeDemonstration } from "../../rollouts/demonstration.ts";

/** The parts that encode demonstrations. */
export interface DemonstrationArguments {
  readonly environment: Environment;
  readonly chat: Chat;
  /** Longest sequence of the model. */
  readonly maxLength: number;
}

/**
 * Encodes the demonstration of a task, by the environment itself or its expert.
 * @throws ConfigError for one that cannot be learned from, EnvError where the environment fails
 */
export async function demonstrationOf(
  args: DemonstrationArguments,
  task: Task,
  episodeSeed: number,
): Promise<readonly ActionInContext[]> {
  const { environment } = args;
  try {
    const { tools, protocol } = await whileEpisode(environment, task, episodeSeed, (episode) => episode);
    const messages = (await environment.demonstrate?.(task, episodeSeed)) ?? environment.expert?.play(task).messages ?? [];
    requireMessages(messages, task.id);
    return encoded(args, `the demonstration of task ${task.id}`, messages, tools, protocol);
  } catch (cause) {
    if (cause instanceof ConfigError) throw cause;
    throw new EnvError(`the demonstration of task ${task.id}`, cause, { expected: "a finished conversation", cause });
  }
}

const messagesSchema = z.array(messageDoor);

/** Environments are often written without types. @throws ConfigError naming a field that no template would show */
function requireMessages(messages: unknown, task: string): void {
  const { error } = messagesSchema.safeParse(messages);
  if (error === undefined) return;
  const { path, message } = nearestIssue(error.issues);
  throw new ConfigError(`the demonstration of task ${task}: ${path.join(".") || "what demonstrate() returned"}`, "not accepted", {
    expected: message,
  });
}

/** @throws ConfigError for a conversation without anything to learn, or one that is too long */
export function encoded(
  { chat, maxLength }: Omit<DemonstrationArguments, "environment">,
  what: string,
  ...shown: Parameters<typeof encodeDemonstration> extends [unknown, unknown, ...infer Shown] ? Shown : never
): readonly ActionInContext[] {
  const samples = encodeDemonstration(chat, what, ...shown);
  if (samples.length === 0)
    throw new ConfigError(what, "without an assistant's message", { expected: "a message to learn from" });
  const longest = Math.max(...samples.map(({ context, action }) => context.length + action.length));
  if (longest <= maxLength) return samples;
  throw new ConfigError(what, `${longest} tokens`, {
    expected: `at most ${maxLength}, the model's longest sequence`,
    hint: "Shorten it, or use a model with a longer context.",
  });
}
