import { expect, test } from "vitest";
import { conversationOf } from "./trace.ts";

const trace = (...parents: readonly (number | null)[]) => ({
  nodes: parents.map((parent, i) => ({ parent, message: { role: "user" as const, content: String(i) } })),
  errors: [],
  scalars: {},
});

test("a conversation is the way from the root to the last node", () => {
  expect(conversationOf(trace(null, 0, 0, 2)).map(({ content }) => content)).toEqual(["0", "2", "3"]);
  expect(conversationOf(trace())).toEqual([]);
});

test.each([[[null, 2, 1]], [[null, 1]], [[null, 7]]])(
  "parents %j, which lead nowhere or round, are a fault by field",
  (parents) => {
    expect(() => conversationOf(trace(...parents))).toThrow(/parent of node \d of the trace.*index below/);
  },
);
