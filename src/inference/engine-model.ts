import { randomInt } from "node:crypto";
import type { Chat } from "../chat/chat.ts";
import type { Sampler } from "../engines/engine.ts";
import type { InferenceModel } from "./server.ts";

/** A sampler as a model of the server. A request without a seed gets one of its own; without a limit it may fill the context. */
export function engineModel(sampler: Sampler, chat?: Chat): InferenceModel {
  const { maxLength, vocabularySize } = sampler.info;
  return {
    maxLength,
    vocabularySize,
    ...(chat === undefined ? {} : { chat }),
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
