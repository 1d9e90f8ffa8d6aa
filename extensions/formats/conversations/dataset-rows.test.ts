import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { readConversations } from "../../../src/training/supervised/conversations.ts";
import { addConversationFormats } from "../../../src/training/supervised/formats.ts";
import { chatRow } from "./dataset-rows.ts";
import { conversationFormats } from "./formats.ts";

addConversationFormats(conversationFormats);

const folder = mkdtempSync(join(tmpdir(), "retrograde-rows-"));
function read(rows: unknown) {
  const path = join(folder, "rows.json");
  writeFileSync(path, JSON.stringify(rows, undefined, 2));
  return readConversations(path);
}
const said = [
  { role: "user", content: "Hi" },
  { role: "assistant", content: "Hello" },
];

test("rows of ShareGPT, Alpaca and TRL in a list are conversations like any other", () => {
  const rows = [
    { messages: said },
    {
      conversations: [
        { from: "human", value: "Hi" },
        { from: "gpt", value: "Hello" },
      ],
    },
    { instruction: "Hi", input: "", output: "Hello" },
    { prompt: "Hi", completion: "Hello" },
    { prompt: [said[0]], completion: [said[1]] },
  ];
  expect(read(rows)).toEqual(rows.map(() => ({ messages: said })));
});

test("Alpaca's input stands under its instruction, behind instructions and earlier turns", () => {
  const [row] = read([{ instruction: "Add.", input: "1 2", output: "3", system: "Be brief.", history: [["Hi", "Hello"]] }]);
  expect(row?.messages).toEqual([
    { role: "system", content: "Be brief." },
    ...said,
    { role: "user", content: "Add.\n1 2" },
    { role: "assistant", content: "3" },
  ]);
});

test("LLaMA-Factory's calls become calls, and results follow them in order", () => {
  const [row] = read([
    {
      conversations: [
        { from: "human", value: "Two prices?" },
        { from: "function_call", value: '[{"name": "price", "arguments": {"of": "tea"}}, {"name": "stock", "arguments": "{}"}]' },
        { from: "observation", value: "3" },
        { from: "observation", value: "4" },
        { from: "function_call", value: '{"name": "price", "arguments": {}}' },
        { from: "observation", value: "5" },
        { from: "gpt", value: "3, 4 and 5." },
      ],
      system: "Sell.",
      tools:
        '[{"name": "price", "description": "Tells.", "parameters": {"type": "object", "properties": {}}}, {"name": "stock"}]',
    },
  ]);
  expect(row?.messages).toEqual([
    { role: "system", content: "Sell." },
    { role: "user", content: "Two prices?" },
    {
      ...{ role: "assistant", content: "" },
      toolCalls: [
        { name: "price", arguments: { of: "tea" } },
        { name: "stock", arguments: {} },
      ],
    },
    { role: "tool", name: "price", content: "3" },
    { role: "tool", name: "stock", content: "4" },
    { role: "assistant", content: "", toolCalls: [{ name: "price", arguments: {} }] },
    { role: "tool", name: "price", content: "5" },
    { role: "assistant", content: "3, 4 and 5." },
  ]);
  expect(row?.tools?.map(({ name, description }) => [name, description])).toEqual([
    ["price", "Tells."],
    ["stock", ""],
  ]);
});

test.each([
  ["a pair of answers", { prompt: "Hi", chosen: "Hello", rejected: "No" }, 'item 2 is "a preference"'],
  ["an answer that was disliked", { messages: said, label: false }, 'item 2 is "a preference"'],
  ["images", { messages: said, images: ["a.png"] }, 'item 2 is "images or sound"'],
  ["a text", { text: "Once upon a time" }, 'item 2 is "a text alone"'],
  ["a call that is no JSON", { conversations: [{ from: "function_call", value: "price(" }] }, "item 2: conversations.0.value"],
  ["a call without a name", { conversations: [{ from: "function_call", value: "{}" }] }, "item 2: conversations.0.value"],
  ["tools that are no JSON", { conversations: [{ from: "human", value: "" }], tools: "[" }, "item 2: tools"],
  ["tools that are no list", { conversations: [{ from: "human", value: "" }], tools: "{}" }, "item 2: tools"],
  ["another role", { conversations: [{ from: "bot", value: "" }] }, "item 2: messages.0.role"],
  ["no object", 3, "item 2: the line"],
  ["a weight of the row", { messages: said, weight: 0.5 }, "item 2: weight"],
  ["a split", { messages: said, split: "test" }, "item 2: split"],
  ["another first question", { messages: said, prompt: "Bye" }, "item 2: prompt"],
  [
    "variables of the template",
    { messages: said, chat_template_kwargs: { enable_thinking: false } },
    "item 2: chat_template_kwargs",
  ],
  ["documents", { prompt: "Hi", completion: "Hello", documents: [{ text: "a" }] }, "item 2: documents"],
  ["a system message in a prompt's row", { prompt: "Hi", completion: "Hello", system: "Be brief." }, "item 2: system"],
  ["a second system message", { messages: [{ role: "system", content: "a" }, ...said], system: "b" }, "item 2: system"],
  ["a mask of another length", { messages: said, loss_mask: [1] }, "item 2: loss_mask"],
  ["a turn with more", { conversations: [{ from: "gpt", value: "a", emotion: "glad" }] }, "item 2: conversations.0.emotion"],
  ["a column of Alpaca's that is not known", { instruction: "Hi", output: "Hello", rationale: "b" }, "item 2: rationale"],
])("%s is refused by its place", (_, row, message) => {
  expect(() => read([{ messages: said }, row])).toThrow(message);
});

test("an empty list of images, and an answer that was liked, are no reason to refuse", () => {
  expect(read([{ messages: said, images: [], label: true, rejected: undefined }])).toHaveLength(1);
});

test("a system column, tools as JSON, columns of provenance and nulls of a table are taken", () => {
  const tools = JSON.stringify([{ name: "price", description: "Tells.", parameters: { type: "object", properties: {} } }]);
  const nulls = { tool_calls: null, reasoning: null, weight: null, anything: null };
  const row = {
    messages: said.map((each) => ({ ...each, ...nulls })),
    system: "Be brief.",
    tools,
    prompt: "Hi",
    prompt_id: "a",
    source: "b",
    rejected_reason: null,
  };
  const [{ messages, tools: offered }] = read([row]);
  expect(messages).toEqual([{ role: "system", content: "Be brief." }, ...said]);
  expect(offered?.map(({ name }) => name)).toEqual(["price"]);
});

test("messages under ShareGPT's name are messages", () => {
  expect(read([{ conversations: said }])).toEqual([{ messages: said }]);
});

const turns = [
  { from: "human", value: "Where is Tea?" },
  { from: "gpt", value: "8" },
  { from: "human", value: "Sure?" },
  { from: "gpt", value: "7" },
];

test.each([
  ["weight", { conversations: turns.map((turn, i) => (i === 1 ? { ...turn, weight: 0 } : turn)) }],
  ["loss_mask of the row", { conversations: turns, loss_mask: [1, 0, 1, 1] }],
])("a message of ShareGPT that is not to be learned is shown and not learned: %s", (_, row) => {
  expect(read([row])[0].messages).toEqual([
    { role: "user", content: "Where is Tea?" },
    { role: "assistant", content: "8", learned: false },
    { role: "user", content: "Sure?" },
    { role: "assistant", content: "7" },
  ]);
});

/** A row as a line of the OpenAI chat format, or why it is none. */
function row(value: unknown): unknown {
  try {
    return chatRow(value, "item 1");
  } catch (error) {
    return String(error);
  }
}

test("roles of ShareGPT are those of the OpenAI format, and others stay", () => {
  const roles = [
    "human",
    "gpt",
    "chatgpt",
    "model",
    "observation",
    "function_response",
    "system",
    "user",
    "assistant",
    "tool",
    "x",
  ];
  const conversations = roles.map((from) => ({ from, value: from }));
  const { messages } = row({ conversations }) as { readonly messages: readonly { readonly role: string }[] };
  expect(messages.map(({ role }) => role)).toEqual([
    ...["user", "assistant", "assistant", "assistant", "tool", "tool", "system", "user", "assistant", "tool", "x"],
  ]);
});

test("a row becomes messages, tools and a mask, and nothing else", () => {
  const said = [{ from: "gpt", value: "a", weight: 0, loss: false }];
  expect(row({ conversations: said, system: "s", tools: '[{"name":"t"}]', loss_mask: [1], id: 7 })).toEqual({
    messages: [{ role: "assistant", content: "a", weight: 0, loss: false }],
    system: "s",
    tools: [{ name: "t" }],
    loss_mask: [1],
  });
  expect(row({ conversations: said, tools: "", system: null })).toEqual({
    messages: [{ role: "assistant", content: "a", weight: 0, loss: false }],
    system: null,
    tools: undefined,
  });
  expect(row({ conversations: said, tools: [], loss_mask: null })).toEqual({
    messages: [{ role: "assistant", content: "a", weight: 0, loss: false }],
    system: undefined,
    tools: undefined,
  });
  expect(row({ instruction: "q", output: "a", text: "q a", history: [["h", "i"]] })).toEqual({
    messages: ["h", "i", "q", "a"].map((content, i) => ({ role: i % 2 === 0 ? "user" : "assistant", content })),
    system: undefined,
  });
  expect(row({ prompt: [{ role: "user", content: "q" }], completion: "a", tools: ["t"] })).toEqual({
    messages: [
      { role: "user", content: "q" },
      { role: "assistant", content: "a" },
    ],
    tools: ["t"],
  });
});

test("what is no row of a known form is returned as it is", () => {
  for (const other of [3, null, "text", { prompt: "a" }, { other: 1 }]) expect(row(other)).toBe(other);
  expect(row({ messages: [], tools: '["t"]', prompt: undefined })).toEqual({ messages: [], tools: ["t"] });
  expect(row({ messages: [{ role: "user", content: "q" }], prompt: "q", tools: ["t"] })).toEqual({
    messages: [{ role: "user", content: "q" }],
    tools: ["t"],
  });
  const other = { messages: [{ role: "assistant", content: "q" }], prompt: "q" };
  expect(row(other)).toEqual(other);
  expect(row({ conversations: [{ role: "user", content: "q" }], tools: "[]", more: 1 })).toEqual({
    messages: [{ role: "user", content: "q" }],
    tools: undefined,
    more: 1,
  });
});

test("calls are one or a list, and a result is of the call before it, or the next of several", () => {
  const call = (name: string) => ({ name, arguments: { of: name } });
  const conversations = [
    { from: "observation", value: "0" },
    { from: "function_call", value: JSON.stringify([call("a"), call("b")]), train: false },
    ...["1", "2", "3"].map((value) => ({ from: "observation", value })),
    { from: "function_call", value: JSON.stringify(call("c")) },
    ...["4", "5"].map((value) => ({ from: "observation", value })),
  ];
  const { messages } = row({ conversations }) as { readonly messages: readonly { readonly name?: string }[] };
  expect(messages.map(({ name }) => name)).toEqual([undefined, undefined, "a", "b", "b", undefined, "c", "c"]);
  expect(messages[1]).toEqual({
    ...{ role: "assistant", train: false },
    tool_calls: [{ function: call("a") }, { function: call("b") }],
  });
});

test("rows that are no demonstrations are refused with what to do, and others by their field", () => {
  expect(
    [
      { prompt: "q", chosen: "a", rejected: "b" },
      { messages: [], label: false },
      { messages: [], images: ["i"] },
      { messages: [], videos: ["i"] },
      { messages: [], audios: ["i"] },
      { text: "t" },
      { conversations: [] },
      { conversations: [{ from: "gpt", value: 3 }] },
      { instruction: "q", output: 3 },
      { prompt: "q", completion: 3 },
      { prompt: "q", completion: "a", tools: "{}" },
      { conversations: [{ from: "function_call", value: "[]" }] },
    ].map(row),
  ).toMatchInlineSnapshot(`
    [
      "ConfigError: item 1 is "a preference"; expected a demonstration. sft learns all that the assistant says: keep the chosen answers alone, as messages.",
      "ConfigError: item 1 is "a preference"; expected a demonstration. sft learns all that the assistant says: keep the chosen answers alone, as messages.",
      "ConfigError: item 1 is "images or sound"; expected a demonstration. Models here read text alone.",
      "ConfigError: item 1 is "images or sound"; expected a demonstration. Models here read text alone.",
      "ConfigError: item 1 is "images or sound"; expected a demonstration. Models here read text alone.",
      "ConfigError: item 1 is "a text alone"; expected a demonstration. sft learns what the assistant says in a conversation: give it messages.",
      {
        "messages": [],
      },
      "ConfigError: item 1: conversations.0.value is "Invalid input: expected string, received number"; expected a row of a known form. Leave the column out if it says nothing.",
      "ConfigError: item 1: output is "Invalid input: expected string, received number"; expected a row of a known form. Leave the column out if it says nothing.",
      "ConfigError: item 1: completion is "Invalid input: expected string, received number"; expected a row of a known form. Leave the column out if it says nothing.",
      "ConfigError: item 1: tools is "{}"; expected ✖ Invalid input: expected array, received object.",
      "ConfigError: item 1: conversations.0.value is "[]"; expected a call's name and arguments.",
    ]
  `);
});
