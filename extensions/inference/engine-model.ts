import { randomInt } from "node:crypto";
import type { Chat } from "../../src/chat/chat.ts";
import { drawReply, planReply, replyOf, shownTools } from "../../src/chat/reply.ts";
import { seedOf } from "../../src/core/random.ts";
import type { Sampler } from "../../src/engines/engine.ts";
import { HttpError } from "../http/http-error.ts";
import type { ChatModel, InferenceModel } from "./model.ts";
import type { Sampling } from "./parsed-request.ts";
import { maxBytes, type Prompt, Prompts } from "./prompts.ts";
import { ThreadMasks } from "./thread-masks.ts";

/**
 * A sampler as a model of the server. A request without a seed gets one of its own; without a limit it may fill the context.
 * @param folder of the model, for prompts and grammars of clients that are not known
 * @param seed of the draws of conversations: equal ones get the same seeds in the order in which they come. Default: none are repeated
 */
export function engineModel(sampler: Sampler, chat?: Chat, folder?: string, seed?: number): InferenceModel {
  const { maxLength, vocabularySize } = sampler.info;
  return {
    maxLength,
    vocabularySize,
    ...(chat === undefined ? {} : { chat: chatModel(sampler, chat, folder, seedsOf(seed)) }),
    ...(chat === undefined || folder === undefined ? {} : { maxBytes: maxBytes(chat, maxLength) }),
    sample: ({ context, maxTokens, stopTokens, stopStrings, temperature, topP, topK, seed }, signal) =>
      sampler.sample({
        context,
        maxTokens: Math.min(maxTokens ?? maxLength, maxLength - context.length),
        stopTokens,
        ...(stopStrings.length === 0 ? {} : { stopStrings }),
        seed: seed ?? randomInt(2 ** 31),
        ...{ temperature, topP, topK, signal },
      }),
  };
}

/** Seeds of requests that bring none: by the content of each, however many run at a time. */
function seedsOf(seed: number | undefined): (context: readonly number[]) => number {
  if (seed === undefined) return () => randomInt(2 ** 31);
  const times = new Map<number, number>();
  return (context) => {
    const content = seedOf(seed, context.join());
    const before = times.get(content) ?? 0;
    times.set(content, before + 1);
    return seedOf(content, before);
  };
}

function chatModel(sampler: Sampler, known: Chat, folder: string | undefined, ownSeed: ReturnType<typeof seedsOf>): ChatModel {
  const chat = folder === undefined ? known : { ...known, grammars: new ThreadMasks(folder, known.tokenizer.size) };
  const { maxLength, capabilities } = sampler.info;
  const canMask = capabilities.includes("masked-sampling");
  const prompts = new Prompts(chat, maxLength, folder);
  /** Several answers to one request have one prompt. */
  const made = new WeakMap<object, Promise<Prompt>>();
  return {
    decode: (tokens) => chat.tokenizer.decode(tokens),
    count: async (request, signal) => (await prompts.open(request.messages, shownTools(request), "", signal)).context.ids.length,
    converse: async (request, { sampling, continuesLast, index, signal }) => {
      requireNone(sampling);
      const last = request.messages.at(-1);
      const continued = continuesLast === true && last?.role === "assistant" ? last.content : undefined;
      const messages = continued === undefined ? request.messages : request.messages.slice(0, -1);
      const open = () => prompts.open(messages, shownTools(request), continued ?? "", signal);
      const making = made.get(request.messages) ?? open();
      made.set(request.messages, making);
      const prompt = await making;
      const { context } = prompt;
      const ids = [...context.ids, ...prompt.continued];
      requireRoom(ids.length, maxLength);
      const plan = await planReply(chat, request, context, canMask);
      const { stopTokens, stopStrings, mask, onToken, read, close } = plan;
      const { temperature, topP, topK, seed = ownSeed(ids) } = sampling;
      try {
        const action = await drawReply(plan, temperature ?? 1, (attempt) =>
          sampler.sample({
            context: ids,
            maxTokens: Math.min(request.maxTokens ?? maxLength, maxLength - ids.length),
            stopTokens,
            ...(stopStrings.length === 0 ? {} : { stopStrings }),
            seed: attempt === 0 ? seed + index : seedOf(seed + index, "draw", attempt),
            ...{ temperature, topP, topK, signal, mask, onToken, topLogprobs: request.topLogprobs },
          }),
        );
        return replyOf(read(action).message, action, context.ids.extend(ids.slice(context.ids.length)));
      } finally {
        close();
      }
    },
  };
}

function requireNone({ others }: Sampling): void {
  for (const [name, value] of Object.entries(others))
    throw new HttpError(400, name, value, { expected: "none: this server does not have it", code: "unsupported_parameter" });
}

/** @throws HttpError (400) for a context that leaves no room */
export function requireRoom(length: number, maxLength: number): void {
  if (length < maxLength) return;
  throw new HttpError(400, "messages", `${length} tokens`, {
    expected: `less than the maximum context length of ${maxLength} tokens`,
    code: "context_length_exceeded",
  });
}
