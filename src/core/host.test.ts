import { expect, test } from "vitest";
import { z } from "zod";
import { Context } from "./context.ts";
import { ConfigError } from "./errors.ts";
import { host } from "./host.ts";
import { atPointer } from "./json-pointer.ts";
import { messageDoor } from "./message-doors.ts";
import { isMissing, withPackage } from "./optional-package.ts";
import { isBroken, outcomeOf } from "./outcome.ts";
import { readBytes } from "./read-body.ts";
import { parseSettings } from "./settings.ts";

test("what waits already runs before the next turn; a signal may have many listeners", async () => {
  const log: string[] = [];
  setTimeout(() => log.push("timer"), 0);
  await new Promise((resolve) => setTimeout(resolve, 2));
  void Promise.resolve().then(() => log.push("promise"));
  setImmediate(() => log.push("turn"));
  await host.nextTurn();
  expect(log).toEqual(["timer", "promise", "turn"]);
  const warned: unknown[] = [];
  const emitWarning = process.emitWarning;
  process.emitWarning = ((warning: unknown) => void warned.push(warning)) as typeof emitWarning;
  const listen = (signal: AbortSignal) => {
    for (let i = 0; i < 20; i++) signal.addEventListener("abort", () => i);
  };
  const [expected, other] = [new AbortController().signal, new AbortController().signal];
  host.expectListeners(expected);
  listen(expected);
  const before = warned.length;
  listen(other);
  process.emitWarning = emitWarning;
  expect([before, warned.length]).toEqual([0, 1]);
  // What the work needs of the program is taken away again.
  host.interruptAfter(1000, () =>
    expect(Object.getOwnPropertySymbols(globalThis).map(String)).toContain("Symbol(retrograde.interruptible)"),
  );
  expect(Object.getOwnPropertySymbols(globalThis).map(String)).not.toContain("Symbol(retrograde.interruptible)");
});

test("a body that there is not is empty; one of exactly the limit is read", async () => {
  expect(await readBytes(new Response(null), 0)).toEqual(new Uint8Array());
  expect(await readBytes(new Response("abcd"), 4)).toEqual(new TextEncoder().encode("abcd"));
  expect(await readBytes(new Response("abcde"), 4)).toBeUndefined();
  const stop = new AbortController();
  const listeners: string[] = [];
  const { signal } = stop;
  const noted =
    <Args extends readonly unknown[]>(name: string, call: (...args: Args) => void) =>
    (...args: Args) => {
      listeners.push(name);
      call(...args);
    };
  signal.addEventListener = noted("added", signal.addEventListener.bind(signal));
  signal.removeEventListener = noted("removed", signal.removeEventListener.bind(signal));
  await readBytes(new Response("abcd"), 4, signal);
  expect(listeners).toEqual(["added", "removed"]);
});

test("an absent package is named with its own way to install it, whichever code says so", async () => {
  const absent = (code: string) => async () => Promise.reject(Object.assign(new Error("none"), { code }));
  for (const code of ["ERR_MODULE_NOT_FOUND", "MODULE_NOT_FOUND"])
    await expect(withPackage("left-pad", "long lines", absent(code), "left-pad@1")).rejects.toThrow(
      new ConfigError("the package left-pad", undefined, {
        expected: "it to be installed: long lines need it",
        hint: "npm install left-pad@1",
      }),
    );
  expect(await withPackage("left-pad", "long lines", async () => 5)).toBe(5);
  expect([null, undefined, "text", { code: "ENOENT" }].map(isMissing)).toEqual([false, false, false, false]);
});

test("a reference in a JSON document leads to its value, by names that are escaped or encoded", () => {
  const document = { $defs: { "a/b": { "c~d": [1, { e: 2 }] }, "%": 3, x: null } };
  const found = ["#", "#/$defs/a~1b/c~0d/1/e", "#/%24defs/a~1b/c~0d/0", "#/$defs/%", "#/$defs/x"].map((at) =>
    atPointer(document, at),
  );
  expect(found).toEqual([document, 2, 1, 3, null]);
  const none = ["", "x", "#x", "http://x/#/$defs", "#/none", "#/$defs/x/y", "#/toString", "#/$defs/a~1b/c~0d/length/x"];
  expect(none.map((at) => atPointer(document, at))).toEqual(none.map(() => undefined));
});

test("messages of an environment are closed: each role has its fields, and no template drops one", () => {
  const call = { name: "f", arguments: { a: 1 }, id: "1", argumentsText: "{}" };
  const taken = [
    { role: "system", content: "s" },
    { role: "user", content: "u" },
    { role: "assistant", content: "a", reasoning: "r", toolCalls: [call], learned: false },
    { role: "tool", name: "f", callId: "1", content: "t" },
    { role: "tool", name: "f", content: "t" },
  ];
  expect(taken.map((message) => messageDoor.parse(message))).toEqual(taken);
  const refusal = (message: object) =>
    messageDoor.safeParse(message).error?.issues.map(({ path, message: text }) => `${path.join(".")}: ${text}`)[0];
  expect([
    refusal({ role: "user", content: "u", name: "x" }),
    refusal({ role: "system", content: "s", toolCalls: [] }),
    refusal({ role: "assistant", content: "a", tool_calls: [] }),
    refusal({ role: "tool", name: "f", content: "t", tool_call_id: "1" }),
    refusal({ role: "assistant", content: "a", toolCalls: [{ ...call, function: {} }] }),
  ]).toEqual([
    "name: no such field: a user's message has role, content",
    "toolCalls: no such field: a system message has role, content",
    "tool_calls: no such field: an assistant's own message has role, content, reasoning, toolCalls, learned",
    "tool_call_id: no such field: a tool's message has role, name, callId, content",
    "toolCalls.0.function: no such field: a tool call of a message has id, name, arguments, argumentsText",
  ]);
  expect(refusal({ role: "assistant", content: "a", learned: true })).toMatch(/^learned: /);
  expect(refusal({ role: "tool", content: "t" })).toMatch(/^name: /);
});

test("ids of any iterable make a context; a prefix of nothing is none", () => {
  expect([...Context.of(new Set([3, 1]))]).toEqual([3, 1]);
  const empty = Context.of([]);
  expect([empty.prefix(1)?.length, empty.prefix(0), Context.of([1]).extend([]).prefix(1)?.length]).toEqual([0, undefined, 1]);
  expect(Context.from(empty)).toBe(empty);
  expect([...Context.from([4, 5])]).toEqual([4, 5]);
});

test("an episode says nothing of the model where it has no score, or its agent failed before any answer", () => {
  const episode = (stopReason: "done" | "agent-error" | "cancelled", turns: readonly unknown[]) => ({
    ...{ stopReason, turns, reward: 0, scores: {} },
  });
  const cases = [episode("done", []), episode("agent-error", []), episode("agent-error", [1]), episode("cancelled", [1])];
  expect(cases.map(isBroken)).toEqual([false, true, false, true]);
  expect(outcomeOf({ stopReason: "cancelled", reward: 1, scores: {} })).toEqual({ kind: "error", error: "cancelled" });
  expect(outcomeOf({ stopReason: "max-turns", reward: 1, scores: {}, error: "x" })).toEqual({
    kind: "score",
    reward: 1,
    success: true,
  });
});

test("an unknown setting beside a record, a list or a union is named with what is known there", () => {
  const schema = z.strictObject({
    list: z.array(z.discriminatedUnion("kind", [z.strictObject({ kind: z.literal("a"), x: z.int() })])).default([]),
    words: z.record(z.string(), z.strictObject({ n: z.int() })).default({}),
    wide: z.union([z.string(), z.strictObject({ deep: z.strictObject({ n: z.int() }) })]).optional(),
  });
  const message = (value: unknown) => {
    try {
      return parseSettings(schema, value, "at");
    } catch (error) {
      return (error as Error).message;
    }
  };
  expect([
    message({ list: [{ kind: "a", x: 1, y: 2 }] }),
    message({ words: { w: { n: 1, m: 2 } } }),
    message({ wide: { deep: { n: 1, m: 2 } } }),
    message({ list: [{ kind: "b" }] }),
  ]).toEqual([
    'at.list.0.y is 2; expected no setting of this name. Did you mean "x"?',
    "at.words.w.m is 2; expected no setting of this name.",
    'at.wide.deep.m is 2; expected no setting of this name. Did you mean "n"?',
    'at.list.0.kind is "b"; expected "a". Did you mean "a"?',
  ]);
});
