import { setMaxListeners } from "node:events";
import { z } from "zod";
import { ModelError } from "../core/errors.ts";
import type { Message, ToolMessage } from "../core/messages.ts";
import { seedOf } from "../core/random.ts";
import type { Group, StopReason, Trajectory, TrajectoryId, Turn } from "../core/trajectory.ts";
import type { Sampler } from "../engines/engine.ts";
import type { Environment, Episode, Task } from "../environments/environment.ts";
import { callTool, messageOf } from "./call-tool.ts";
import type { Chat, ChatContext } from "./chat.ts";
import { DeadlineError, withinTime } from "./deadline.ts";
import { type ParsedAction, parseAction } from "./toolcalls.ts";

export interface RolloutOptions {
  /** Unique within a run. It names the sampler's cache row and, with the seed, all random numbers of the episode's actions. */
  readonly id: TrajectoryId;
  readonly group: string;
  readonly seed: number;
  /** Limit of assistant turns. */
  readonly maxTurns: number;
  /** Limit of one action, in tokens. */
  readonly maxTokens: number;
  readonly temperature?: number;
  readonly topP?: number;
  readonly topK?: number;
  /** For each answer of the environment, in milliseconds. */
  readonly episodeTimeoutMs: number;
  readonly signal?: AbortSignal;
}

/** Ends an episode early. */
class EpisodeStop extends Error {
  readonly reason: StopReason;
  constructor(reason: StopReason, message: string) {
    super(message);
    this.reason = reason;
  }
}

/** What an episode has come to. */
interface Progress {
  readonly turns: Turn[];
  readonly messages: Message[];
}

/**
 * Plays one episode: the model acts, tools and environment answer, until the environment says so or a limit is reached.
 * Whatever the environment and its tools do wrong is told by the trajectory, whose reward is then 0.
 * @throws ModelError if the chat template refuses the first messages; what the sampler throws
 */
export async function rollout<T extends Task>(
  sampler: Sampler,
  chat: Chat,
  environment: Environment<T>,
  task: T,
  options: RolloutOptions,
): Promise<Trajectory> {
  const { id, group, seed } = options;
  const progress: Progress = { turns: [], messages: [] };
  const trajectory = { id, group, task: task.id, ...progress };
  let episode: Episode | undefined;
  try {
    // The rollouts of a group begin alike.
    episode = await ask("start", episodeSchema, () => environment.start(task, seedOf(seed, "episode", group)), options);
    const stopReason = await play(sampler, chat, episode, progress, options);
    const { reward, scores } = await score(episode, progress.messages, options);
    return { ...trajectory, reward, scores, stopReason };
  } catch (stop) {
    if (options.signal?.aborted) return { ...trajectory, reward: 0, scores: {}, stopReason: "cancelled" };
    if (stop instanceof EpisodeStop)
      return { ...trajectory, reward: 0, scores: {}, stopReason: stop.reason, error: stop.message };
    throw stop;
  } finally {
    sampler.release(id);
    await close(episode, options);
  }
}

/** @returns why the episode ended, where it ended as it may */
async function play(
  sampler: Sampler,
  chat: Chat,
  episode: Episode,
  { turns, messages }: Progress,
  options: RolloutOptions,
): Promise<StopReason> {
  messages.push(...episode.messages);
  let context = chat.open(episode.messages, episode.tools);
  for (;;) {
    const maxTokens = Math.min(options.maxTokens, sampler.info.maxLength - context.ids.length);
    if (maxTokens < 1) {
      if (turns.length > 0) return "max-tokens";
      const lengths = `The first messages take ${context.ids.length} tokens, the model ${sampler.info.maxLength} in all.`;
      throw new EpisodeStop("max-tokens", `${lengths} Shorten the task or use a model with a longer context.`);
    }
    const { tokens, logprobs, entropies, finish, weightVersion } = await sampler.sample({
      context: context.ids,
      maxTokens,
      stopTokens: chat.tokenizer.stopTokens,
      seed: seedOf(options.seed, "sample", options.id, turns.length),
      temperature: options.temperature,
      topP: options.topP,
      topK: options.topK,
      cacheKey: options.id,
      signal: options.signal,
    });
    const truncated = finish === "length";
    const parsed = parseAction(chat.actionText(tokens));
    messages.push(parsed.message);
    // What a cut off action would have called is not known.
    const answers =
      truncated || parsed.calls.length === 0 ? { messages: [], invalid: 0 } : await callTools(episode, parsed, options);
    turns.push({
      trajectory: options.id,
      turn: turns.length,
      context: context.ids,
      action: tokens,
      samplerLogprobs: logprobs,
      entropies,
      weightVersion,
      truncated,
      rewritten: context.rewritten,
      toolCalls: answers.messages.length - answers.invalid,
      invalidToolCalls: answers.invalid,
    });
    if (truncated) return "max-tokens";
    const reply =
      parsed.calls.length > 0
        ? { done: false as const, messages: answers.messages }
        : await ask("reply", replySchema, () => episode.reply(parsed.message), options);
    if (reply.done) return "done";
    messages.push(...reply.messages);
    if (turns.length >= options.maxTurns) return "max-turns";
    context = extend(chat, context, tokens, parsed, reply.messages);
  }
}

/** One tool message for each call, in their order, one after the other: a call may build on the one before it. */
async function callTools(
  episode: Episode,
  { calls }: ParsedAction,
  { signal }: RolloutOptions,
): Promise<{ readonly messages: readonly ToolMessage[]; readonly invalid: number }> {
  const messages: ToolMessage[] = [];
  let invalid = 0;
  for (const call of calls) {
    const outcome =
      "error" in call ? { content: `Error: ${call.error}`, valid: false } : await callTool(episode.tools, call, signal);
    if (!outcome.valid) invalid++;
    messages.push({ role: "tool", name: "error" in call ? "tool_call" : call.name, content: outcome.content });
  }
  return { messages, invalid };
}

function extend(
  chat: Chat,
  context: ChatContext,
  action: readonly number[],
  { message }: ParsedAction,
  answers: readonly Message[],
) {
  try {
    return chat.extend(context, action, message, answers);
  } catch (error) {
    // The template took the first messages, so it is this conversation that it cannot render.
    if (error instanceof ModelError) throw new EpisodeStop("environment-error", error.message);
    throw error;
  }
}

async function score(episode: Episode, conversation: readonly Message[], options: RolloutOptions) {
  const { reward, scores = {} } = await ask("score", scoreSchema, () => episode.score(conversation), options);
  const wrong = Object.entries({ reward, ...scores }).find(([, value]) => !Number.isFinite(value));
  if (wrong !== undefined)
    throw new EpisodeStop("invalid-reward", `score gave ${wrong[0]} ${wrong[1]}, which is not a finite number`);
  return { reward, scores };
}

async function close(episode: Episode | undefined, options: RolloutOptions): Promise<void> {
  try {
    await withinTime(() => episode?.close?.(), options.episodeTimeoutMs);
  } catch {
    // The episode is over and its result stands.
  }
}

const messageSchema = z.discriminatedUnion("role", [
  z.object({ role: z.enum(["system", "user"]), content: z.string() }),
  z.object({ role: z.literal("assistant"), content: z.string() }),
  z.object({ role: z.literal("tool"), name: z.string(), content: z.string() }),
]);
const episodeSchema = z.object({
  messages: z.array(messageSchema).min(1),
  tools: z.array(z.object({ name: z.string(), description: z.string() })),
});
const replySchema = z.union([
  z.object({ done: z.literal(true) }),
  z.object({ done: z.literal(false), messages: z.array(messageSchema).min(1) }),
]);
const anyNumber = z.custom<number>((value) => typeof value === "number");
const scoreSchema = z.object({ reward: anyNumber, scores: z.record(z.string(), anyNumber).optional() });

/** The environment's answer, checked: it is other people's code, often without types. */
async function ask<T>(
  what: string,
  schema: z.ZodType,
  call: () => T | Promise<T>,
  { episodeTimeoutMs, signal }: RolloutOptions,
): Promise<T> {
  let answer: T;
  try {
    answer = await withinTime(call, episodeTimeoutMs, signal);
  } catch (error) {
    const reason = error instanceof DeadlineError ? "environment-timeout" : "environment-error";
    throw new EpisodeStop(reason, `${what}: ${messageOf(error)}`);
  }
  const checked = schema.safeParse(answer);
  if (!checked.success)
    throw new EpisodeStop("environment-error", `${what} gave a malformed answer: ${z.prettifyError(checked.error)}`);
  return answer;
}

export interface GroupsOptions extends Omit<RolloutOptions, "id" | "group"> {
  /** Makes the ids of groups and trajectories unique within a run, such as "step-3". */
  readonly name: string;
  /** Rollouts of each task. */
  readonly groupSize: number;
  /** Episodes in flight. */
  readonly concurrency: number;
  /** Called as each episode ends. */
  readonly onTrajectory?: (trajectory: Trajectory) => void;
}

/**
 * Rollouts of every task, some at a time.
 * @returns one group for each task, in the order of the tasks, whatever ended first
 * @throws as `rollout`, once the other episodes have been cancelled
 */
export async function rolloutGroups<T extends Task>(
  sampler: Sampler,
  chat: Chat,
  environment: Environment<T>,
  tasks: readonly T[],
  { name, groupSize, concurrency, onTrajectory, signal, ...options }: GroupsOptions,
): Promise<Group[]> {
  const groups = tasks.map((_, index) => ({ id: `${name}/${index}`, trajectories: new Array<Trajectory>(groupSize) }));
  const places = groups.flatMap((group, index) =>
    Array.from({ length: groupSize }, (_, place) => ({ group, task: tasks[index], place })),
  );
  const failure = new AbortController();
  const anySignal = signal === undefined ? failure.signal : AbortSignal.any([signal, failure.signal]);
  // Every episode in flight listens: that is no leak.
  setMaxListeners(0, anySignal);

  const next = places.values();
  const work = async (): Promise<void> => {
    for (const { group, task, place } of next) {
      const identity = { id: `${group.id}/${place}`, group: group.id, signal: anySignal };
      const trajectory = await rollout(sampler, chat, environment, task, { ...options, ...identity });
      group.trajectories[place] = trajectory;
      onTrajectory?.(trajectory);
    }
  };
  const workers = Array.from({ length: Math.min(concurrency, places.length) }, () =>
    work().catch((error: unknown) => {
      failure.abort(error);
      throw error;
    }),
  );
  const failed = (await Promise.allSettled(workers)).find((worker) => worker.status === "rejected");
  if (failed !== undefined) throw failed.reason;
  return groups;
}
