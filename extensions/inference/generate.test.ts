import { expect, test } from "vitest";
import { modelCard, readGenerate, writeGenerated } from "./generate.ts";

const read = (params: object | undefined, more: object = {}) =>
  readGenerate(Buffer.from(JSON.stringify({ model: "m", token_ids: [1, 2], sampling_params: params, ...more })));

test("a request in token ids is read, and what is left out is the engine's to choose", () => {
  const nothing = { maxTokens: undefined, temperature: undefined, topP: undefined, topK: undefined, seed: undefined };
  const bare = { model: "m", context: [1, 2], stopTokens: [], stopStrings: [], ...nothing };
  expect(read(undefined)).toEqual(bare);
  const nulls = { max_tokens: null, stop_token_ids: null, stop: null, temperature: null, top_p: null, top_k: null, seed: null };
  expect(read({ ...nulls, min_tokens: 0, n: 1, logprobs: 1, ignore_eos: false, min_p: 0, detokenize: false })).toEqual(bare);
  const all = { max_tokens: 3, stop_token_ids: [7], stop: ["."], temperature: 0, top_p: 0.5, top_k: 40, seed: -1 };
  expect(read(all)).toEqual({
    ...{ model: "m", context: [1, 2], maxTokens: 3, stopTokens: [7], stopStrings: ["."] },
    ...{ temperature: 0, topP: 0.5, topK: 40, seed: -1 },
  });
  expect([read({ stop: "end" }).stopStrings, read({ top_k: -1 }).topK, read({ top_k: 0 }).topK, read({ top_k: 1 }).topK]).toEqual(
    [...[["end"], undefined, undefined, 1]],
  );
});

test.each<[string, object | undefined, object?]>([
  ["no token", {}, { token_ids: [] }],
  ["a negative id", {}, { token_ids: [-1] }],
  ["no room", { max_tokens: 0 }],
  ["a temperature below 0", { temperature: -0.1 }],
  ["top_p of 0", { top_p: 0 }],
  ["top_p above 1", { top_p: 1.1 }],
  ["top_k of -2", { top_k: -2 }],
  ["an empty stop", { stop: "" }],
  ["several answers", { n: 2 }],
  ["a least number of tokens", { min_tokens: 1 }],
  ["a penalty", { presence_penalty: 1 }],
  ["a stream", {}, { stream: true }],
  ["a field that is not known", { temprature: 1 }],
])("%s is refused", (_, params, more) => {
  expect(() => read(params, more)).toThrow(expect.objectContaining({ status: 422 }));
});

test("an answer has its ids with their log-probs, as vLLM writes them", () => {
  expect(writeGenerated("gen-1", { tokens: [5, 6], logprobs: [-1, -2], finish: "length" })).toEqual({
    ...{ request_id: "gen-1", prompt_logprobs: null },
    choices: [
      {
        ...{ index: 0, token_ids: [5, 6], finish_reason: "length" },
        logprobs: {
          content: [
            { token: "token_id:5", logprob: -1, top_logprobs: [] },
            { token: "token_id:6", logprob: -2, top_logprobs: [] },
          ],
        },
      },
    ],
  });
  expect(modelCard("m", 64)).toMatchObject({ id: "m", root: "m", object: "model", max_model_len: 64 });
});
