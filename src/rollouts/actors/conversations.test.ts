import { expect, test } from "vitest";
import { families, familyChat } from "../../../test/fixtures/families.ts";
import type { ConversationRequest } from "../../chat/conversation.ts";
import type { Message } from "../../core/messages.ts";
import type { Tool } from "../../tools/tool.ts";
import { CapturedHistories } from "./captured.ts";

const find: Tool = { name: "find", description: "Finds.", parameters: { type: "object", properties: {} }, execute: () => "" };
const book: Tool = { ...find, name: "book" };
const system = (content: string): Message => ({ role: "system", content });
const user = (content: string): Message => ({ role: "user", content });
const said = (content: string): Message => ({ role: "assistant", content });

/** Plays requests of an agent, each with the answer that it gets. */
function played(...asked: readonly (readonly [request: ConversationRequest, answer: string])[]) {
  const chat = familyChat(families.Mistral);
  const histories = new CapturedHistories(chat);
  for (const [turn, [request, answer]] of asked.entries())
    histories.keep(
      histories.contextOf(request),
      { action: chat.tokenizer.encode(answer), message: { role: "assistant", content: answer } },
      turn,
    );
  return histories.captured();
}

const none = { branches: 0, compactions: 0, subagents: 0, auxiliary: 0 };
const agent = [system("You help."), user("Find Ana.")];
const tools = [find];
const first: [ConversationRequest, string] = [{ messages: agent, tools }, "c1"];

test("an agent that continues its conversation has one context", () => {
  const second: [ConversationRequest, string] = [{ messages: [...agent, said("c1"), user("And Bea?")], tools }, "c2"];
  expect(played(first, second).counts).toEqual({ ...none, contexts: 1 });
});

test("the same request twice, and two ways on from one message, are branches", () => {
  const on = (text: string): [ConversationRequest, string] => [{ messages: [...agent, said("c1"), user(text)], tools }, "x"];
  expect(played(first, first).counts).toEqual({ ...none, contexts: 1, branches: 1 });
  expect(played(first, on("And Bea?"), on("And Carl?")).counts).toEqual({ ...none, contexts: 1, branches: 1 });
});

test("a history with a part left out, and one that begins with a summary, are compactions", () => {
  const shorter: [ConversationRequest, string] = [{ messages: [...agent, user("Go on.")], tools }, "x"];
  expect(played(first, shorter).counts).toEqual({ ...none, contexts: 2, compactions: 1 });
  const summary: [ConversationRequest, string] = [{ messages: [user("Summarise: Find Ana. c1")] }, "Ana is c1."];
  const later: [ConversationRequest, string] = [
    { messages: [system("You help."), user("So far: Ana is c1. Continue.")], tools },
    "x",
  ];
  // A summary that is used later is a part of the work, and so is trained.
  expect(played(first, summary, later)).toEqual({
    counts: { ...none, contexts: 3, compactions: 1, subagents: 1 },
    auxiliary: [],
  });
});

test("another system message or other tools are a sub-agent's", () => {
  const handed: [ConversationRequest, string] = [{ messages: [system("You book."), user("Find Ana.")], tools: [book] }, "x"];
  expect(played(first, handed).counts).toEqual({ ...none, contexts: 2, subagents: 1 });
  const voice: [ConversationRequest, string] = [{ messages: [system("You book."), user("Find Ana.")], tools }, "x"];
  const equipped: [ConversationRequest, string] = [{ messages: agent, tools: [book] }, "x"];
  // One agent that is asked for something else has begun again: what it is told each time is no history.
  const second: [ConversationRequest, string] = [{ messages: [system("You help."), user("Find Bea.")], tools }, "x"];
  expect(played(first, second).counts).toEqual({ ...none, contexts: 2 });
  for (const other of [voice, equipped]) expect(played(first, other).counts).toEqual({ ...none, contexts: 2, subagents: 1 });
});

test("a title is auxiliary; an answer that is used later, the last one, a form and an agent without tools are not", () => {
  const title: [ConversationRequest, string] = [{ messages: [user("A title for: Find Ana.")] }, "Finding Ana"];
  expect(played(title, first)).toEqual({ counts: { ...none, contexts: 1, auxiliary: 1 }, auxiliary: [0] });
  const planned: [ConversationRequest, string] = [{ messages: [system("You help."), user("Plan: Finding Ana")], tools }, "x"];
  expect(played(title, planned).auxiliary).toEqual([]);
  expect(played(first, title).auxiliary).toEqual([]);
  expect(played([{ ...title[0], form: "json" }, title[1]], first).auxiliary).toEqual([]);
  expect(played(title, [{ messages: agent }, "c1"]).auxiliary).toEqual([]);
});
