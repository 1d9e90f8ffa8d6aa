import type { Chat } from "../../chat/chat.ts";
import { Context, commonPrefix } from "../../core/context.ts";
import type { AssistantMessage } from "../../core/messages.ts";
import { seedOf } from "../../core/random.ts";
import type { Turn } from "../../core/trajectory.ts";
import type { SampledAction, Sampler } from "../../engines/engine.ts";
import type {
  ConversationReply,
  ConversationRequest,
  PolicyAction,
  PolicyRequest,
  TokenPolicy,
} from "../../environments/environment.ts";
import { schemasOf } from "../dialogue.ts";
import { EpisodeStop, type RolloutOptions } from "../options.ts";
import { CapturedHistories } from "./captured.ts";

/**
 * A model that is sampled in token ids or in messages, for an environment that holds the conversation itself.
 * @param turns gets one for each action, its context and ids as they were sampled
 */
export function tokenPolicy(
  sampler: Sampler,
  chat: Chat,
  { id, seed, draws, maxTurns, maxTokens, temperature = 1, topP = 1, topK = 0 }: RolloutOptions,
  turns: Turn[],
  signal: AbortSignal,
): TokenPolicy {
  const { maxLength, vocabularySize } = sampler.info;
  const histories = new CapturedHistories(chat);
  let asked = 0;
  let inFlight = 0;
  const act = async ({ context, stopTokens, stopStrings = [], ...request }: PolicyRequest): Promise<SampledAction> => {
    const index = asked++;
    if (index >= maxTurns) throw new EpisodeStop("max-turns", `the episode has ${maxTurns} actions (rollout.maxTurns)`);
    signal.throwIfAborted();
    // Requests of one episode may overlap, where several agents play; a row of the cache belongs to one at a time.
    const cacheKey = inFlight++ === 0 ? { cacheKey: id } : {};
    try {
      const action = await sampler.sample({
        context,
        maxTokens: Math.min(maxTokens, request.maxTokens, maxLength - context.length),
        stopTokens,
        ...(stopStrings.length === 0 ? {} : { stopStrings }),
        seed: seedOf(seed, "sample", draws?.id ?? id, index),
        ...{ temperature, topP, topK, signal, ...cacheKey },
      });
      signal.throwIfAborted(); // the episode is over: an answer would be one of its turns no more
      return action;
    } finally {
      inFlight--;
    }
  };
  const keep = (
    action: SampledAction,
    context: Context,
    rewritten: boolean,
    calls: Pick<Turn, "toolCalls" | "invalidToolCalls">,
  ) =>
    turns.push({
      trajectory: id,
      turn: turns.length,
      context,
      action: action.tokens,
      samplerLogprobs: action.logprobs,
      entropies: action.entropies,
      weightVersion: action.weightVersion,
      rewritten,
      truncated: action.finish === "length",
      ...calls,
    });
  const sample = async (request: PolicyRequest): Promise<PolicyAction> => {
    const { context } = request;
    const action = await act(request);
    const before = turns.at(-1);
    const told = before === undefined ? undefined : Context.from(before.context).extend(before.action);
    const rewritten = told !== undefined && commonPrefix(told, context) < told.length;
    keep(action, told?.branch(context) ?? Context.of(context), rewritten, { toolCalls: 0, invalidToolCalls: 0 });
    return { tokens: action.tokens, logprobs: action.logprobs, finish: action.finish };
  };
  const converse = async (request: ConversationRequest): Promise<ConversationReply> => {
    const { messages, tools = [], maxTokens: most = maxTokens, stopStrings: own = [] } = request;
    if (tools.length > 0) chat.calls();
    const context = histories.contextOf(messages, tools);
    if (context.ids.length >= maxLength)
      throw new EpisodeStop("max-tokens", `the conversation has ${context.ids.length} tokens, the model ${maxLength}`);
    const action = await act({
      context: context.ids.slice(),
      maxTokens: most,
      stopTokens: chat.tokenizer.stopTokens,
      stopStrings: [...(tools.length === 0 ? [] : (chat.stopStrings ?? [])), ...own],
    });
    const { message, toolCalls, invalidToolCalls } = readMessage(chat, action, request);
    histories.keep(messages, { context, action: action.tokens, message });
    keep(action, context.ids, context.rewritten, { toolCalls, invalidToolCalls });
    return { message, finish: action.finish, promptTokens: context.ids.length, completionTokens: action.tokens.length };
  };
  const decode = (tokens: readonly number[]) => chat.tokenizer.decode(tokens);
  return { maxLength, vocabularySize, maxTokens, temperature, topP, topK, signal, decode, sample, converse };
}

/** Reads an action as the message that the agent gets: text up to a stop string of its own, and calls unless one of them cannot be read. */
function readMessage(
  chat: Chat,
  { tokens, finish }: SampledAction,
  { messages, tools = [], stopStrings = [] }: ConversationRequest,
) {
  const whole = chat.actionText(tokens);
  const ends = stopStrings.map((stop) => whole.indexOf(stop)).filter((at) => at !== -1);
  const text = whole.slice(0, Math.min(...ends, whole.length));
  const plain: AssistantMessage = { role: "assistant", content: text };
  // The calls of an action that was cut off are not known.
  if (tools.length === 0 || finish === "length") return { message: plain, toolCalls: 0, invalidToolCalls: 0 };
  const { message, calls } = chat.read(text, messages, schemasOf(tools));
  const read = calls.filter((call) => "name" in call);
  if (read.length < calls.length) return { message: plain, toolCalls: 0, invalidToolCalls: calls.length };
  const { toolCalls: _, ...said } = message;
  return { message: { ...said, ...(read.length === 0 ? {} : { toolCalls: read }) }, toolCalls: read.length, invalidToolCalls: 0 };
}
