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
    { role: "assistant", content: "", reasoning: "look it up", toolCalls: [{ name: "find", arguments: { name: "Tea" } }] },
    { role: "tool", name: "find", content: "aisle 7" },
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

test("a file that is missing is named", () => {
  expect(() => readConversations(join(folder, "none.jsonl"))).toThrow("expected a JSONL file of conversations");
});
