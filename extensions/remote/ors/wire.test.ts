import { expect, test } from "vitest";
import type { Message } from "../../../src/core/messages.ts";
import {
  blocksText,
  messageBlockTypes,
  messagesOf,
  messagesSchema,
  toolOutputSchema,
  toolsSchema,
  wireMessages,
} from "./wire.ts";

const text = (said: string) => ({ type: "text", text: said });
const image = { type: "image", data: "AAAAA", mimeType: "image/png" };

test("blocks are lines, and an image is named by its type and length", () => {
  const blocks = [
    { type: "text" as const, text: "a" },
    { ...image, type: "image" as const },
  ];
  expect(blocksText(blocks)).toBe("a\n[image/png, 5 characters: not shown]");
  expect(blocksText([])).toBe("");
  expect(messageBlockTypes).toEqual(["text", "image", "reasoning", "tool_call", "tool_result"]);
});

test("results stand before a user's own words; names come from calls of any message before", () => {
  const call = (id: string) => ({ type: "tool_call", id, name: `n${id}`, input: {} });
  const result = (id: string) => ({ type: "tool_result", tool_call_id: id, blocks: [text(`r${id}`)] });
  const given = messagesSchema.parse([
    { role: "assistant", blocks: [call("1"), call("2")] },
    { role: "user", blocks: [result("2"), text("And?"), result("1"), result("9")] },
    { role: "user", blocks: [result("1")] },
    { role: "user", blocks: [] },
    { role: "assistant", blocks: [{ type: "reasoning", text: "a" }, text("b"), { type: "reasoning", text: "c" }, text("d")] },
  ]);
  const tool = (id: string, name = `n${id}`) => ({ role: "tool", name, callId: id, content: `r${id}` });
  expect(messagesOf(given)).toEqual([
    { role: "assistant", content: "", toolCalls: ["1", "2"].map((id) => ({ id, name: `n${id}`, arguments: {} })) },
    ...[tool("2"), tool("1"), tool("9", "unknown")],
    { role: "user", content: "And?" },
    tool("1"),
    { role: "user", content: "" },
    { role: "assistant", content: "b\nd", reasoning: "a\nc" },
  ]);
});

test("messages go there with an id for each call, which its result finds; empty ones stay here", () => {
  const messages: Message[] = [
    { role: "system", content: "Be brief." },
    { role: "user", content: "" },
    {
      role: "assistant",
      content: "",
      toolCalls: [
        { name: "f", arguments: { a: 1 } },
        { id: "own", name: "g", arguments: {} },
      ],
    },
    { role: "tool", name: "f", content: "1" },
    { role: "tool", name: "g", content: "" },
    { role: "assistant", content: "So.", reasoning: "Hm.", toolCalls: [{ name: "h", arguments: {} }] },
    { role: "tool", name: "h", callId: "given", content: "3" },
  ];
  const call = (id: string, name: string, input: object = {}) => ({ type: "tool_call", id, name, input });
  const result = (id: string, ...blocks: object[]) => ({
    ...{ role: "user", blocks: [{ type: "tool_result", tool_call_id: id, blocks }] },
  });
  expect(wireMessages(messages)).toEqual([
    { role: "system", blocks: [text("Be brief.")] },
    { role: "assistant", blocks: [call("call_0", "f", { a: 1 }), call("own", "g")] },
    result("call_0", text("1")),
    result("own"),
    { role: "assistant", blocks: [{ type: "reasoning", text: "Hm." }, text("So."), call("call_1", "h")] },
    result("given", text("3")),
  ]);
});

test.each([
  [{ ok: true, output: { blocks: [], metadata: { any: 1 } } }, true],
  [{ ok: true, output: { blocks: [], metadata: null, reward: "1" } }, false],
  [{ ok: true, output: { blocks: [], metadata: null, score: 1 } }, false],
  [{ ok: true, output: { blocks: [{ ...image, detail: "x" }], metadata: null } }, true],
  [{ ok: false, error: "no", reason: "x" }, true],
  [{ ok: false }, false],
])("%j is an output: %s", (output, accepted) => {
  expect(toolOutputSchema.safeParse(output).success).toBe(accepted);
});

test("a tool without a schema takes no arguments; what the schema says beside stays", () => {
  const tools = toolsSchema.parse({
    tools: [
      { name: "a", input_schema: null },
      { name: "b", description: "B.", input_schema: { properties: { x: {} }, required: ["x"], type: "other" } },
    ],
  });
  expect(tools).toEqual({
    tools: [
      { name: "a", description: "", input_schema: { type: "object", properties: {} } },
      { name: "b", description: "B.", input_schema: { type: "object", properties: { x: {} }, required: ["x"] } },
    ],
  });
  expect(toolsSchema.safeParse({ tools: [{ name: "" }] }).success).toBe(false);
  expect(toolsSchema.safeParse({ tools: [], terminal_tool: { name: "f" } }).success).toBe(false);
});
