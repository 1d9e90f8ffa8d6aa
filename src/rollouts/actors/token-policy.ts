import type { Chat } from "../../chat/chat.ts";
import { Context, commonPrefix } from "../../core/context.ts";
import { seedOf } from "../../core/random.ts";
import type { Turn } from "../../core/trajectory.ts";
import type { Sampler } from "../../engines/engine.ts";
import type { PolicyAction, PolicyRequest, TokenPolicy } from "../../environments/environment.ts";
import { EpisodeStop, type RolloutOptions } from "../options.ts";

/**
 * A model that is sampled in token ids, for an environment that holds the conversation itself.
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
  let asked = 0;
  let inFlight = 0;
  const sample = async (request: PolicyRequest): Promise<PolicyAction> => {
    const index = asked++;
    if (index >= maxTurns) throw new EpisodeStop("max-turns", `the episode has ${maxTurns} actions (rollout.maxTurns)`);
    signal.throwIfAborted();
    // Requests of one episode may overlap, where several agents play; a row of the cache belongs to one at a time.
    const cacheKey = inFlight++ === 0 ? { cacheKey: id } : {};
    try {
      const { context, stopTokens, stopStrings = [] } = request;
      const { tokens, logprobs, entropies, finish, weightVersion } = await sampler.sample({
        context,
        maxTokens: Math.min(maxTokens, request.maxTokens, maxLength - context.length),
        stopTokens,
        ...(stopStrings.length === 0 ? {} : { stopStrings }),
        seed: seedOf(seed, "sample", draws?.id ?? id, index),
        ...{ temperature, topP, topK, signal, ...cacheKey },
      });
      const before = turns.at(-1);
      const told = before === undefined ? undefined : Context.from(before.context).extend(before.action);
      turns.push({
        trajectory: id,
        turn: turns.length,
        context: told?.branch(context) ?? Context.of(context),
        action: tokens,
        samplerLogprobs: logprobs,
        entropies,
        weightVersion,
        rewritten: told !== undefined && commonPrefix(told, context) < told.length,
        truncated: finish === "length",
        toolCalls: 0,
        invalidToolCalls: 0,
      });
      return { tokens, logprobs, finish };
    } finally {
      inFlight--;
    }
  };
  const decode = (tokens: readonly number[]) => chat.tokenizer.decode(tokens);
  return { maxLength, vocabularySize, maxTokens, temperature, topP, topK, signal, decode, sample };
}
