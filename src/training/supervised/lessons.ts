import { z } from "zod";
import type { Chat } from "../../chat/chat.ts";
import { nearestIssue } from "../../core/door.ts";
import { ConfigError, EnvError } from "../../core/errors.ts";
import { messageDoor } from "../../core/message-doors.ts";
import { present } from "../../core/present.ts";
import { randomStream } from "../../core/random.ts";
import type { ActionInContext } from "../../core/trajectory.ts";
import type { Environment } from "../../environments/environment.ts";
import { whileEpisode } from "../../environments/lifetime.ts";
import { encodeDemonstration } from "../../rollouts/demonstration.ts";
import { firstPrompt } from "../config/first-prompt.ts";
import type { TrainingConfig } from "../config/settings.ts";
import { trainingTasks } from "../config/tasks.ts";
import { readConversations } from "./conversations.ts";

/** The arguments that decide the demonstrations of a run. */
export interface LessonArguments {
  readonly environment: Environment;
  readonly chat: Chat;
  /** Longest sequence of the model. */
  readonly maxLength: number;
  /** A JSONL file; the environment's expert if undefined. */
  readonly data: string | undefined;
  readonly seed: number;
}

/** Demonstrations from any position on: the same position and seed always give the same ones, so that a run can be resumed. */
export interface LessonSource {
  from(position: number): Lessons;
}

/**
 * Opens the demonstrations of a run. Those of a file are all read and encoded before training starts, and gone through in a new order each
 * time; an expert plays the training tasks.
 * @throws ConfigError for a file that is wrong, a demonstration that is too long, or an environment without an expert
 */
export async function openLessons(args: LessonArguments): Promise<LessonSource> {
  return args.data === undefined ? byExpert(args) : fromFile(args, args.data);
}

/**
 * Checks what can be known of demonstrations before a model is loaded.
 * @throws ConfigError for a file that is wrong, or an environment without an expert
 */
export function checkDemonstrations({ algorithm }: Pick<TrainingConfig, "algorithm">, environment: Environment): void {
  if (algorithm.kind !== "sft") return;
  if (algorithm.data !== undefined) readConversations(algorithm.data);
  else if (environment.demonstrate === undefined && environment.expert === undefined)
    throw new ConfigError("algorithm.data", undefined, {
      expected: "a JSONL file of conversations",
      hint: `The environment "${environment.name}" has no expert: give a file (--data FILE), or add \`demonstrate\` to the environment.`,
    });
}

async function fromFile(args: LessonArguments, path: string): Promise<LessonSource> {
  const { environment, seed } = args;
  const conversations = readConversations(path);
  const prompt = conversations.some(({ tools }) => tools === undefined) ? await firstPrompt(environment) : undefined;
  const lessons = conversations.map(({ messages, tools }, i) =>
    encoded(
      args,
      `${path}, conversation ${i + 1}`,
      messages,
      tools ?? prompt?.tools ?? [],
      tools === undefined ? prompt?.protocol : undefined,
    ),
  );
  const at = (position: number) => {
    const epoch = Math.floor(position / lessons.length);
    const order = randomStream(seed, "lessons", epoch).shuffle(lessons);
    return present(order[position % lessons.length], "a lesson");
  };
  return {
    *from(position) {
      for (let next = position; ; next++) yield at(next);
    },
  };
}

function byExpert(args: LessonArguments): LessonSource {
  return {
    async *from(position) {
      for (let next = position; ; next++) yield demonstrated(args, next, args.seed);
    },
  };
}

async function demonstrated(args: LessonArguments, position: number, seed: number): Promise<readonly ActionInContext[]> {
  const { environment } = args;
  const task = present((await trainingTasks(environment, position, 1, seed))[0], "a training task");
  // A seed of its own: with one for all, an expert that draws would make the same choice in every demonstration.
  const episodeSeed = randomStream(seed, "demonstration", position).integer(2 ** 31 - 1);
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

function encoded(
  { chat, maxLength }: LessonArguments,
  what: string,
  ...[messages, tools, protocol]: [
    Parameters<typeof encodeDemonstration>[2],
    Parameters<typeof encodeDemonstration>[3],
    Parameters<typeof encodeDemonstration>[4],
  ]
): readonly ActionInContext[] {
  const samples = encodeDemonstration(chat, what, messages, tools, protocol);
  if (samples.length === 0)
    throw new ConfigError(what, "without an assistant's message", { expected: "a message to learn from" });
  const longest = Math.max(...samples.map(({ context, action }) => context.length + action.length));
  if (longest <= maxLength) return samples;
  throw new ConfigError(what, `${longest} tokens`, {
    expected: `at most ${maxLength}, the model's longest sequence`,
    hint: "Shorten it, or use a model with a longer context.",
  });
}

/** Demonstrations as training samples. */
export type Lessons = Iterator<readonly ActionInContext[]> | AsyncIterator<readonly ActionInContext[]>;
