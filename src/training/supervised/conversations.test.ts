import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ConfigError } from "../../core/errors.ts";
import { readConversations } from "./conversations.ts";

const folder = mkdtempSync(join(tmpdir(), "retrograde-conversations-"));
function file(...lines: readonly unknown[]): string {
  const path = join(folder, "chats.jsonl");
  writeFileSync(path, lines.map((line) => (typeof line === "string" ? line : JSON.stringify(line))).join("\n"));
  return path;
}
const call = (args: unknown) => ({ id: "c1", type: "function", function: { name: "find", arguments: args } });
const question = { role: "user", content: "Where is Tea?" };
const answer = { role: "assistant", content: "7" };

test("a call that is only shown may be of a tool that the line does not have: agents write calls of their own", () => {
  const tools = [{ type: "function", function: { name: "book", parameters: { type: "object", properties: {} } } }];
  const own = { role: "assistant", content: null, tool_calls: [call("{}")] };
  const result = { role: "tool", tool_call_id: "c1", content: "aisle 7" };
  const [read] = readConversations(file({ messages: [{ ...own, weight: 0 }, result, question, answer], tools }));
  expect(read.messages[0]).toMatchObject({ learned: false, toolCalls: [{ name: "find" }] });
  expect(() => readConversations(file({ messages: [question, own, result, answer], tools }))).toThrow(/a call of find.*no tool/);
});

test("conversations in the OpenAI format are read: calls, results by id, parts, reasoning and tools", () => {
  const tool = {
    type: "function",
    function: { name: "find", description: "Finds.", parameters: { type: "object", properties: {} } },
  };
  const [read] = readConversations(
    file({
      messages: [
        {
          role: "developer",
          content: [
            { type: "text", text: "be " },
            { type: "text", text: "brief" },
          ],
        },
        question,
        { role: "assistant", content: null, tool_calls: [call('{"name":"Tea"}')], reasoning_content: "look it up" },
        { role: "tool", tool_call_id: "c1", content: "aisle 7" },
        answer,
      ],
      tools: [tool],
    }),
  );
  expect(read.messages).toEqual([
    { role: "system", content: "be brief" },
    { role: "user", content: "Where is Tea?" },
    {
      role: "assistant",
      content: "",
      reasoning: "look it up",
      toolCalls: [{ id: "c1", name: "find", arguments: { name: "Tea" } }],
    },
    { role: "tool", name: "find", callId: "c1", content: "aisle 7" },
    { role: "assistant", content: "7" },
  ]);
  expect(read.tools?.map(({ name, parameters }) => [name, parameters])).toEqual([["find", { type: "object", properties: {} }]]);
});

test.each([
  ["no JSON", ["{"], "line 1 is"],
  ["no messages", [{ messages: [] }], "line 1: messages"],
  ["another role", [{ messages: [{ role: "bot", content: "" }] }], "line 1: messages.0.role"],
  [
    "an end that teaches nothing",
    [{ messages: [question, answer] }, { messages: [answer, question] }],
    'line 2: the last message is "user"',
  ],
  [
    "arguments that are no object",
    [{ messages: [question, { role: "assistant", tool_calls: [call("[1]")] }] }],
    "arguments of find",
  ],
  [
    "a result of no call",
    [{ messages: [{ role: "tool", tool_call_id: "c9", content: "" }, answer] }],
    'messages.0.tool_call_id is "c9"',
  ],
  [
    "a tool that is not there",
    [{ messages: [question, { role: "assistant", tool_calls: [call({})] }], tools: [] }],
    "a call of find",
  ],
  ["nothing", [""], "expected at least one conversation"],
])("%s is named with its line", (_, lines, message) => {
  const path = file(...lines);
  expect(() => readConversations(path)).toThrow(ConfigError);
  expect(() => readConversations(path)).toThrow(message);
});

test("columns that say where a row is from are ignored; others are refused by name", () => {
  const from = { id: 1, dataset_id: 7, doc_id: "d", source: "web", language: "en", created_at: "2026-01-01", num_turns: 1 };
  expect(readConversations(file({ messages: [question, answer], ...from }))[0].messages).toEqual([question, answer]);
  expect(() => readConversations(file({ messages: [question, answer], datasetid: 7 }))).toThrow("datasetid");
});

test("a file that is missing is named", () => {
  expect(() => readConversations(join(folder, "none.jsonl"))).toThrow("expected a JSONL file of conversations");
});

const wrong = { role: "assistant", content: "8" };
const again = { role: "user", content: "Sure?" };

test.each([
  ["OpenAI's and Mistral's weight", { messages: [question, { ...wrong, weight: 0 }, again, { ...answer, weight: 1 }] }],
  ["Axolotl's train", { messages: [question, { ...wrong, train: false }, again, { ...answer, train: true }] }],
  ["Axolotl's training", { messages: [question, { ...wrong, training: false }, again, answer] }],
  ["ms-swift's loss", { messages: [question, { ...wrong, loss: false }, again, { ...answer, loss: true }] }],
  [
    "verl's loss_mask",
    { messages: [{ ...question, loss_mask: 0 }, { ...wrong, loss_mask: 0 }, again, { ...answer, loss_mask: 1 }] },
  ],
  ["verl's trainable", { messages: [question, { ...wrong, trainable: false }, again, answer] }],
  ["LLaMA-Factory's loss_mask of the row", { messages: [question, wrong, again, answer], loss_mask: [1, 0, 1, 1] }],
])("a message that is not to be learned is shown and not learned: %s", (_, row) => {
  const [{ messages }] = readConversations(file(row));
  expect(messages).toEqual([question, { ...wrong, learned: false }, again, answer]);
});

test.each([
  ["a weight between", { ...answer, weight: 0.5 }, "messages.1.weight"],
  ["a user's words to be learned", { ...question, weight: 1 }, "the user's, to be learned"],
  ["flags that disagree", { ...answer, weight: 0, train: true }, "learned and not"],
  ["nothing that is learned", { ...answer, weight: 0 }, "without a message to learn from"],
  ["train_detail", { ...answer, train_detail: [{ begin_offset: 0, end_offset: 1, train: false }] }, "messages.1.train_detail"],
  ["a prefix", { ...answer, prefix: true }, "messages.1.prefix"],
  ["an audio", { ...answer, audio: { id: "a" } }, "messages.1.audio"],
  ["a misspelt field", { role: "assistant", contnet: "7" }, "messages.1.contnet"],
  ["nothing", { role: "assistant" }, "there is nothing in this message"],
  ["an empty text", { role: "assistant", content: " " }, "there is nothing in this message"],
  ["empty parts", { role: "assistant", content: [] }, "there is nothing in this message"],
  ["a part of an image", { role: "assistant", content: [{ type: "image_url", image_url: {} }] }, "only text"],
  ["a part with more", { role: "assistant", content: [{ type: "text", text: "7", learn: false }] }, "content.0.learn"],
  ["two reasonings", { ...answer, reasoning: "a", thinking: "b" }, "another one under another name"],
  [
    "two ways of calling",
    { role: "assistant", tool_calls: [call("{}")], function_call: { name: "find", arguments: "{}" } },
    "function_call",
  ],
  ["a call of another type", { role: "assistant", tool_calls: [{ id: "1", type: "custom", custom: {} }] }, "tool_calls.0"],
  ["a call with more", { role: "assistant", tool_calls: [{ ...call("{}"), confirmed: false }] }, "tool_calls.0.confirmed"],
])("%s is refused by its field", (_, message, named) => {
  const first = message.role === "user" ? [answer] : [question];
  expect(() => readConversations(file({ messages: [...first, message, ...(message.role === "user" ? [answer] : [])] }))).toThrow(
    named,
  );
});

test.each([
  ["reasoning", { reasoning: "Look." }],
  ["reasoning_content", { reasoning_content: "Look." }],
  ["thinking", { thinking: "Look." }],
  [
    "two of one text, as OpenRouter has them",
    { reasoning: "Look.", reasoning_details: [{ type: "reasoning.text", text: "Look.", format: "x", index: 0 }] },
  ],
  [
    "reasoning_details alone",
    {
      reasoning_details: [
        { type: "reasoning.text", text: "Lo" },
        { type: "reasoning.summary", summary: "ok." },
      ],
    },
  ],
])("reasoning is read under its other names: %s", (_, given) => {
  const [{ messages }] = readConversations(file({ messages: [question, { ...answer, ...given }] }));
  expect(messages.at(-1)).toEqual({ ...answer, reasoning: "Look." });
});

test("function_call and functions are a call and tools; a refusal is what was said", () => {
  const made = { role: "assistant", content: null, function_call: { name: "find", arguments: '{"name":"Tea"}' } };
  const found = { role: "function", name: "find", content: "aisle 7" };
  const functions = [{ name: "find", description: "Finds.", parameters: { type: "object", properties: {} } }];
  const [{ messages, tools }] = readConversations(
    file({ messages: [question, made, found, { role: "assistant", content: null, refusal: "No." }], functions }),
  );
  expect(messages.slice(1)).toEqual([
    { role: "assistant", content: "", toolCalls: [{ name: "find", arguments: { name: "Tea" } }] },
    { role: "tool", name: "find", content: "aisle 7" },
    { role: "assistant", content: "No." },
  ]);
  expect(tools?.map(({ name }) => name)).toEqual(["find"]);
});

test("results of parallel calls are in the calls' order, a failed one says so, and large integers keep their digits", () => {
  const two = [call('{"n":12345678901234567890}'), { ...call('{"n":2}'), id: "c2" }];
  const results = [
    { role: "tool", tool_call_id: "c2", content: "no such row", is_error: true },
    { role: "tool", tool_call_id: "c1", content: "one" },
  ];
  const [{ messages }] = readConversations(
    file({ messages: [question, { role: "assistant", tool_calls: two }, ...results, answer] }),
  );
  expect(messages.slice(2, 4)).toEqual([
    { role: "tool", name: "find", callId: "c1", content: "one" },
    { role: "tool", name: "find", callId: "c2", content: "Error: no such row" },
  ]);
  expect(messages[1]).toMatchObject({ toolCalls: [{ argumentsText: '{"n":12345678901234567890}' }, { arguments: { n: 2 } }] });
});

/** The whole message of a refusal, without the name of the file. */
function refusal(...lines: readonly unknown[]): string {
  const path = file(...lines);
  try {
    readConversations(path);
  } catch (error) {
    return (error as Error).message.replace(path, "FILE");
  }
  return "read";
}
const calls = (name: string) => ({
  role: "assistant",
  tool_calls: [{ id: "c1", type: "function", function: { name, arguments: "{}" } }],
});
const toolOf = (name: string) => ({ type: "function", function: { name } });
const line = 'A line is {"messages": [{"role": "user", "content": "…"}, {"role": "assistant", "content": "…"}]}.';

test.each<[string, readonly unknown[], string]>([
  ["an empty file", ["\n \n"], `FILE is "empty"; expected at least one conversation. ${line}`],
  ["an empty list", ["[]"], `FILE is "empty"; expected at least one conversation. ${line}`],
  ["no JSON", ["{"], expect.stringMatching(/^FILE, line 1 is .*JSON.*; expected JSON\. A line is /s)],
  [
    "an item of a list",
    [`[${JSON.stringify({ messages: [question, answer] })}, {"messages": []}]`],
    "FILE, item 2: messages is ",
  ],
  [
    "a mask of another length",
    [{ messages: [question, answer], loss_mask: [1] }],
    "FILE, line 1: loss_mask is [1]; expected 2 values, one a message.",
  ],
  [
    "two system messages",
    [{ messages: [{ role: "system", content: "a" }, question, answer], system: "b" }],
    'FILE, line 1: system is "b"; expected none beside a system message.',
  ],
  [
    "tools under two names",
    [{ messages: [question, answer], tools: [toolOf("a")], functions: [toolOf("b"), toolOf("c")] }],
    "FILE, line 1: functions is 2; expected none beside tools.",
  ],
  [
    "a last question",
    [{ messages: [question, answer, question] }],
    'FILE, line 1: the last message is "user"; expected "assistant". ' +
      "A conversation teaches what the assistant says: end it with the answer.",
  ],
  [
    "nothing learned",
    [{ messages: [question, { ...answer, weight: 0 }] }],
    'FILE, line 1 is "without a message to learn from"; expected an assistant\'s message that is learned.',
  ],
  [
    "an unknown tool",
    [
      {
        messages: [question, calls("c"), { role: "tool", tool_call_id: "c1", content: "" }, answer],
        tools: [toolOf("a"), toolOf("b")],
      },
    ],
    'FILE, line 1: a call of c is "no tool of this line"; expected "a" or "b".',
  ],
  [
    "flags that disagree",
    [{ messages: [question, { ...answer, weight: 1 }], loss_mask: [0, 0] }],
    'FILE, line 1: messages.1 is "learned and not"; expected flags that agree.',
  ],
  [
    "a question to be learned",
    [{ messages: [{ ...question, loss: 1 }, answer] }],
    "FILE, line 1: messages.0 is \"the user's, to be learned\"; expected an assistant's: others are only shown.",
  ],
  [
    "an empty message",
    [{ messages: [question, { role: "assistant", content: "" }] }],
    'FILE, line 1: messages.1.content is ""; expected a text, reasoning or calls: there is nothing in this message.',
  ],
  [
    "arguments that are no object",
    [{ messages: [question, { ...calls("a"), tool_calls: [call("5")] }] }],
    'FILE, line 1: messages.1: arguments of find is "5"; expected a JSON object.',
  ],
])("%s is refused in these words", (_, lines, message) => {
  if (typeof message === "string" && !message.endsWith(".")) expect(refusal(...lines)).toContain(message);
  else expect(refusal(...lines)).toEqual(message);
});

test("a list in JSON is read as lines are; blank lines and empty fields say nothing", () => {
  const rows = [
    { messages: [question, answer] },
    { messages: [question, wrong], system: "be brief", tools: null, loss_mask: null },
  ];
  const all = readConversations(file(`  \n[${rows.map((row) => JSON.stringify(row)).join(",")}]`));
  expect(all).toEqual([
    { messages: [question, answer] },
    { messages: [{ role: "system", content: "be brief" }, question, wrong] },
  ]);
  expect(readConversations(file("", rows[0], " ", rows[1], ""))).toEqual(all);
  expect(readConversations(file({ messages: [question, answer], system: "", tools: [], functions: [] }))).toEqual([
    { messages: [question, answer], tools: [] },
  ]);
  const marked = { messages: [question, { ...answer, weight: null }], loss_mask: [null, 1] };
  expect(readConversations(file(marked))).toEqual([{ messages: [question, answer] }]);
  expect(readConversations(file({ messages: [question, { role: "assistant", content: "", reasoning: "r" }] }))).toHaveLength(1);
});

test("tools have a description and parameters where these are left out, and cannot be called", () => {
  const functions = [
    { name: "a" },
    { name: "b", description: "B.", parameters: { type: "object", properties: { n: {} } }, strict: true },
  ];
  const [{ tools = [] }] = readConversations(file({ messages: [question, answer], functions }));
  expect(tools.map(({ name, description, parameters }) => ({ name, description, parameters }))).toEqual([
    { name: "a", description: "", parameters: { type: "object", properties: {} } },
    { name: "b", description: "B.", parameters: { type: "object", properties: { n: {} } } },
  ]);
  expect(() => tools[0]?.execute({}, {} as never)).toThrow("a is part of a recorded conversation: it cannot be called");
});
