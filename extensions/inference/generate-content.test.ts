import { expect, test } from "vitest";
import type { ConversationReply } from "../../src/chat/conversation.ts";
import { Context } from "../../src/core/context.ts";
import { generateContent } from "./generate-content.ts";
import type { WireState } from "./parsed-request.ts";

const state = (query = ""): WireState => ({
  ...{ id: "1", created: 0, query: new URLSearchParams(query), kept: new Map() },
  decode: (tokens) => tokens.map((id) => `t${id}`).join(""),
});
const said = (text: string) => ({ role: "user", parts: [{ text }] });
const exchange = (body: object, method = "generateContent", query = "") => {
  const wire = generateContent(`/v1beta/models/google/m:${method}`);
  if (wire === undefined) throw new Error("no wire");
  return wire.read(Buffer.from(JSON.stringify({ contents: [said("When?")], ...body })), state(query));
};
const conversation = (body: object) => exchange(body).parsed.conversation;
const find = { name: "find", parameters: { type: "OBJECT", properties: { title: { type: "STRING" } } } };
const book = { name: "book", parametersJsonSchema: { type: "object", properties: { room: { type: "string" } } } };
const tools = [{ functionDeclarations: [find] }, { functionDeclarations: [book] }];

test("a model's name may have slashes, and other routes are others' requests", () => {
  expect(exchange({}).parsed).toMatchObject({ model: "google/m", stream: false, count: 1 });
  expect(exchange({}, "streamGenerateContent", "alt=sse").parsed.stream).toBe(true);
  for (const route of ["/models/m", "/v1beta/models/m:embedContent", "/chat/completions"])
    expect(generateContent(route)).toBeUndefined();
});

test("contents are messages: the model's in a row are one, and answers without ids follow the calls of their names", () => {
  const call = (name: string, args: object, id?: string) => ({ functionCall: { name, args, ...(id ? { id } : {}) } });
  const response = (name: string, output: object, id?: string) => ({
    functionResponse: { name, response: output, ...(id ? { id } : {}) },
  });
  const contents = [
    { parts: [{ text: "a" }, { text: "b" }] },
    { role: "model", parts: [{ text: "Hm", thought: true }, { text: "We" }] },
    { role: "model", parts: [{ text: "ll." }, { text: "", thoughtSignature: "s" }] },
    { role: "model", parts: [call("find", { title: "A" }), call("find", { title: "B" }), call("book", {}, "c9")] },
    { role: "function", parts: [response("find", { output: "first" }), response("book", { result: 3 }, "c9")] },
    { role: "user", parts: [response("find", { output: { at: 1 } }), { text: "Go on." }] },
  ];
  expect(conversation({ contents, systemInstruction: { parts: [{ text: "S" }] } }).messages).toEqual([
    { role: "system", content: "S" },
    { role: "user", content: "a\nb" },
    {
      ...{ role: "assistant", content: "Well.", reasoning: "Hm" },
      toolCalls: [
        { name: "find", arguments: { title: "A" }, argumentsText: '{"title":"A"}' },
        { name: "find", arguments: { title: "B" }, argumentsText: '{"title":"B"}' },
        { id: "c9", name: "book", arguments: {}, argumentsText: "{}" },
      ],
    },
    { role: "tool", name: "find", content: "first" },
    { role: "tool", name: "book", callId: "c9", content: '{"result":3}' },
    { role: "tool", name: "find", content: '{"at":1}' },
    { role: "user", content: "Go on." },
  ]);
});

test("fields may be in snake case, but for the names in schemas and arguments", () => {
  const parameters_json_schema = { type: "object", properties: { event_title: { type: "string" } } };
  const function_call = { name: "find_event", args: { event_title: "A" } };
  const body = {
    contents: [said("When?"), { role: "model", parts: [{ function_call }] }],
    system_instruction: { parts: [{ text: "S" }] },
    tools: [{ function_declarations: [{ name: "find_event", parameters_json_schema, response_json_schema: {} }] }],
    generation_config: { max_output_tokens: 3, thinking_config: { thinking_budget: 1 } },
  };
  const { messages, maxTokens, tools: shown } = conversation(body);
  expect({ shown, messages, maxTokens }).toMatchObject({
    messages: [{ content: "S" }, { content: "When?" }, { toolCalls: [{ arguments: function_call.args }] }],
    ...{ shown: [{ parameters: parameters_json_schema }], maxTokens: 3 },
  });
  expect(exchange(body).parsed.sampling.others).toEqual({ thinkingConfig: { thinkingBudget: 1 } });
});

test("schemas with types in capitals become JSON schemas", () => {
  const parameters = {
    type: "OBJECT",
    propertyOrdering: ["size", "when"],
    required: ["size"],
    properties: {
      when: { anyOf: [{ type: "STRING", format: "date" }, { type: "INTEGER" }], nullable: true },
      size: { type: "INTEGER", format: "enum", enum: ["1", "2"], nullable: true, description: "Size." },
      tags: { type: "ARRAY", maxItems: "3", items: { type: "STRING", example: "x" } },
    },
  };
  const [shown] = conversation({ tools: [{ functionDeclarations: [{ name: "f", parameters }] }] }).tools ?? [];
  expect(shown?.parameters).toEqual({
    type: "object",
    required: ["size"],
    properties: {
      size: { type: ["integer", "null"], enum: [1, 2, null], description: "Size." },
      when: { anyOf: [{ type: "string", format: "date" }, { type: "integer" }, { type: "null" }] },
      tags: { type: "array", maxItems: 3, items: { type: "string", examples: ["x"] } },
    },
  });
  expect(JSON.stringify(shown?.parameters)).toMatch(/"size".*"when".*"tags"/);
});

test.each<[object | undefined, object]>([
  [undefined, { toolChoice: "auto" }],
  [{ mode: "AUTO" }, { toolChoice: "auto" }],
  [{ mode: "NONE" }, { toolChoice: "none" }],
  [{ mode: "ANY" }, { toolChoice: "required" }],
  [{ mode: "ANY", allowedFunctionNames: ["find"] }, { toolChoice: { tool: "find" } }],
  [{ mode: "ANY", allowedFunctionNames: ["find", "book"] }, { toolChoice: "required" }],
  [{ mode: "VALIDATED" }, { strictTools: ["find", "book"] }],
])("the mode %j", (functionCallingConfig, expected) => {
  expect(conversation({ tools, toolConfig: { functionCallingConfig } })).toMatchObject({ ...expected, wholeCalls: true });
});

test("a request with a text alone has the defaults, and so has one with nulls", () => {
  const bare = {
    ...{ model: "google/m", stream: false, count: 1 },
    conversation: {
      messages: [{ role: "user", content: "When?" }],
      ...{ tools: [], toolChoice: "auto", wholeCalls: true, maxTokens: undefined, stopStrings: [] },
    },
    sampling: { temperature: undefined, topP: undefined, topK: undefined, seed: undefined, others: {} },
  };
  expect(exchange({}).parsed).toEqual(bare);
  const config = { candidateCount: null, maxOutputTokens: null, temperature: null, topP: null, topK: 0, stopSequences: null };
  const more = { responseMimeType: null, responseSchema: null, responseLogprobs: null, logprobs: 3, thinkingConfig: null };
  const nulls = { systemInstruction: null, tools: null, toolConfig: null, safetySettings: null };
  expect(exchange({ ...nulls, generationConfig: { ...config, ...more } }).parsed).toEqual(bare);
  const empty = { systemInstruction: { role: "system", parts: [{ text: null }] }, tools: [{ functionDeclarations: null }] };
  const unspecified = { functionCallingConfig: { mode: "MODE_UNSPECIFIED", allowedFunctionNames: null } };
  expect(exchange({ ...empty, toolConfig: unspecified, model: "x", serviceTier: "flex" }).parsed).toEqual(bare);
  expect(exchange({ toolConfig: { functionCallingConfig: null } }).parsed).toEqual(bare);
});

test("a function has its description and its parameters, and what it returns is not shown", () => {
  const described = { name: "book", description: "Books.", response: { type: "STRING" }, responseJsonSchema: {} };
  const { tools: shown, strictTools } = conversation({ tools: [{ functionDeclarations: [find, described] }] });
  expect(shown).toEqual([
    {
      ...{ name: "find", description: "", execute: expect.any(Function) },
      parameters: { type: "object", properties: { title: { type: "string" } } },
    },
    { name: "book", description: "Books.", parameters: { type: "object", properties: {} }, execute: expect.any(Function) },
  ]);
  expect([strictTools, shown?.[0].execute({} as never, {} as never)]).toEqual([undefined, ""]);
});

test.each<[object, boolean]>([
  [{ threshold: "BLOCK_NONE" }, false],
  [{ threshold: "OFF" }, false],
  [{ threshold: "OFFICE" }, true],
  [{ threshold: "NOT_OFF" }, true],
  [{ category: "A" }, true],
])("the safety setting %j is one of sampling: %s", (setting, isNamed) => {
  const { others } = exchange({ safetySettings: [setting] }).parsed.sampling;
  expect(others).toEqual(isNamed ? { safetySettings: [setting] } : {});
});

test.each<[object, boolean]>([
  [{ candidateCount: 32 }, true],
  [{ candidateCount: 33 }, false],
  [{ candidateCount: 0 }, false],
  [{ logprobs: 20 }, true],
  [{ logprobs: 21 }, false],
  [{ logprobs: -1 }, false],
  [{ maxOutputTokens: 1 }, true],
  [{ maxOutputTokens: 0 }, false],
  [{ topK: -1 }, false],
  [{ stopSequences: ["."] }, true],
  [{ stopSequences: [""] }, false],
])("the config %j is taken: %s", (generationConfig, isTaken) => {
  const read = () => exchange({ generationConfig });
  if (isTaken) expect(read).not.toThrow();
  else expect(read).toThrow(/generationConfig/);
});

test("answers are of the call with their id, where both have one, and beside other fields output is one of them", () => {
  const call = (id?: string) => ({ functionCall: { ...(id && { id }), name: "find" } });
  const response = (given: object, id?: string) => ({ functionResponse: { ...(id && { id }), name: "find", response: given } });
  const contents = [
    said("a"),
    { role: "model", parts: [call("c1"), call("c2"), call()] },
    { role: "user", parts: [response({ output: "two" }, "c2"), response({ output: "one", more: 1 }), response({}, "c9")] },
    { role: "user", parts: null },
  ];
  expect(conversation({ contents }).messages.slice(2)).toEqual([
    { role: "tool", name: "find", callId: "c2", content: "two" },
    { role: "tool", name: "find", callId: "c1", content: '{"output":"one","more":1}' },
    { role: "tool", name: "find", content: "{}" },
  ]);
  expect(conversation({ contents }).messages[1]).toMatchObject({ toolCalls: [{ arguments: {} }, {}, {}] });
  const other = {
    contents: [
      { role: "model", parts: [call("c1")] },
      { role: "user", parts: [response({}, "c2")] },
    ],
  };
  expect(() => exchange(other)).toThrow('functionResponse is "c2"; expected the id or the name of a call before it');
  expect(() => exchange({ contents: [{ role: "model", parts: [response({})] }] })).toThrow(
    `functionResponse is "of the model"; expected the other role's`,
  );
});

test("settings of sampling are read, and those that are not there are named", () => {
  const generationConfig = {
    ...{ temperature: 0.5, topP: 0.9, topK: 40, seed: 7, maxOutputTokens: 9, stopSequences: ["."], candidateCount: 2 },
    ...{ responseLogprobs: true, logprobs: 3, presencePenalty: 0, frequencyPenalty: 1 },
    thinkingConfig: { includeThoughts: true, thinkingBudget: 0 },
  };
  const safetySettings = [{ category: "HARM_CATEGORY_HARASSMENT", threshold: "BLOCK_NONE" }];
  const { parsed } = exchange({ generationConfig, safetySettings, labels: { team: "a" } });
  expect(parsed).toMatchObject({ count: 2, conversation: { maxTokens: 9, stopStrings: ["."], topLogprobs: 3 } });
  expect(parsed.sampling).toEqual({
    ...{ temperature: 0.5, topP: 0.9, topK: 40, seed: 7 },
    others: { frequencyPenalty: 1, thinkingConfig: { thinkingBudget: 0 } },
  });
  const filtered = [{ ...safetySettings[0], threshold: "BLOCK_LOW_AND_ABOVE" }];
  expect(exchange({ safetySettings: filtered }).parsed.sampling.others).toEqual({ safetySettings: filtered });
});

test("forms: JSON, and a schema of either kind", () => {
  const form = (generationConfig: object) => conversation({ generationConfig }).form;
  const type = { responseMimeType: "application/json" };
  expect(form({ responseMimeType: "text/plain" })).toBeUndefined();
  expect(form(type)).toBe("json");
  expect(form({ ...type, responseSchema: { type: "BOOLEAN" } })).toEqual({ schema: { type: "boolean" } });
  expect(form({ ...type, responseJsonSchema: { type: "boolean" } })).toEqual({ schema: { type: "boolean" } });
});

const user = (part: object) => ({ contents: [{ role: "user", parts: [part] }] });
test.each<[string, object, RegExp]>([
  ["an image", user({ inlineData: { mimeType: "image/png", data: "" } }), /contents\.0\.parts\.0 .*no inlineData/],
  ["a file", user({ fileData: { fileUri: "a" } }), /no fileData/],
  ["code", user({ executableCode: { code: "1" } }), /no executableCode/],
  ["parts of an answer", user({ functionResponse: { name: "f", response: {}, parts: [] } }), /no parts/],
  [
    "an answer to no call",
    user({ functionResponse: { name: "f", response: {} } }),
    /functionResponse is "f"; expected the id or/,
  ],
  ["a call of the user", user({ functionCall: { name: "f" } }), /functionCall is "of the user"/],
  [
    "an image of the system",
    { systemInstruction: { parts: [{ inlineData: {} }] } },
    /systemInstruction\.parts\.0.*no inlineData/,
  ],
  ["a search", { tools: [{ googleSearch: {} }] }, /tools\.0 .*vendor's servers: this endpoint has no googleSearch/],
  ["a sandbox", { tools: [{ codeExecution: {} }] }, /no codeExecution/],
  [
    "a function that does not block",
    { tools: [{ functionDeclarations: [{ ...find, behavior: "NON_BLOCKING" }] }] },
    /no behavior/,
  ],
  ["an unknown type", { tools: [{ functionDeclarations: [{ name: "f", parameters: { type: "DATE" } }] }] }, /parameters\.type/],
  ["two schemas", { tools: [{ functionDeclarations: [{ ...find, ...book }] }] }, /parametersJsonSchema/],
  ["a cache", { cachedContent: "c" }, /cachedContent is "c"/],
  ["a voice", { generationConfig: { speechConfig: {} } }, /speechConfig/],
  ["an enumeration as text", { generationConfig: { responseMimeType: "text/x.enum" } }, /responseMimeType/],
  ["a schema without JSON", { generationConfig: { responseSchema: { type: "STRING" } } }, /responseMimeType.*application\/json/],
  ["a function that is not there", choice({ mode: "ANY", allowedFunctionNames: ["fly"] }), /allowedFunctionNames is "fly"/],
  ["some of the functions", choice({ mode: "VALIDATED", allowedFunctionNames: ["find"] }), /allowedFunctionNames.*all/],
  ["names without a mode", choice({ allowedFunctionNames: ["find"] }), /allowedFunctionNames/],
  ["a forced call of nothing", { ...choice({ mode: "ANY" }), tools: [] }, /mode is "ANY"; expected functions/],
  ["the settings of a retrieval", { toolConfig: { retrievalConfig: {} } }, /retrievalConfig/],
  ["no contents", { contents: [] }, /contents/],
])("%s is refused", (_, body, message) => {
  expect(() => exchange(body)).toThrow(message);
  try {
    exchange(body);
  } catch (error) {
    expect([400, 422]).toContain((error as { status: number }).status);
  }
});

function choice(functionCallingConfig: object) {
  return { tools, toolConfig: { functionCallingConfig } };
}

const reply = (message: object, finish: "stop" | "length" = "stop"): ConversationReply => ({
  message: { role: "assistant", content: "", ...message },
  ...{ finish, promptTokens: 5, completionTokens: 2 },
  sampled: { context: Context.of([1]), action: [2, 3], logprobs: [-1, -2] },
});

test("answers are candidates: thoughts where they were asked for, and why they ended", () => {
  const both = [reply({ content: "Yes.", reasoning: "Hm." }), reply({}, "length")] as const;
  const thinkingConfig = { includeThoughts: true };
  expect(exchange({ generationConfig: { thinkingConfig, responseLogprobs: true } }).answer(both)).toMatchObject({
    candidates: [
      {
        ...{ index: 0, finishReason: "STOP" },
        content: { role: "model", parts: [{ text: "Hm.", thought: true }, { text: "Yes." }] },
        logprobsResult: {
          chosenCandidates: [
            { token: "t2", tokenId: 2, logProbability: -1 },
            { token: "t3", tokenId: 3, logProbability: -2 },
          ],
        },
      },
      { index: 1, finishReason: "MAX_TOKENS", content: { role: "model", parts: [{ text: "" }] } },
    ],
    usageMetadata: { promptTokenCount: 5, candidatesTokenCount: 4, totalTokenCount: 9 },
    modelVersion: "google/m",
  });
  expect(exchange({}).answer([both[0]])).toMatchObject({ candidates: [{ content: { parts: [{ text: "Yes." }] } }] });
});

test("a stream without thoughts leaves them out, and keeps the order of their tokens' log-probs", () => {
  const chunks: object[] = [];
  const { stream } = exchange({ generationConfig: { responseLogprobs: true } }, "streamGenerateContent", "alt=sse");
  const { delta, end } = stream((chunk) => void chunks.push(chunk as object));
  const token = (id: number) => [{ token: id, logprob: -1 }];
  delta(0, { kind: "reasoning", text: "Hm.", tokens: token(2) });
  delta(0, { kind: "text", text: "Yes.", tokens: token(3) });
  const { sampled, ...rest } = reply({ content: "Yes.", reasoning: "Hm." });
  end([{ ...rest, sampled: { ...sampled, action: [2, 3, 4], logprobs: [-1, -1, -1] } }]);
  const ids = (...all: number[]) => ({ logprobsResult: { chosenCandidates: all.map((tokenId) => ({ tokenId })) } });
  expect(chunks).toMatchObject([
    { candidates: [{ content: { parts: [{ text: "Yes." }] }, ...ids(2, 3) }] },
    { candidates: [{ content: { parts: [{ text: "" }] }, finishReason: "STOP", ...ids(4) }] },
  ]);
});
