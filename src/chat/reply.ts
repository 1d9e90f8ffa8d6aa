import { readReasoned } from "../actions/action.ts";
import type { Tokens } from "../core/context.ts";
import { ModelError } from "../core/errors.ts";
import type { AssistantMessage } from "../core/messages.ts";
import { present } from "../core/present.ts";
import type { DrawnToken, TokenId } from "../core/trajectory.ts";
import { parametersAsJsonSchema } from "../tools/tool.ts";
import { callSyntax } from "./call-deltas.ts";
import type { Chat, ChatContext } from "./chat.ts";
import type { ConversationReply, ConversationRequest } from "./conversation.ts";
import { Deltas } from "./deltas.ts";
import { hasForm, isFiniteJson } from "./form.ts";
import { type GrammarMask, openingOf } from "./grammar.ts";

/** How the next message of a conversation is sampled and read. */
export interface ReplyPlan {
  readonly stopTokens: readonly TokenId[];
  readonly stopStrings: readonly string[];
  readonly mask?: GrammarMask;
  /** Whether an action has the requested form, where the engine cannot sample under a mask that holds all of it. */
  readonly fits?: (action: SampledTokens) => boolean;
  readonly onToken?: (drawn: DrawnToken) => void;
  /** Reads an action as the message that the program gets, and gives the rest of its deltas. */
  read(action: SampledTokens & TokenLogprobs): ReadReply;
  /** Called once the action is sampled, or cannot be. */
  close(): void;
}

interface SampledTokens {
  readonly tokens: readonly TokenId[];
  readonly finish: "stop" | "length";
}

export interface ReadReply {
  readonly message: AssistantMessage;
  readonly toolCalls: number;
  readonly invalidToolCalls: number;
}

/**
 * Plans a reply.
 * @param context of the reply
 * @param canMask whether the engine has the capability "masked-sampling"
 * @throws ModelError for tools of a template that shows no calls, and under masks for a form that has no grammar
 */
export async function planReply(
  chat: Chat,
  request: ConversationRequest,
  context: ChatContext,
  canMask: boolean,
): Promise<ReplyPlan> {
  const { stopStrings: own = [], onDelta } = request;
  const tools = shownTools(request);
  if (tools.length > 0) chat.calls();
  const mask = canMask ? await chat.grammars.mask({ ...request, tools }) : undefined;
  const isHeld = canMask && (mask === undefined || mask.loose.length === 0);
  // An action that a limit cut off has no form, under a mask neither.
  const fits = (action: SampledTokens) => {
    if (action.finish === "length") return true;
    const { message } = readReply(chat, action, request);
    return isHeld ? isFiniteJson(message.content) : hasForm({ ...request, tools }, message);
  };
  const deltas =
    onDelta &&
    new Deltas({
      decode: chat.actionText,
      emit: onDelta,
      stops: own,
      opening: tools.length === 0 ? undefined : openingOf(chat.calls()),
      syntax: tools.length === 0 || request.wholeCalls ? undefined : callSyntax(chat.calls()),
      thinking: context.text.trimEnd().endsWith("<think>"),
    });
  return {
    stopTokens: chat.tokenizer.stopTokens,
    stopStrings: [...(tools.length === 0 ? [] : (chat.stopStrings ?? [])), ...own],
    ...(mask === undefined ? {} : { mask }),
    ...(isHeld && (request.form === undefined || deltas !== undefined) ? {} : { fits }),
    // An action that may be redrawn is not shown before it is whole.
    ...(deltas === undefined || !isHeld ? {} : { onToken: (drawn) => deltas.push(drawn) }),
    read: (action) => {
      const read = readReply(chat, action, request);
      if (deltas === undefined) return read;
      // An engine elsewhere gives all tokens at the end.
      for (let i = deltas.length; i < action.tokens.length; i++) deltas.push(drawnToken(action, i));
      return { ...read, message: deltas.end(read.message) };
    },
    close: () => mask?.close(),
  };
}

/** Draws for one answer, where its form is not sampled under a mask. */
const maxDraws = 8;

/**
 * Samples a reply. An action that misses its form is redrawn: from the distribution of actions that have it.
 * @param sample draws an action; the attempt, from 0, is part of its seed
 * @throws ModelError if no draw has the form
 */
export async function drawReply<A extends SampledTokens>(
  { fits, mask }: Pick<ReplyPlan, "fits" | "mask">,
  temperature: number,
  sample: (attempt: number) => Promise<A>,
): Promise<A> {
  const draws = fits === undefined || temperature === 0 ? 1 : maxDraws;
  for (let attempt = 0; attempt < draws; attempt++) {
    if (attempt > 0) mask?.restart();
    const action = await sample(attempt);
    if (fits?.(action) ?? true) return action;
  }
  const without =
    mask === undefined
      ? "This engine has no sampling under a grammar"
      : `No grammar holds ${mask.loose.join(", ") || "the size of a number"}`;
  throw new ModelError("the form of an answer", `missed in ${draws} ${draws === 1 ? "draw" : "draws"}`, {
    expected: "the schema, the call or the JSON that was asked for",
    hint: `${without}: the model has to know the form. Teach it by demonstrations, or ask for a form that a grammar holds on the local engine.`,
  });
}

/** The tools that the model is shown. */
export function shownTools({ tools = [], toolChoice }: Pick<ConversationRequest, "tools" | "toolChoice">) {
  return toolChoice === "none" ? [] : tools;
}

/** Reads an action: text up to a stop string of the program's own, and calls unless one of them cannot be read. */
function readReply(chat: Chat, { tokens, finish }: SampledTokens, request: ConversationRequest): ReadReply {
  const { messages, stopStrings = [] } = request;
  const tools = shownTools(request);
  const whole = chat.actionText(tokens);
  const ends = stopStrings.map((stop) => whole.indexOf(stop)).filter((at) => at !== -1);
  const text = whole.slice(0, Math.min(...ends, whole.length));
  // The calls of an action that was cut off are not known.
  if (tools.length === 0 || finish === "length") return { message: plain(text), toolCalls: 0, invalidToolCalls: 0 };
  const schemaOf = (name: string) => {
    const tool = tools.find((each) => each.name === name);
    return tool === undefined ? undefined : parametersAsJsonSchema(tool);
  };
  const { message, calls } = chat.read(text, messages, schemaOf);
  const read = calls.filter((call) => "name" in call);
  if (read.length < calls.length) return { message: plain(text), toolCalls: 0, invalidToolCalls: calls.length };
  const { toolCalls: _, ...said } = message;
  return { message: { ...said, ...(read.length === 0 ? {} : { toolCalls: read }) }, toolCalls: read.length, invalidToolCalls: 0 };
}

/** A reply, with the ids behind it. */
export function replyOf(
  message: AssistantMessage,
  { tokens, logprobs, finish, topLogprobs, topTokens }: SampledTokens & TokenLogprobs,
  context: Tokens,
): ConversationReply {
  const top = topTokens?.map((_, i) => topOf({ topLogprobs, topTokens }, i));
  const sampled = { context, action: tokens, logprobs, ...(top === undefined ? {} : { top }) };
  return { message, finish, promptTokens: context.length, completionTokens: tokens.length, sampled };
}

interface TokenLogprobs {
  readonly logprobs: readonly number[];
  readonly topLogprobs?: readonly (readonly number[])[];
  readonly topTokens?: readonly (readonly TokenId[])[];
}

function drawnToken({ tokens, logprobs, ...tops }: SampledTokens & TokenLogprobs, index: number): DrawnToken {
  const top = tops.topTokens === undefined ? {} : { top: topOf(tops, index) };
  return { token: present(tokens[index], "a sampled token"), logprob: present(logprobs[index], "its log-prob"), ...top };
}

function topOf({ topTokens, topLogprobs }: Pick<TokenLogprobs, "topTokens" | "topLogprobs">, index: number) {
  return { tokens: topTokens?.[index] ?? [], logprobs: topLogprobs?.[index] ?? [] };
}

function plain(text: string): AssistantMessage {
  const { message } = readReasoned(text, (content) => ({ content, calls: [] }));
  return message.reasoning === undefined ? { role: "assistant", content: text } : message;
}
