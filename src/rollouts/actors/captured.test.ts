import { expect, test } from "vitest";
import { families, familyChat } from "../../../test/fixtures/families.ts";
import type { AssistantMessage, Message } from "../../core/messages.ts";
import type { Tool } from "../../tools/tool.ts";
import { CapturedHistories } from "./captured.ts";

const find: Tool = { name: "find", description: "Finds.", parameters: { type: "object", properties: {} }, execute: () => "" };
const question: Message = { role: "user", content: "Who?" };

/** The contexts of a question, and of the answer that an agent sends back with an id of a call. */
function heard(message: AssistantMessage, callId: string) {
  const chat = familyChat(families.Mistral);
  const histories = new CapturedHistories(chat);
  const asked = histories.contextOf({ messages: [question], tools: [find] });
  const { context } = asked;
  const action = chat.tokenizer.encode(chat.action(context, message));
  histories.keep(asked, { action, message }, 0);
  const answer: Message = { role: "tool", name: "find", content: "c1", callId };
  return { chat, context, action, next: histories.contextOf({ messages: [question, message, answer], tools: [find] }).context };
}

test("an id that was made for the agent does not reach the template, which makes its own", () => {
  const message: AssistantMessage = { role: "assistant", content: "", toolCalls: [{ name: "find", arguments: {} }] };
  // Mistral's template refuses ids that are not nine letters and digits.
  const { chat, context, action, next } = heard(message, "call_1_0");
  expect(next.text).toContain('"call_id": "c00000000"');
  expect([...next.ids].slice(0, context.ids.length + action.length)).toEqual([...context.ids, ...action]);
  expect(chat.tokenizer.decode([...next.ids])).not.toContain("call_1_0");
});

test("an id that the model wrote is the answer's", () => {
  const message: AssistantMessage = {
    role: "assistant",
    content: "",
    toolCalls: [{ id: "abcdef123", name: "find", arguments: {} }],
  };
  expect(heard(message, "abcdef123").next.text).toContain('"call_id": "abcdef123"');
});

test("the same conversation asked again has the same context, one that parts is a branch behind what both share", () => {
  const chat = familyChat(families.Mistral);
  const histories = new CapturedHistories(chat);
  const asked = histories.contextOf({ messages: [question] });
  const { context } = asked;
  expect(histories.contextOf({ messages: [question] }).context).toBe(context);
  expect(histories.contextOf({ messages: [question], tools: [find] }).context).not.toBe(context);
  const message: AssistantMessage = { role: "assistant", content: "Ana" };
  const action = chat.tokenizer.encode(chat.action(context, message));
  histories.keep(asked, { action, message }, 0);
  const messages: Message[] = [question, { role: "assistant", content: "Bea" }, { role: "user", content: "Why?" }];
  const { context: parted } = histories.contextOf({ messages });
  expect([...parted.ids]).toEqual([
    ...chat.open([question, { role: "assistant", content: "Bea" }, { role: "user", content: "Why?" }], []).ids,
  ]);
  expect(parted.ids.path()[0].ids[0]).toBe(context.ids.path()[0].ids[0]);
});
