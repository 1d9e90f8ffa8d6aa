import "../../test/loopback.ts";
import { afterEach, expect, test } from "vitest";
import type { Completion } from "../../src/completions/answer.ts";
import { CompletionError, type CompletionFailure } from "../../src/completions/errors.ts";
import type { TeacherRequest } from "./scripted-teacher.ts";
import { emit, openTeacher, type TaughtAttempt, type Teacher } from "./teacher.ts";

const said: Completion = {
  ...{ content: "Yes.", reasoning: "Hm.", calls: [], finish: "stop", stoppedBy: undefined },
  usage: { promptTokens: 5, completionTokens: 2 },
};
const failure = (kind: CompletionFailure) => new CompletionError("the teacher", "no", kind, { expected: "an answer" });
let asked: TeacherRequest[] = [];
let teacher: Teacher;
let way: TaughtAttempt;
afterEach(() => teacher.close());

/** Opens an attempt with a teacher that answers so. */
async function open(
  answer: (signal: AbortSignal) => Completion | Promise<Completion>,
  limitField: "max_tokens" | "max_completion_tokens" = "max_tokens",
) {
  asked = [];
  teacher = await openTeacher({
    ...{ identity: "t", name: "big", apiKey: "k", limitField },
    ask: async (body, signal) => {
      asked.push(body);
      return answer(signal);
    },
  });
  way = teacher.open();
}
const user = { role: "user", content: "When?" };
async function post(body: object = {}, path = "/chat/completions", key = way.apiKey) {
  const headers = { authorization: `Bearer ${key}` };
  const response = await fetch(teacher.baseUrl + path, {
    ...{ method: "POST", headers, body: JSON.stringify({ model: "m", messages: [user], ...body }) },
  });
  const text = await response.text();
  return { status: response.status, text, json: text.startsWith("{") ? JSON.parse(text) : undefined };
}
const parameters = { type: "object", properties: { title: { type: "string" } } };
const tool = (name: string, more: object = {}) => ({ type: "function", function: { name, parameters, ...more } });

test("a request is passed on with its model's name, and the answer is the agent's and is kept", async () => {
  await open(() => ({ ...said, finish: "length" }));
  const { json } = await post();
  expect(asked).toEqual([{ model: "big", messages: [user] }]);
  expect(json.choices[0]).toMatchObject({
    ...{ finish_reason: "length", message: { role: "assistant", content: "Yes.", reasoning_content: "Hm." } },
  });
  expect(json.usage).toEqual({ prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 });
  expect(way.exchanges()).toEqual([
    { messages: [user], tools: [], answer: { role: "assistant", content: "Yes.", reasoning: "Hm." }, isCut: true },
  ]);
  expect([way.usage(), way.fault(), teacher.stopped()]).toEqual([
    ...[{ requests: 1, promptTokens: 5, completionTokens: 2, unreported: 0 }, undefined, undefined],
  ]);
});

test.each<[object, object]>([
  [{ max_tokens: 9 }, { max_tokens: 9 }],
  [
    { temperature: 0, top_p: 0.5, top_k: 3, seed: 4 },
    { temperature: 0, top_p: 0.5, top_k: 3, seed: 4 },
  ],
  [{ stop: ["."] }, { stop: ["."] }],
  [{ presence_penalty: 1 }, { presence_penalty: 1 }],
  [{ response_format: { type: "json_object" } }, { response_format: { type: "json_object" } }],
  [
    { response_format: { type: "json_schema", json_schema: { name: "x", schema: parameters } } },
    { response_format: { type: "json_schema", json_schema: { name: "answer", schema: parameters } } },
  ],
  [{ parallel_tool_calls: false }, {}],
  [
    { tools: [tool("find")], parallel_tool_calls: false },
    { tools: [tool("find", { description: "" })], parallel_tool_calls: false },
  ],
  [{ tools: [tool("find", { strict: true })] }, { tools: [tool("find", { description: "", strict: true })] }],
  [
    { tools: [tool("find")], tool_choice: "required" },
    { tools: [tool("find", { description: "" })], tool_choice: "required" },
  ],
  [{ tools: [tool("find")], tool_choice: "none" }, {}],
  [
    { tools: [tool("find now")], tool_choice: { type: "function", function: { name: "find now" } } },
    { tools: [tool("find_now", { description: "" })], tool_choice: { type: "function", function: { name: "find_now" } } },
  ],
])("of %j the teacher is asked %j", async (body, more) => {
  await open(() => said);
  expect((await post(body)).status).toBe(200);
  expect(asked).toEqual([{ model: "big", messages: [user], ...more }]);
});

test("OpenAI's newer models have another name for the limit of tokens", async () => {
  await open(() => said, "max_completion_tokens");
  await post({ max_tokens: 9 });
  expect(asked[0]).toMatchObject({ max_completion_tokens: 9 });
  expect(asked[0]).not.toHaveProperty("max_tokens");
});

test.each([
  [{ continue_final_message: true }, "continue_final_message is true; expected false: an agent's messages are whole."],
  [{ n: 2 }, "n is 2; expected 1: a demonstration has one answer."],
  [{ logprobs: true, top_logprobs: 2 }, "top_logprobs is 2; expected none of a teacher."],
])("%j is refused, and the fault of the attempt", async (body, message) => {
  await open(() => said);
  expect(await post(body)).toMatchObject({ status: 400, json: { error: { message } } });
  expect(way.fault()).toBe(`a request of the agent was refused: ${message}`);
});

test("what an endpoint of messages does not have is refused, and no fault of the agent's", async () => {
  await open(() => said);
  expect(await post({}, "/messages/count_tokens")).toMatchObject({
    ...{ status: 400, json: { error: { message: expect.stringContaining("its tokens are not known here") } } },
  });
  expect((await post({ token_ids: [1] }, "/../inference/v1/generate")).status).toBeGreaterThanOrEqual(400);
  await open(() => said);
  expect((await post({}, "/embeddings")).status).toBe(404);
  expect((await post({ thread: "t", max_tokens: 1 }, "/messages")).status).toBe(400);
  expect([way.fault(), asked]).toEqual([undefined, []]);
});

test("calls have the agent's names, as the teacher wrote their arguments, and are streamed whole", async () => {
  const call = { id: "x", name: "find_now", arguments: '{ "title": "Demo" }' };
  await open(() => ({ ...said, calls: [call], finish: "tool_calls", usage: undefined }));
  const { text } = await post({ tools: [tool("find now")], stream: true });
  const deltas = [...text.matchAll(/^data: (\{.*)$/gm)].map(([, json]) => JSON.parse(json ?? "").choices[0].delta);
  expect(deltas).toEqual([
    { role: "assistant", content: "", reasoning_content: "Hm." },
    { content: "Yes." },
    { tool_calls: [{ index: 0, id: expect.any(String), type: "function", function: { name: "find now", arguments: "" } }] },
    { tool_calls: [{ index: 0, function: { arguments: '{ "title": "Demo" }' } }] },
    {},
  ]);
  expect(way.exchanges()[0]).toMatchObject({
    ...{ isCut: false, tools: [{ name: "find now" }] },
    answer: { toolCalls: [{ name: "find now", arguments: { title: "Demo" }, argumentsText: '{ "title": "Demo" }' }] },
  });
  // A server that counts nothing is one that reports nothing.
  expect(way.usage()).toEqual({ requests: 1, promptTokens: 0, completionTokens: 0, unreported: 1 });
});

test("a message is streamed in the parts that it has", () => {
  const parts = (message: object) => {
    const said: unknown[] = [];
    emit({ role: "assistant", content: "", ...message }, { messages: [], onDelta: (delta) => void said.push(delta) });
    return said;
  };
  expect(parts({})).toEqual([]);
  expect(parts({ content: "Yes." })).toEqual([{ kind: "text", text: "Yes.", tokens: [] }]);
  expect(parts({ reasoning: "Hm." })).toEqual([{ kind: "reasoning", text: "Hm.", tokens: [] }]);
  expect(parts({ toolCalls: [{ name: "find", arguments: { of: 1 } }] })).toEqual([
    { kind: "call", index: 0, name: "find", tokens: [] },
    { kind: "arguments", index: 0, text: '{"of":1}', tokens: [] },
  ]);
  expect(() => emit({ role: "assistant", content: "Yes." }, { messages: [] })).not.toThrow();
});

test("a teacher without an answer is at fault until it has one, and one that is set wrongly is not asked again", async () => {
  let fails: CompletionFailure | undefined = "refused";
  await open(() => {
    if (fails !== undefined) throw failure(fails);
    return said;
  });
  expect(await post()).toMatchObject({
    status: 400,
    json: { error: { message: expect.stringContaining("the teacher's answer") } },
  });
  expect([way.fault(), teacher.stopped()]).toEqual(['the teacher is "no"; expected an answer.', undefined]);
  fails = undefined;
  await post();
  expect([way.fault(), way.exchanges().length, way.usage().requests]).toEqual([undefined, 1, 2]);
  fails = "settings";
  await post();
  expect(teacher.stopped()).toBe('the teacher is "no"; expected an answer.');
});

test("a conversation that has grown too long is the agent's doing", async () => {
  await open(() => {
    throw failure("context");
  });
  expect(await post()).toMatchObject({ status: 400, json: { error: { code: "context_length_exceeded", param: "messages" } } });
  expect(way.fault()).toBeUndefined();
});

test("a first request without an answer is the teacher's fault, and an attempt that ended is answered no more", async () => {
  let left = false;
  await open(
    (signal) =>
      new Promise<Completion>((_, reject) =>
        signal.addEventListener("abort", () => {
          left = true;
          reject(signal.reason);
        }),
      ),
  );
  const waiting = post();
  while (asked.length === 0) await new Promise((go) => setImmediate(go));
  expect(way.fault()).toBe("no answer of the teacher to the first request");
  way.end();
  expect([(await waiting).status, left]).toEqual([500, true]);
  expect((await post()).status).toBe(401);
});
