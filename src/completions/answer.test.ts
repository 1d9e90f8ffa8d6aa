import { expect, test } from "vitest";
import { readCompletion } from "./answer.ts";

const body = (message: object, choice: object = {}, more: object = {}) =>
  JSON.stringify({ choices: [{ message, ...choice }], ...more });
const plain = {
  ...{ content: "", reasoning: undefined, calls: [], finish: "stop", stoppedBy: undefined, usage: undefined },
};
const read = (...given: Parameters<typeof body>) => readCompletion(body(...given));

test.each<[string, object, object, object]>([
  ["a text", { content: "Hi." }, {}, { content: "Hi." }],
  [
    "a text in parts, of which one is none",
    { content: [{ text: "a" }, { type: "image" }, { text: "b" }] },
    {},
    { content: "ab" },
  ],
  ["a refusal", { content: "", refusal: "No." }, {}, { content: "No." }],
  ["a text beside a refusal", { content: "a", refusal: "No." }, {}, { content: "a" }],
  ["neither", { content: null }, {}, {}],
  ["reasoning", { reasoning_content: "r" }, {}, { reasoning: "r" }],
  ["reasoning by its other name", { reasoning: "r" }, {}, { reasoning: "r" }],
  ["both names of reasoning", { reasoning_content: "a", reasoning: "b" }, {}, { reasoning: "a" }],
  ["fields of other types", { content: "a", refusal: 1, reasoning: {}, reasoning_content: [] }, {}, { content: "a" }],
  [
    "calls",
    {
      tool_calls: [
        { id: "c1", function: { name: "f", arguments: '{"a": 5.0}' } },
        { id: "", function: { name: "g", arguments: { b: 1 } } },
        { id: 3, function: { name: "h" } },
        { function: { name: "i", arguments: null } },
      ],
    },
    { finish_reason: "tool_calls" },
    {
      calls: [
        { id: "c1", name: "f", arguments: '{"a": 5.0}' },
        { id: undefined, name: "g", arguments: '{"b":1}' },
        { id: undefined, name: "h", arguments: "" },
        { id: undefined, name: "i", arguments: "" },
      ],
      finish: "tool_calls",
    },
  ],
  ["a stop string of vLLM", {}, { stop_reason: "END" }, { stoppedBy: "END" }],
  ["a stop string of SGLang", {}, { stop_reason: null, matched_stop: "END" }, { stoppedBy: "END" }],
  ["a stop token", {}, { matched_stop: 151645 }, {}],
  ...["length", "model_length", "max_tokens", "MAX_TOKENS"].map((finish): [string, object, object, object] => [
    finish,
    {},
    { finish_reason: finish },
    { finish: "length" },
  ]),
])("an answer: %s", (_, message, choice, expected) => {
  expect(read(message, choice)).toEqual({ completion: { ...plain, ...expected } });
});

test("tokens are what the server counted; of an answer that has several choices the first counts", () => {
  const usage = (prompt_tokens: unknown, completion_tokens: unknown) => {
    const answer = read({ content: "a" }, {}, { usage: { prompt_tokens, completion_tokens } });
    return "completion" in answer ? answer.completion.usage : "none";
  };
  expect([usage(3, 0), usage(0, 2), usage(3, -1), usage("3", 2), usage(1, 2)]).toEqual([
    { promptTokens: 3, completionTokens: 0 },
    ...[undefined, undefined, undefined],
    { promptTokens: 1, completionTokens: 2 },
  ]);
  expect(readCompletion(JSON.stringify({ choices: [{ message: { content: "a" } }, 5] }))).toEqual({
    completion: { ...plain, content: "a" },
  });
});

const long = "x".repeat(400);
test.each<[string, string, string, number | undefined]>([
  ["no JSON", `<html>${long}`, `an answer that is not JSON: <html>${"x".repeat(194)}`, undefined],
  ["an error", '{"error": {"message": "down", "code": 502}}', "an error: down", 502],
  ["an error whose status is a text", '{"error": {"message": "m", "code": "429"}}', "an error: m", 429],
  ["an error with a word for a code", '{"error": {"message": "m", "code": "insufficient_quota"}}', "an error: m", undefined],
  ["an error with a code below statuses", '{"error": {"message": "m", "code": 299}}', "an error: m", undefined],
  ["an error with the least status", '{"error": {"message": "m", "code": 300}}', "an error: m", 300],
  ["an error with the last status", '{"error": {"message": "m", "code": 599}}', "an error: m", 599],
  ["an error with a code beyond statuses", '{"error": {"message": "m", "code": 600}}', "an error: m", undefined],
  ["an error without words", '{"error": {"code": true}}', "an error: ", undefined],
  ["a long error", JSON.stringify({ error: { message: long } }), `an error: ${"x".repeat(300)}`, undefined],
  ["an error that is a text", '{"error": "no endpoint"}', "an error: no endpoint", undefined],
  ["an error in the choice", '{"choices": [{"error": {"message": "m", "code": 503}}]}', "an error: m", 503],
  ...["error", "abort", "insufficient_system_resource"].map((finish): [string, string, string, undefined] => [
    finish,
    body({ content: "a" }, { finish_reason: finish }),
    `no whole answer: its finish_reason is ${finish}`,
    undefined,
  ]),
  ["a filter", body({}, { finish_reason: "content_filter" }), "no whole answer: its finish_reason is content_filter", 200],
  [
    "a filter with a reason",
    body({}, { finish_reason: "content_filter: SAFETY" }),
    "no whole answer: its finish_reason is content_filter: SAFETY",
    200,
  ],
])("no answer: %s", (_, text, problem, status) => {
  expect(readCompletion(text)).toEqual({ problem, status });
});

test("what is no completion says what is wrong with it", () => {
  for (const text of ["5", "{}", '{"error": ""}', '{"choices": []}', '{"choices": [{}]}', body({ content: 5 })])
    expect(readCompletion(text)).toEqual({ problem: expect.stringMatching(/^no chat completion: ✖ ./), status: undefined });
  const many = readCompletion(body({ tool_calls: Array.from({ length: 99 }, () => 1) }));
  expect("problem" in many && many.problem).toHaveLength("no chat completion: ".length + 300);
});
