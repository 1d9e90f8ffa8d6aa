import { expect, test } from "vitest";
import { z } from "zod";
import { host } from "../core/host.ts";
import { defineTool, type Tool } from "../tools/tool.ts";
import { callTool } from "./call-tool.ts";

const add = defineTool({
  name: "add",
  description: "Adds.",
  parameters: z.strictObject({ a: z.int(), b: z.int().default(1) }),
  execute: ({ a, b }) => a + b,
});
const broken: Tool = {
  name: "broken",
  description: "Throws.",
  parameters: { type: "object", properties: { n: { type: "integer" } }, required: ["n"] },
  execute: () => {
    throw new Error("no connection");
  },
};
const hanging: Tool = {
  name: "hanging",
  description: "Never answers.",
  parameters: { type: "object" },
  timeoutMs: 5,
  execute: () => new Promise(() => {}),
};
const call = (name: string, args: Record<string, unknown>) => callTool([add, broken, hanging], { name, arguments: args });

test("a tool is given its arguments as its schema makes them, and its result is shown as JSON", async () => {
  expect(await call("add", { a: 2 })).toEqual({ valid: true, content: "3" });
  const echo = (result: unknown): Tool => ({ ...hanging, execute: async () => result });
  expect((await callTool([echo("as it is")], { name: "hanging", arguments: {} })).content).toBe("as it is");
  expect((await callTool([echo([{ id: 1 }])], { name: "hanging", arguments: {} })).content).toBe('[{"id":1}]');
  expect((await callTool([echo(undefined)], { name: "hanging", arguments: {} })).content).toBe("");
});

test("an unknown tool is answered with the tools there are", async () => {
  expect(await call("ad", {})).toEqual({
    valid: false,
    content: 'Error: there is no tool "ad". The tools are add, broken, hanging.',
  });
});

test("arguments that do not fit are answered with what is wrong, by zod and by JSON schema", async () => {
  const wrongKind = await call("add", { a: "x", c: 1 });
  expect(wrongKind.valid).toBe(false);
  expect(wrongKind.content).toMatch(/wrong arguments for add\. a: .*expected number/);
  expect((await call("broken", {})).content).toMatch(/wrong arguments for broken\. n: /);
});

test("what a tool throws is reported to the model, and counts as a valid call", async () => {
  expect(await call("broken", { n: 1 })).toEqual({
    valid: true,
    failure: "error",
    content: "Error: no connection",
  });
});

test("a tool that hangs is given up, and its signal aborted", async () => {
  let given: AbortSignal | undefined;
  const tool: Tool = {
    ...hanging,
    execute: (_, { signal }) => {
      given = signal;
      return new Promise(() => {});
    },
  };
  expect(await callTool([tool], { name: "hanging", arguments: {} })).toEqual({
    valid: true,
    failure: "timeout",
    content: "Error: hanging gave no answer within 5 ms",
  });
  expect(given?.aborted).toBe(true);
});

test("cancelling ends a call at once", async () => {
  const controller = new AbortController();
  const pending = callTool([{ ...hanging, timeoutMs: 60_000 }], { name: "hanging", arguments: {} }, controller.signal);
  controller.abort(new Error("stopped"));
  await expect(pending).rejects.toThrow("stopped");
});

test("a result of megabytes is cut with a notice, where the tool says or at 20,000 characters", async () => {
  const result = (value: unknown, maxOutput?: number) =>
    callTool([{ ...hanging, maxOutput, execute: () => value }], { name: "hanging", arguments: {} });
  expect((await result("x".repeat(3_000_000))).content).toBe(
    `${"x".repeat(20_000)}\n[cut: the first 20000 of 3000000 characters]`,
  );
  expect((await result([1, 2, 3], 4)).content).toBe("[1,2\n[cut: the first 4 of 7 characters]");
  expect((await result("a😀b", 2)).content).toBe("a\n[cut: the first 1 of 4 characters]");
  expect((await result("abcd", 4)).content).toBe("abcd");
  const throwing = () => {
    throw new Error("y".repeat(50_000));
  };
  expect((await callTool([{ ...hanging, execute: throwing }], { name: "hanging", arguments: {} })).content.length).toBeLessThan(
    20_100,
  );
});

test("binary results are named, and text keeps nothing that is no text", async () => {
  const result = (value: unknown) => callTool([{ ...hanging, execute: () => value }], { name: "hanging", arguments: {} });
  expect((await result(new Uint8Array(5))).content).toBe("[binary data, 5 bytes: not shown]");
  expect((await result(Buffer.from("abc"))).content).toBe("[binary data, 3 bytes: not shown]");
  expect((await result(new ArrayBuffer(2))).content).toBe("[binary data, 2 bytes: not shown]");
  expect((await result("a\0b\u001b[1m\ud800c\td\r\n😀")).content).toBe("a\ufffdb\ufffd[1m\ufffdc\td\r\n😀");
  const cycle: Record<string, unknown> = {};
  cycle.self = cycle;
  expect((await result(cycle)).content).toMatch(/^Error: Converting circular structure/);
  expect((await result(5n)).content).toMatch(/^Error: .*BigInt/);
});

test("a JSON schema checks nested arguments, fills in no defaults, and lets others through where it allows them", async () => {
  const echo: Tool = {
    ...hanging,
    parameters: {
      type: "object",
      properties: {
        list: { type: "array", items: { type: "object", properties: { n: { type: "integer", minimum: 1 } }, required: ["n"] } },
        mode: { enum: ["a", "b"], default: "a" },
      },
    },
    execute: (args) => args,
  };
  const ask = async (args: Record<string, unknown>) => callTool([echo], { name: "hanging", arguments: args });
  expect((await ask({ list: [{ n: 2 }], other: "kept" })).content).toBe('{"list":[{"n":2}],"other":"kept"}');
  expect((await ask({ list: [{ n: 0 }] })).content).toMatch(/list\.0\.n/);
  expect((await ask({ list: [{}] })).valid).toBe(false);
  expect((await ask({ mode: "c" })).content).toMatch(/mode: /);
});

test("whatever is thrown is reported, also by a schema, and also what has no text", async () => {
  const tool = (change: Partial<Tool>): Tool => ({
    name: "t",
    description: "",
    parameters: { type: "object" },
    execute: () => 1,
    ...change,
  });
  const told = async (change: Partial<Tool>) => (await callTool([tool(change)], { name: "t", arguments: { a: "x" } })).content;
  const throwing = (thrown: unknown) => () => {
    throw thrown;
  };
  expect(await told({ execute: throwing("plain") })).toBe("Error: plain");
  expect(await told({ execute: throwing(undefined) })).toBe("Error: undefined");
  expect(await told({ execute: throwing(Object.create(null)) })).toBe("Error: something that has no text was thrown");
  expect(await told({ execute: throwing({ toString: throwing(new Error("again")) }) })).toMatch(/has no text/);
  expect(await told({ parameters: z.object({ a: z.string().refine(throwing(new Error("in the schema"))) }) })).toBe(
    "Error: in the schema",
  );
  expect(await told({ parameters: z.object({ a: z.string().refine(async () => false, "no such name") }) })).toBe(
    "Error: wrong arguments for t. a: no such name.",
  );
  expect(await told({ timeoutMs: 5, parameters: z.object({ a: z.string().refine(() => new Promise(() => {})) }) })).toMatch(
    /^Error: t gave no answer within 5 ms/,
  );
});

test("a pattern of a JSON schema that backtracks without end is stopped, and the program continues", async () => {
  const pattern = { type: "object", properties: { name: { type: "string", pattern: "^(a+)+$" } } } as const;
  const tool: Tool = { name: "lookup", description: "", parameters: pattern, execute: () => "found" };
  const call = (name: string) => callTool([tool], { name: "lookup", arguments: { name } });
  expect(await call(`${"a".repeat(60)}b`)).toEqual({
    valid: true,
    failure: "error",
    content: "Error: the value could not be checked: a pattern of the schema has no end within 1000 ms",
  });
  expect(await call("aaa")).toMatchObject({ content: "found" });
  expect(await call("b")).toMatchObject({ valid: false, failure: "invalid" });
});

test("a schema that cannot be checked leaves the judgement to its tool, and is a warning once", async () => {
  const warned: string[] = [];
  const warn = host.warn;
  host.warn = (message) => void warned.push(message);
  try {
    const remote = { type: "object", properties: { a: { $ref: "https://x.example/schema" } } } as const;
    const tool = (name: string): Tool => ({ ...hanging, name, parameters: remote, execute: (args) => args });
    for (const name of ["far", "far", "near"])
      expect(await callTool([tool(name)], { name, arguments: { a: 1 } })).toEqual({ valid: true, content: '{"a":1}' });
    expect(warned.map((message) => message.split(":")[0])).toEqual([
      "Arguments of far are not checked",
      "Arguments of near are not checked",
    ]);
  } finally {
    host.warn = warn;
  }
});

test("what JSON loses of a result is named beside it", async () => {
  const tool: Tool = { ...hanging, execute: () => ({ a: new Map([[1, 2]]) }) };
  const { lost, ...shown } = await callTool([tool], { name: "hanging", arguments: {} });
  expect(shown).toEqual({ valid: true, failure: "lost", content: '{"a":"[a Map of 1: not shown]"}' });
  expect(lost).toMatch(/Map/);
  expect(await callTool([{ ...tool, execute: () => ({}) }], { name: "hanging", arguments: {} })).toEqual({
    valid: true,
    content: "{}",
  });
});

test("all wrong arguments are named, those without a path by themselves", async () => {
  const schema = z.object({ a: z.int(), b: z.object({ c: z.string() }) }).refine(() => false, "never right");
  const asked = (args: Record<string, unknown>) =>
    callTool([{ ...hanging, name: "t", parameters: schema }], { name: "t", arguments: args });
  expect(await asked({ a: "x", b: {} })).toEqual({
    ...{ valid: false, failure: "invalid" },
    content:
      "Error: wrong arguments for t. a: Invalid input: expected number, received string. " +
      "b.c: Invalid input: expected string, received undefined.",
  });
  expect((await asked({ a: 1, b: { c: "x" } })).content).toBe("Error: wrong arguments for t. never right.");
});
