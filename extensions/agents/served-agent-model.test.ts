import { expect, test } from "vitest";
import type { ConversationRequest } from "../../src/chat/conversation.ts";
import type { GenerateRequest } from "../inference/generate.ts";
import type { ConverseOptions, InferenceModel } from "../inference/model.ts";
import { atTemperature } from "./served-agent-model.ts";

const { signal } = new AbortController();

test("a model at a temperature answers at it, in ids and in messages, and is else the same", async () => {
  const asked: unknown[] = [];
  const model: InferenceModel = {
    ...{ maxLength: 9, vocabularySize: 5, maxBytes: 7 },
    sample: async (request, given) => {
      asked.push([request.temperature, request.topP, given]);
      return { tokens: [1], logprobs: [0], finish: "stop" };
    },
    chat: {
      decode: (tokens) => tokens.join(),
      count: () => 4,
      converse: async (request, { sampling, index }) => {
        asked.push([request.messages, sampling, index]);
        return "reply" as never;
      },
    },
  };
  const cold = atTemperature(model, 0);
  expect(cold).toMatchObject({ maxLength: 9, vocabularySize: 5, maxBytes: 7 });
  await cold.sample({ temperature: 1, topP: 0.5 } as GenerateRequest, signal);
  const options: ConverseOptions = { sampling: { temperature: 1, topP: 0.5, others: {} }, index: 2, signal };
  expect(await cold.chat?.converse({ messages: [] } as ConversationRequest, options)).toBe("reply");
  expect(asked).toEqual([
    [0, 0.5, signal],
    [[], { temperature: 0, topP: 0.5, others: {} }, 2],
  ]);
  expect([cold.chat?.decode([1, 2]), cold.chat?.count({ messages: [] }, signal)]).toEqual(["1,2", 4]);
  const { chat: _, ...ids } = model;
  expect(atTemperature(ids, 0)).not.toHaveProperty("chat");
});
