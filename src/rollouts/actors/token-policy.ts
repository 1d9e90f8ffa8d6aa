import type { Chat } from "../../chat/chat.ts";
import type { ConversationReply, ConversationRequest } from "../../chat/conversation.ts";
import { drawReply, planReply, replyOf, shownTools } from "../../chat/reply.ts";
import { Context, commonPrefix } from "../../core/context.ts";
import { EpisodeStop } from "../../core/episode-stop.ts";
import { seedOf } from "../../core/random.ts";
import type { Turn } from "../../core/trajectory.ts";
import type { SampledAction, SampleRequest, Sampler } from "../../engines/engine.ts";
import type { PolicyAction, PolicyRequest, TokenPolicy } from "../../environments/environment.ts";
import type { RolloutOptions } from "../options.ts";
import { CapturedHistories } from "./captured.ts";

/** Draws actions of an episode, by the number of its request and of the attempt at it. */
function drawing(
  sampler: Sampler,
  { id, seed, draws, maxTurns, maxTokens, temperature = 1, topP = 1, topK = 0 }: RolloutOptions,
  signal: AbortSignal,
) {
  let inFlight = 0;
  return async (
    { context, stopTokens, stopStrings = [], ...request }: PolicyRequest,
    [index, attempt]: readonly [index: number, attempt: number],
    more: Pick<SampleRequest, "mask" | "onToken" | "topLogprobs"> = {},
  ): Promise<SampledAction> => {
    if (index >= maxTurns) throw new EpisodeStop("max-turns", `the episode has ${maxTurns} actions (rollout.maxTurns)`);
    signal.throwIfAborted();
    // Requests of one episode may overlap, where several agents play; a row of the cache belongs to one at a time.
    const cacheKey = inFlight++ === 0 ? { cacheKey: id } : {};
    try {
      const action = await sampler.sample({
        context,
        maxTokens: Math.min(maxTokens, request.maxTokens, sampler.info.maxLength - context.length),
        stopTokens,
        ...(stopStrings.length === 0 ? {} : { stopStrings }),
        seed: seedOf(seed, "sample", draws?.id ?? id, index, ...(attempt === 0 ? [] : [attempt])),
        ...{ temperature, topP, topK, signal, ...cacheKey, ...more },
      });
      signal.throwIfAborted(); // the episode is over: an answer would be one of its turns no more
      return action;
    } finally {
      inFlight--;
    }
  };
}

/** Appends an action to the turns of an episode, as it was sampled. */
function keep(
  turns: Turn[],
  action: SampledAction,
  turn: Pick<Turn, "trajectory" | "context" | "rewritten" | "toolCalls" | "invalidToolCalls">,
): void {
  turns.push({
    turn: turns.length,
    action: action.tokens,
    samplerLogprobs: action.logprobs,
    ...(action.masked === undefined ? {} : { masked: action.masked }),
    entropies: action.entropies,
    weightVersion: action.weightVersion,
    truncated: action.finish === "length",
    ...turn,
  });
}

/**
 * A model that is sampled in token ids or in messages, for an environment that holds the conversation itself.
 * @param turns gets one for each action, its context and ids as they were sampled
 */
export function tokenPolicy(
  sampler: Sampler,
  chat: Chat,
  options: RolloutOptions,
  turns: Turn[],
  signal: AbortSignal,
): TokenPolicy {
  const { id, maxTokens, temperature = 1, topP = 1, topK = 0 } = options;
  const { maxLength, vocabularySize, capabilities } = sampler.info;
  const canMask = capabilities.includes("masked-sampling");
  const histories = new CapturedHistories(chat);
  const act = drawing(sampler, options, signal);
  let requests = 0;
  let redrawn = 0;
  const sample = async (request: PolicyRequest): Promise<PolicyAction> => {
    const { context } = request;
    const action = await act(request, [requests++, 0]);
    const before = turns.at(-1);
    const previous = before === undefined ? undefined : Context.from(before.context).extend(before.action);
    const rewritten = previous !== undefined && commonPrefix(previous, context) < previous.length;
    const branch = previous?.branch(context) ?? Context.of(context);
    keep(turns, action, { trajectory: id, context: branch, rewritten, toolCalls: 0, invalidToolCalls: 0 });
    return { tokens: action.tokens, logprobs: action.logprobs, finish: action.finish };
  };
  const converse = async (request: ConversationRequest): Promise<ConversationReply> => {
    const { maxTokens: ownMax = maxTokens, topLogprobs } = request;
    const conversation = histories.contextOf(request);
    const { context } = conversation;
    if (context.ids.length >= maxLength)
      throw new EpisodeStop("max-tokens", `the conversation has ${context.ids.length} tokens, the model ${maxLength}`);
    const { stopTokens, stopStrings, read, close, fits, ...sampling } = await planReply(chat, request, context, canMask);
    try {
      const index = requests++;
      const next = { context: context.ids.slice(), maxTokens: ownMax, stopTokens, stopStrings };
      const more = { ...sampling, ...(topLogprobs === undefined ? {} : { topLogprobs }) };
      const action = await drawReply({ fits, mask: sampling.mask }, temperature, (attempt) => {
        redrawn += Number(attempt > 0);
        return act(next, [index, attempt], more);
      });
      const { message, toolCalls, invalidToolCalls } = read(action);
      histories.keep(conversation, { action: action.tokens, message }, turns.length);
      keep(turns, action, { trajectory: id, context: context.ids, rewritten: context.rewritten, toolCalls, invalidToolCalls });
      return replyOf(message, action, context.ids);
    } finally {
      close();
    }
  };
  const decode = (tokens: readonly number[]) => chat.tokenizer.decode(tokens);
  const count = (request: ConversationRequest) => chat.open(request.messages, shownTools(request)).ids.length;
  const settings = { episode: id, maxLength, vocabularySize, maxTokens, temperature, topP, topK, canMask, signal };
  const captured = () => {
    const { counts, ...rest } = histories.captured();
    return { ...rest, counts: canMask && redrawn === 0 ? counts : { ...counts, redrawn } };
  };
  return { ...settings, decode, count, sample, converse, captured };
}
