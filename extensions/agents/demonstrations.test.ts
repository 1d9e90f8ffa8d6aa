import { expect, test } from "vitest";
import type { AssistantMessage, Message, ToolCall } from "../../src/core/messages.ts";
import type { Tool } from "../../src/tools/tool.ts";
import { conversationsOf, type Exchange, masked, teaches } from "./demonstrations.ts";

const system: Message = { role: "system", content: "S" };
const user = (content: string): Message => ({ role: "user", content });
const said = (content: string, more: Partial<AssistantMessage> = {}): AssistantMessage => ({
  role: "assistant",
  content,
  ...more,
});
const call = (id?: string, more: Partial<ToolCall> = {}): ToolCall => ({
  ...(id ? { id } : {}),
  name: "find",
  arguments: { of: 1 },
  ...more,
});
const result = (content: string, callId?: string): Message => ({
  role: "tool",
  name: "find",
  content,
  ...(callId ? { callId } : {}),
});
const find: Tool = { name: "find", description: "Finds.", parameters: { type: "object", properties: {} }, execute: () => "" };
const shown = {
  type: "function",
  function: { name: "find", description: "Finds.", parameters: { type: "object", properties: {} } },
};
const exchange = (messages: readonly Message[], answer: AssistantMessage, more: Partial<Exchange> = {}): Exchange => ({
  ...{ messages, answer, tools: [], isCut: false },
  ...more,
});

test("a conversation that a later request continues is one row, with calls, results and reasoning as they were", () => {
  const first = said("", { toolCalls: [call("c1")], reasoning: "Look." });
  // Agents send back neither reasoning nor the order of arguments.
  const sent = said("", { toolCalls: [call("c1")] });
  const tools = [find];
  const rows = conversationsOf([
    exchange([system, user("a")], first, { tools }),
    exchange([system, user("a"), sent, result("one", "c1")], said("It is one."), { tools }),
  ]);
  expect(rows).toEqual([
    {
      messages: [
        { role: "system", content: "S" },
        { role: "user", content: "a" },
        {
          ...{ role: "assistant", content: "", reasoning_content: "Look." },
          tool_calls: [{ id: "c1", type: "function", function: { name: "find", arguments: '{"of":1}' } }],
        },
        { role: "tool", name: "find", tool_call_id: "c1", content: "one" },
        { role: "assistant", content: "It is one." },
      ],
      tools: [shown],
    },
  ]);
});

test("calls and results without ids have none, and arguments are as they were written", () => {
  const [row] = conversationsOf([
    exchange([user("a"), said("", { toolCalls: [call(undefined, { argumentsText: '{ "of": 1 }' })] }), result("one")], said("b")),
  ]);
  expect(row?.messages.slice(1, 3)).toEqual([
    {
      ...{ role: "assistant", content: "", weight: 0 },
      tool_calls: [{ type: "function", function: { name: "find", arguments: '{ "of": 1 }' } }],
    },
    { role: "tool", name: "find", content: "one" },
  ]);
});

test("what the agent put into the assistant's mouth is not learned, nor an answer that was cut", () => {
  const own = exchange([user("a"), said("Let me see."), user("b")], said("Yes."));
  expect(conversationsOf([own])[0]?.messages.slice(1)).toEqual([
    { role: "assistant", content: "Let me see.", weight: 0 },
    { role: "user", content: "b" },
    { role: "assistant", content: "Yes." },
  ]);
  const cut = exchange([user("a")], said("Ye"), { isCut: true });
  const [row] = conversationsOf([cut]);
  expect(row?.messages.at(-1)).toEqual({ role: "assistant", content: "Ye", weight: 0 });
  expect([row && teaches(row), teaches({ messages: [], tools: [] })]).toEqual([false, false]);
  expect(teaches({ messages: [{ role: "user", content: "x" }], tools: [] })).toBe(false);
  expect(teaches(conversationsOf([own])[0] as never)).toBe(true);
});

test("conversations that part are two rows, and what they share is learned once", () => {
  const start = [user("a")];
  const b = said("b");
  const rows = conversationsOf([
    exchange(start, b),
    exchange([...start, b, user("c")], said("d")),
    exchange([...start, b, user("e")], said("f")),
  ]);
  expect(rows.map(({ messages }) => messages.map(({ content, weight }) => (weight === 0 ? `(${content})` : content)))).toEqual([
    ["a", "b", "c", "d"],
    ["a", "(b)", "e", "f"],
  ]);
});

test("the same messages with other tools are another conversation", () => {
  const b = said("b");
  const rows = conversationsOf([exchange([user("a")], b, { tools: [find] }), exchange([user("a"), b, user("c")], said("d"))]);
  expect(
    rows.map(({ messages, tools }) => [
      tools.length,
      messages.map(({ content, weight }) => (weight === 0 ? `(${content})` : content)),
    ]),
  ).toEqual([
    [1, ["a", "b"]],
    [0, ["a", "(b)", "c", "d"]],
  ]);
});

test("an answer that was asked for again is one row, with the newest answer's limit", () => {
  expect(conversationsOf([exchange([user("a")], said("b"), { isCut: true }), exchange([user("a")], said("b"))])).toEqual([
    {
      messages: [
        { role: "user", content: "a" },
        { role: "assistant", content: "b" },
      ],
      tools: [],
    },
  ]);
  expect(conversationsOf([])).toEqual([]);
});

test("keys and passwords are masked at every depth, but for words that a text may have by itself", () => {
  const row = { a: ["x sk-12345678 sk-12345678", 3, null, undefined, { "sk-12345678": "http://u:p@h/?api_key=z" }], b: true };
  expect(masked(row, ["sk-12345678", "x"])).toEqual({
    ...{ a: ["x [key] [key]", 3, null, undefined, { "sk-12345678": "http://[key]@h/?api_key=[key]" }], b: true },
  });
  expect(masked("a key of 1234567 and 12345678", ["1234567", "12345678"])).toBe("a key of 1234567 and [key]");
});
