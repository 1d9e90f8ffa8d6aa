import { expect, test } from "vitest";
import { Assembly, conversationOf, rewardOf, scoresOf } from "./trace.ts";

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

const delta = (more: object) => ({ trace: "t", ...more });
const node = (content: unknown, more: object = {}) => ({ parent: null, message: { role: "user", content, ...more } });

test("a trace is put together from its news, and is whole only with all of its messages", () => {
  const assembly = new Assembly();
  assembly.apply(delta({ open: { version: 1, verifiers: { version: "0.4.2" } }, nodes: [node("a")] }));
  assembly.apply(delta({ nodes: [node("b")], errors: [{ type: "E", message: "m" }], set: { ok: false, metrics: { x: 1 } } }));
  assembly.apply(delta({ set: { ok: true } }));
  const [whole] = assembly.finish({ traces: [{ id: "t", nodes: 2 }] });
  expect(whole).toMatchObject({ verifiers: "0.4.2", errors: [{ type: "E" }], scalars: { ok: true, metrics: { x: 1 } } });
  expect(whole.nodes.map(({ message }) => message.content)).toEqual(["a", "b"]);
  expect(() => assembly.finish({ traces: [{ id: "t", nodes: 3 }] })).toThrow("trace t has 2 of 3 messages");
  expect(() => assembly.finish({ traces: [{ id: "u", nodes: 1 }] })).toThrow("trace u has 0 of 1 messages");
  assembly.apply(delta({ discard: true }));
  expect(() => assembly.finish({ traces: [{ id: "t", nodes: 2 }] })).toThrow("trace t has 0 of 2 messages");
});

test.each([
  [{ open: { version: 2, verifiers: { version: "x" } } }, false],
  [{ calls: [], links: 1, pending: {} }, true],
  [{ rewards: {} }, false],
  [{ set: { rewards: { a: { score: 1, share: 2 } } } }, false],
  [{ set: { timing: {}, num_total_tokens: 1 } }, true],
  [{ nodes: [{ ...node("a"), tokens: [1] }] }, true],
  [{ nodes: [node("a", { audio: "x" })] }, false],
])("news with %j are read: %s", (more, isRead) => {
  const apply = () => new Assembly().apply(delta(more));
  if (isRead) expect(apply).not.toThrow();
  else expect(apply).toThrow();
});

const scored = (rewards?: object, metrics?: object) => ({ ...trace(), scalars: { rewards, metrics } }) as never;

test("a reward is the weighted sum, and none where one is missing", () => {
  const rewards = { a: { score: 0.5, weight: 2 }, b: { score: -1, weight: 0.25 } };
  expect(rewardOf(scored(rewards))).toBe(0.75);
  for (const none of [undefined, {}, { a: null }, { ...rewards, c: null }]) expect(rewardOf(scored(none))).toBeUndefined();
  expect(scoresOf(scored({ ...rewards, c: null }, { d: 3, e: null }))).toEqual({ a: 0.5, b: -1, d: 3 });
  expect(scoresOf(scored())).toEqual({});
});

test("messages keep their reasoning, calls and names; contents of parts are lines", () => {
  const call = { id: "c", name: "f", arguments: "[1]" };
  const nodes = [
    node("Be brief.", { role: "system" }),
    { ...node([{ text: "a" }, { type: "image" }, { text: "b" }]), parent: 0 },
    { ...node(null, { role: "assistant", reasoning_content: "Hm.", tool_calls: [call] }), parent: 1 },
    { ...node("1", { role: "tool", name: "f", tool_call_id: "c" }), parent: 2 },
    { ...node("2", { role: "tool" }), parent: 3 },
    { ...node("So.", { role: "assistant", reasoning_content: "", tool_calls: null }), parent: 4 },
  ];
  const assembly = new Assembly();
  assembly.apply(delta({ nodes }));
  expect(conversationOf(assembly.finish({ traces: [{ id: "t", nodes: 6 }] })[0])).toEqual([
    { role: "system", content: "Be brief." },
    { role: "user", content: "a\n\nb" },
    {
      role: "assistant",
      content: "",
      reasoning: "Hm.",
      toolCalls: [{ id: "c", name: "f", arguments: {}, argumentsText: "[1]" }],
    },
    { role: "tool", name: "f", content: "1", callId: "c" },
    { role: "tool", name: "tool", content: "2" },
    { role: "assistant", content: "So." },
  ]);
});
