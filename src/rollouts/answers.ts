import type { ReadAction } from "../actions/action.ts";
import { unreadableName } from "../chat/template.ts";
import type { Message, ToolCall, ToolMessage } from "../core/messages.ts";
import type { ToolFailure } from "../core/trajectory.ts";
import type { CallAnswer, Episode, Step } from "../environments/environment.ts";
import type { Tool } from "../tools/tool.ts";
import { ask, callAnswerSchema, replySchema, requireFinite, stepSchema } from "./ask.ts";
import { callTool } from "./call-tool.ts";
import type { RolloutOptions } from "./options.ts";

/** An episode and the tools that it has at the moment. */
export interface OpenEpisode {
  readonly episode: Episode;
  readonly tools: readonly Tool[];
}

/** An episode as it begins, or as it was copied. */
export function opened(episode: Episode): OpenEpisode {
  return { episode, tools: episode.tools };
}

/** The answers to an action. */
export interface Answers {
  /** In the order in which the model reads them. */
  readonly messages: readonly Message[];
  readonly done: boolean;
  /** The tools from now on. */
  readonly tools: readonly Tool[];
  /** The role that acts next, and the tools that it was given, where the environment names it. */
  readonly next?: { readonly role: string; readonly tools: readonly Tool[] | undefined };
  /** Undefined if none was given. */
  readonly reward: number | undefined;
}

/** Tool messages, and what else the calls led to. */
export interface CallResults {
  readonly messages: readonly ToolMessage[];
  readonly invalid: number;
  readonly failures: readonly ToolFailure[];
  readonly reward: number | undefined;
  readonly done: boolean;
}

/** Answers an action whose results do not matter for themselves: its calls, or the message. @throws EpisodeStop */
export async function answersTo(live: OpenEpisode, action: ReadAction, options: RolloutOptions): Promise<Answers> {
  if (action.goesOn === true) return { messages: [], done: false, tools: live.tools, reward: undefined };
  if (action.calls.length === 0) return replyTo(live, action, options);
  return afterCalls(live, action, await callTools(live, action, options), options);
}

/** Makes the calls in their order, one after the other: a call may build on the one before it. @throws EpisodeStop */
export async function callTools(live: OpenEpisode, { calls }: ReadAction, options: RolloutOptions): Promise<CallResults> {
  const messages: ToolMessage[] = [];
  const failures: ToolFailure[] = [];
  let invalid = 0;
  let reward: number | undefined;
  for (const call of calls) {
    const outcome: CallAnswer & { readonly lost?: string } =
      "error" in call ? { content: `Error: ${call.error}`, valid: false } : await answerCall(live, call, options);
    if (outcome.valid === false) invalid++;
    const { failure, lost } = outcome;
    if (failure !== undefined && "name" in call)
      failures.push({ tool: call.name, kind: failure, ...(lost === undefined ? {} : { lost }) });
    messages.push({ role: "tool", name: "error" in call ? unreadableName : call.name, ...idOf(call), content: outcome.content });
    reward = sumOf(reward, outcome.reward, "call gave reward");
    if (outcome.done === true) return { messages, invalid, failures, reward, done: true };
  }
  return { messages, invalid, failures, reward, done: false };
}

/** The episode answers itself, or the tool does. */
async function answerCall({ episode, tools }: OpenEpisode, call: ToolCall, options: RolloutOptions): Promise<CallAnswer> {
  const own = episode.call?.bind(episode);
  const answer = own && (await ask("call", callAnswerSchema, (signal) => own(call, { signal }), options));
  if (answer !== undefined) return typeof answer === "string" ? { content: answer } : answer;
  return callTool(tools, call, options.signal);
}

/** The episode's own part, once the calls are answered. @throws EpisodeStop */
export async function afterCalls(
  live: OpenEpisode,
  { message }: ReadAction,
  { messages, reward, done }: CallResults,
  options: RolloutOptions,
): Promise<Answers> {
  const after = live.episode.afterTools?.bind(live.episode);
  if (after === undefined) return { messages, done, tools: live.tools, reward };
  const step = (await ask("afterTools", stepSchema, () => after(messages, message), options)) ?? {};
  const answers = answersOf(live, step, "afterTools");
  return {
    ...answers,
    messages: [...messages, ...answers.messages],
    done: done || answers.done,
    reward: sumOf(reward, answers.reward, "afterTools gave reward"),
  };
}

/** The environment's reply to a message without calls. @throws EpisodeStop */
export async function replyTo(live: OpenEpisode, { message }: ReadAction, options: RolloutOptions): Promise<Answers> {
  return answersOf(live, await ask("reply", replySchema, () => live.episode.reply(message), options), "reply");
}

function answersOf(live: OpenEpisode, { messages = [], done = false, tools, reward, role }: Step, who: string): Answers {
  if (reward !== undefined) requireFinite(`${who} gave reward`, reward);
  return { messages, done, tools: tools ?? live.tools, reward, ...(role !== undefined && { next: { role, tools } }) };
}

function sumOf(a: number | undefined, b: number | undefined, what: string): number | undefined {
  if (b === undefined) return a;
  requireFinite(what, b);
  return (a ?? 0) + b;
}

/** Ids that a call brought are answered by them; others are made where a template needs them. */
function idOf(call: ReadAction["calls"][number]): { readonly callId?: string } {
  return "name" in call && call.id !== undefined ? { callId: call.id } : {};
}
