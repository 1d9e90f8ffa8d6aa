import fc from "fast-check";
import { expect, test } from "vitest";
import type { Message, ToolMessage } from "./messages.ts";
import { failedResult, inCallOrder } from "./tool-results.ts";

const calling = (...ids: string[]): Message => ({
  ...{ role: "assistant", content: "" },
  toolCalls: ids.map((id) => ({ id, name: "find", arguments: {} })),
});
const result = (callId: string): ToolMessage => ({ role: "tool", name: "find", callId, content: `of ${callId}` });
const idsOf = (messages: readonly Message[]) => messages.flatMap((message) => (message.role === "tool" ? [message.callId] : []));

test("results are in the calls' order, whatever order they came in, and other messages keep their places", () => {
  const ids = ["a", "b", "c", "d"];
  fc.assert(
    fc.property(fc.shuffledSubarray(ids, { minLength: 4 }), fc.shuffledSubarray(ids), (first, second) => {
      const user = { role: "user", content: "next" } as const;
      const messages = [calling(...ids), ...first.map(result), user, calling(...ids), ...second.map(result)];
      const ordered = inCallOrder(messages);
      expect(idsOf(ordered)).toEqual([...ids, ...ids.filter((id) => second.includes(id))]);
      expect(ordered[5]).toBe(user);
      expect(inCallOrder(ordered)).toEqual(ordered);
    }),
  );
});

test("calls that follow each other as messages of their own are one list of calls", () => {
  expect(idsOf(inCallOrder([calling("a"), calling("b"), result("b"), result("a"), calling("b"), result("b")]))).toEqual([
    "a",
    "b",
    "b",
  ]);
});

test("without ids a result belongs to the one call of its name; without that it keeps its place", () => {
  const calls: Message = {
    ...{ role: "assistant", content: "" },
    toolCalls: ["price", "stock", "find", "find"].map((name) => ({ name, arguments: {} })),
  };
  const named = (name: string, content: string): ToolMessage => ({ role: "tool", name, content });
  const came = [named("stock", "4"), named("price", "3"), named("find", "x"), named("find", "y")];
  const texts = inCallOrder([calls, ...came])
    .slice(1)
    .map(({ content }) => content);
  expect(texts).toEqual(["3", "4", "x", "y"]);
});

test("of several calls of one name nobody knows which a result answers, so it keeps its place among the others", () => {
  const calls: Message = {
    ...{ role: "assistant", content: "" },
    toolCalls: ["find", "price", "find", "stock"].map((name) => ({ name, arguments: {} })),
  };
  const named = (name: string, content: string): ToolMessage => ({ role: "tool", name, content });
  const came = [named("find", "x"), named("stock", "4"), named("other", "?"), named("price", "3"), named("find", "y")];
  const texts = inCallOrder([calls, ...came]).slice(1);
  expect(texts.map(({ content }) => content)).toEqual(["x", "3", "?", "4", "y"]);
});

test("a failed result says so once", () => {
  expect(["no such row", "Error: no", "[error] no", " "].map(failedResult)).toEqual([
    "Error: no such row",
    "Error: no",
    "[error] no",
    "Error",
  ]);
});
