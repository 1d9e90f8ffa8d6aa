import type { Chat, ChatContext } from "../chat/chat.ts";
import { ModelError } from "../core/errors.ts";
import type { Message } from "../core/messages.ts";
import { seedOf } from "../core/random.ts";
import type { BranchDecision, StopReason, Trajectory, Turn } from "../core/trajectory.ts";
import type { SampledAction, Sampler } from "../engines/engine.ts";
import type { Task } from "../environments/environment.ts";
import { type Answers, afterCalls, callTools, type Live, replyTo } from "./answers.ts";
import { askScore, close } from "./ask.ts";
import { type Dialogue, dialogueOf } from "./dialogue.ts";
import { EpisodeStop, type RolloutOptions } from "./options.ts";

/** Where an episode stands before its next action. Never changed, so that more than one can continue from it. */
export interface Standing {
  readonly context: ChatContext;
  readonly turns: readonly Turn[];
  /** The conversation so far. */
  readonly messages: readonly Message[];
}

/** How an episode comes to where it begins. */
export interface Beginning {
  /** Where it continues from; absent for a rollout from the task's start. */
  readonly from?: Standing;
  /** Its environment in the state that belongs to it. What it throws as `EpisodeStop` ends the episode. */
  open(): Promise<Live>;
}

/** An action that was sampled, before anything is called or told: the environment is still as it was when the action was chosen. */
export interface Moment {
  readonly live: Live;
  readonly standing: Standing;
  readonly action: SampledAction;
}

/** Looks at every action; its decision is kept with the turn. */
export type OnAction = (moment: Moment) => BranchDecision | undefined | Promise<BranchDecision | undefined>;

/**
 * Plays one episode to its end. A fault of the environment or its tools is recorded on the trajectory, whose reward is then 0.
 * @throws ModelError if the chat template refuses the first messages; EnvError for a protocol of version 0.1; what the sampler throws
 */
export async function playOut(
  sampler: Sampler,
  chat: Chat,
  task: Task,
  { from, open }: Beginning,
  options: RolloutOptions,
  onAction?: OnAction,
): Promise<Trajectory> {
  const { id, group } = options;
  const turns = (from?.turns ?? []).map((turn): Turn => ({ ...turn, trajectory: id }));
  const messages = [...(from?.messages ?? [])];
  const trajectory = { id, group, task: task.id, ...(task.kind === undefined ? {} : { kind: task.kind }), messages };
  const failed = () => ({ ...trajectory, turns: turns.map(unrewarded), reward: 0, scores: {} });
  let live: Live | undefined;
  try {
    live = await open();
    const { episode, tools } = live;
    const dialogue = dialogueOf(chat, episode.protocol);
    if (from === undefined) messages.push(...episode.messages);
    const context = from?.context ?? dialogue.open(episode.messages, tools);
    const stopReason = await play(sampler, chat, dialogue, live, context, { turns, messages }, options, onAction);
    const score = await askScore(episode, messages, options);
    const reward = turns.reduce((sum, turn) => sum + (turn.reward ?? 0), score.reward);
    return { ...trajectory, turns, ...score, reward, stopReason };
  } catch (stop) {
    if (options.signal?.aborted) return { ...failed(), stopReason: "cancelled" };
    if (stop instanceof EpisodeStop) return { ...failed(), stopReason: stop.reason, error: stop.message };
    throw stop;
  } finally {
    sampler.release(id);
    await close(live?.episode, options);
  }
}

/** The return of a failed episode is 0, and so are its turns'. */
function unrewarded({ reward: _, ...turn }: Turn): Turn {
  return turn;
}

/** @returns why the episode ended, where it ended as it may */
async function play(
  sampler: Sampler,
  chat: Chat,
  dialogue: Dialogue,
  start: Live,
  first: ChatContext,
  { turns, messages }: { readonly turns: Turn[]; readonly messages: Message[] },
  options: RolloutOptions,
  onAction?: OnAction,
): Promise<StopReason> {
  const { stopStrings, maxResponseTokens } = dialogue;
  const opening = (turns[0]?.context ?? first.ids).length;
  const maxLength = Math.min(sampler.info.maxLength, opening + maxResponseTokens);
  let live = start;
  for (let context = first; ; ) {
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
      ...(stopStrings === undefined || stopStrings.length === 0 ? {} : { stopStrings }),
      seed: seedOf(options.seed, "sample", options.draws?.id ?? options.id, turns.length),
      temperature: options.temperature,
      topP: options.topP,
      topK: options.topK,
      cacheKey: options.id,
      signal: options.signal,
    });
    const { tokens, logprobs, entropies, finish, weightVersion } = action;
    const decided = onAction?.({ live, standing: { context, turns: [...turns], messages: [...messages] }, action });
    const branching = decided instanceof Promise ? await decided : decided;
    const truncated = finish === "length";
    const read = dialogue.read(chat.actionText(tokens), messages, live.tools);
    messages.push(read.message);
    // The calls of an action that was cut off are not known.
    const results = truncated || read.calls.length === 0 ? undefined : await callTools(live, read, options);
    const invalid = results?.invalid ?? 0;
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
      toolCalls: (results?.messages.length ?? 0) - invalid,
      invalidToolCalls: invalid,
      ...(results === undefined || results.failures.length === 0 ? {} : { toolFailures: results.failures }),
      ...(branching === undefined ? {} : { branching }),
    });
    if (read.goesOn === true) {
      if (limitReached(live, turns, messages, options)) return "max-turns";
      context = chat.retract(context, tokens, read.message);
      continue;
    }
    if (truncated) return "max-tokens";
    const answers: Answers =
      results === undefined ? await replyTo(live, read, options) : await afterCalls(live, read, results, options);
    messages.push(...answers.messages);
    if (answers.reward !== undefined) turns[turns.length - 1] = { ...turns[turns.length - 1], reward: answers.reward };
    if (answers.done) return "done";
    if (limitReached(live, turns, messages, options)) return "max-turns";
    context = extended(() => dialogue.extend(context, tokens, read.message, answers.messages, answers.tools));
    live = { ...live, tools: answers.tools };
  }
}

/** True if there is no turn left, of the episode or of the user's last request. */
function limitReached(
  { episode: { limits } }: Live,
  turns: readonly Turn[],
  messages: readonly Message[],
  { maxTurns, maxTurnsPerRequest = Number.POSITIVE_INFINITY }: RolloutOptions,
): boolean {
  if (turns.length >= Math.min(maxTurns, limits?.turns ?? maxTurns)) return true;
  const perRequest = Math.min(maxTurnsPerRequest, limits?.turnsPerRequest ?? maxTurnsPerRequest);
  if (turns.length < perRequest) return false;
  const request = messages.findLastIndex(({ role }) => role === "user");
  return messages.slice(request + 1).filter(({ role }) => role === "assistant").length >= perRequest;
}

function extended(extend: () => ChatContext): ChatContext {
  try {
    return extend();
  } catch (error) {
    // The template took the first messages, so it is this conversation that it cannot render.
    if (error instanceof ModelError) throw new EpisodeStop("environment-error", error.message);
    throw error;
  }
}
