import { z } from "zod";
import type { Chat, ChatContext } from "../chat/chat.ts";
import { parseAction } from "../chat/toolcalls.ts";
import { ModelError } from "../core/errors.ts";
import type { Message, ToolMessage } from "../core/messages.ts";
import { seedOf } from "../core/random.ts";
import type {
  BehaviourCount,
  BranchDecision,
  StopReason,
  ToolFailure,
  Trajectory,
  TrajectoryId,
  Turn,
} from "../core/trajectory.ts";
import type { SampledAction, Sampler } from "../engines/engine.ts";
import type { Environment, Episode, ProtocolAction, Score, Task } from "../environments/environment.ts";
import { callTool, messageOf, type ToolOutcome } from "./call-tool.ts";
import { DeadlineError, withinTime } from "./deadline.ts";

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
export class EpisodeStop extends Error {
  readonly reason: StopReason;
  constructor(reason: StopReason, message: string) {
    super(message);
    this.reason = reason;
  }
}

/** Where an episode stands before its next action. Never changed, so that more than one can go on from it. */
export interface Standing {
  readonly context: ChatContext;
  readonly turns: readonly Turn[];
}

/** How an episode comes to where it begins. */
export interface Beginning {
  /** Where it goes on from; left out for a rollout from the task's start. */
  readonly from?: Standing;
  /** Its environment in the state that belongs to it. What it throws as `EpisodeStop` ends the episode. */
  open(): Promise<Episode>;
}

/** An action that was sampled, before anything is called or told: the environment is still as it was when the action was chosen. */
export interface Moment {
  readonly episode: Episode;
  readonly standing: Standing;
  readonly action: SampledAction;
}

/**
 * Plays one episode to its end. Whatever the environment and its tools do wrong is told by the trajectory, whose reward is then 0.
 * @param onAction looks at every action; what it decides is kept with the turn
 * @throws ModelError if the chat template refuses the first messages; what the sampler throws
 */
export async function playOut(
  sampler: Sampler,
  chat: Chat,
  task: Task,
  { from, open }: Beginning,
  options: RolloutOptions,
  onAction?: (moment: Moment) => BranchDecision | undefined,
): Promise<Trajectory> {
  const { id, group } = options;
  const turns = (from?.turns ?? []).map((turn): Turn => ({ ...turn, trajectory: id }));
  const messages = [...(from?.context.messages ?? [])];
  const kind = task.kind === undefined ? {} : { kind: task.kind };
  const trajectory = { id, group, task: task.id, ...kind, turns, messages };
  let episode: Episode | undefined;
  try {
    episode = await open();
    if (from === undefined) messages.push(...episode.messages);
    const context = from?.context ?? chat.open(episode.messages, episode.protocol === undefined ? episode.tools : []);
    const stopReason = await play(sampler, chat, episode, context, { turns, messages }, options, onAction);
    return { ...trajectory, ...(await score(episode, messages, options)), stopReason };
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
  start: ChatContext,
  { turns, messages }: { readonly turns: Turn[]; readonly messages: Message[] },
  options: RolloutOptions,
  onAction?: (moment: Moment) => BranchDecision | undefined,
): Promise<StopReason> {
  const { stopStrings, maxResponseTokens = Number.POSITIVE_INFINITY } = episode.protocol ?? {};
  const opening = (turns[0]?.context ?? start.ids).length;
  const maxLength = Math.min(sampler.info.maxLength, opening + maxResponseTokens);
  for (let context = start; ; ) {
    const maxTokens = Math.min(options.maxTokens, maxLength - context.ids.length);
    if (maxTokens < 1) {
      if (turns.length > 0) return "max-tokens";
      const lengths = `The first messages take ${context.ids.length} tokens, the model ${sampler.info.maxLength} in all.`;
      throw new EpisodeStop("max-tokens", `${lengths} Shorten the task or use a model with a longer context.`);
    }
    const action = await sampler.sample({
      context: context.ids,
      maxTokens,
      stopTokens: chat.tokenizer.stopTokens,
      ...(stopStrings === undefined ? {} : { stopStrings }),
      seed: seedOf(options.seed, "sample", options.id, turns.length),
      temperature: options.temperature,
      topP: options.topP,
      topK: options.topK,
      cacheKey: options.id,
      signal: options.signal,
    });
    const { tokens, logprobs, entropies, finish, weightVersion } = action;
    const branching = onAction?.({ episode, standing: { context, turns: [...turns] }, action });
    const truncated = finish === "length";
    const parsed = readAction(episode, chat.actionText(tokens), messages);
    messages.push(parsed.message);
    // What a cut off action would have called is not known.
    const answers =
      truncated || parsed.calls.length === 0
        ? { messages: [], invalid: 0, failures: [] }
        : await callTools(episode, parsed, options);
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
      ...(answers.failures.length === 0 ? {} : { toolFailures: answers.failures }),
      ...(branching === undefined ? {} : { branching }),
    });
    if (parsed.goesOn === true) {
      if (turns.length >= options.maxTurns) return "max-turns";
      context = chat.retract(context, tokens, parsed.message);
      continue;
    }
    if (truncated) return "max-tokens";
    const reply =
      parsed.calls.length > 0 ? { done: false as const, messages: answers.messages } : await replyOf(episode, parsed, options);
    if (reply.done) return "done";
    messages.push(...reply.messages);
    if (turns.length >= options.maxTurns) return "max-turns";
    context = extend(chat, episode, context, tokens, parsed, reply.messages);
  }
}

/** A fresh episode. The rollouts of a group begin alike. @throws EpisodeStop */
export function startEpisode<T extends Task>(environment: Environment<T>, task: T, options: RolloutOptions): Promise<Episode> {
  return ask("start", episodeSchema, () => environment.start(task, seedOf(options.seed, "episode", options.group)), options);
}

/** An action as a message and its calls, as the episode's protocol or the chat template's format has them. */
export function readAction({ protocol }: Episode, text: string, conversation: readonly Message[]): ProtocolAction {
  return protocol === undefined ? parseAction(text) : protocol.read(text, conversation);
}

/** What an action is answered: tool messages, or the environment's reply. @throws EpisodeStop */
export async function answersTo(episode: Episode, parsed: ProtocolAction, options: RolloutOptions): Promise<readonly Message[]> {
  if (parsed.calls.length > 0) return (await callTools(episode, parsed, options)).messages;
  if (parsed.goesOn === true) return [];
  const reply = await replyOf(episode, parsed, options);
  return reply.done ? [] : reply.messages;
}

function replyOf(episode: Episode, { message }: ProtocolAction, options: RolloutOptions) {
  return ask("reply", replySchema, () => episode.reply(message), options);
}

/** One tool message for each call, in their order, one after the other: a call may build on the one before it. */
async function callTools(
  episode: Episode,
  { calls }: ProtocolAction,
  { signal }: RolloutOptions,
): Promise<{ readonly messages: readonly ToolMessage[]; readonly invalid: number; readonly failures: readonly ToolFailure[] }> {
  const messages: ToolMessage[] = [];
  const failures: ToolFailure[] = [];
  let invalid = 0;
  for (const call of calls) {
    const outcome: ToolOutcome =
      "error" in call ? { content: `Error: ${call.error}`, valid: false } : await callTool(episode.tools, call, signal);
    if (!outcome.valid) invalid++;
    if (outcome.failure !== undefined && "name" in call) failures.push({ tool: call.name, kind: outcome.failure });
    messages.push({ role: "tool", name: "error" in call ? "tool_call" : call.name, content: outcome.content });
  }
  return { messages, invalid, failures };
}

function extend(
  chat: Chat,
  { protocol }: Episode,
  context: ChatContext,
  action: readonly number[],
  { message }: ProtocolAction,
  answers: readonly Message[],
) {
  if (protocol !== undefined) return chat.resume(context, action, protocol.write(answers), message, answers);
  try {
    return chat.extend(context, action, message, answers);
  } catch (error) {
    // The template took the first messages, so it is this conversation that it cannot render.
    if (error instanceof ModelError) throw new EpisodeStop("environment-error", error.message);
    throw error;
  }
}

async function score(episode: Episode, conversation: readonly Message[], options: RolloutOptions) {
  const { reward, scores = {}, behaviours } = await ask("score", scoreSchema, () => episode.score(conversation), options);
  const wrong = Object.entries({ reward, ...scores }).find(([, value]) => !Number.isFinite(value));
  if (wrong !== undefined)
    throw new EpisodeStop("invalid-reward", `score gave ${wrong[0]} ${wrong[1]}, which is not a finite number`);
  return { reward, scores, ...(behaviours === undefined ? {} : { behaviours: countsOf(behaviours) }) };
}

/** In counts: what was true or false was called for once. */
function countsOf(behaviours: NonNullable<Score["behaviours"]>): Record<string, BehaviourCount> {
  return Object.fromEntries(
    Object.entries(behaviours).map(([name, behaviour]) => [
      name,
      typeof behaviour === "boolean" ? { done: Number(behaviour), called: 1 } : behaviour,
    ]),
  );
}

export async function close(
  episode: Episode | undefined,
  { episodeTimeoutMs }: Pick<RolloutOptions, "episodeTimeoutMs">,
): Promise<void> {
  try {
    await withinTime(() => episode?.close?.(), episodeTimeoutMs);
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
const behaviourSchema = z.union([
  z.boolean(),
  z
    .object({ done: z.int().min(0), called: z.int().min(0) })
    .refine(({ done, called }) => done <= called, { path: ["done"], message: "at most `called`" }),
]);
const scoreSchema = z.object({
  reward: anyNumber,
  scores: z.record(z.string(), anyNumber).optional(),
  behaviours: z.record(z.string(), behaviourSchema).optional(),
});

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
