import { tmpdir } from "node:os";
import { join } from "node:path";
import { jsonSchema, tool } from "ai";
import { expect, test, vi } from "vitest";
import { z } from "zod";
import { z as z3 } from "zod3";
import { ConfigError } from "../../src/core/errors.ts";
import { callTool } from "../../src/rollouts/call-tool.ts";
import { parametersAsJsonSchema } from "../../src/tools/tool.ts";
import { fromAiSdk } from "./ai-sdk.ts";

const weather = tool({
  description: "The weather.",
  inputSchema: z.object({ town: z.string(), days: z.number().default(1) }),
  execute: async ({ town, days }, { toolCallId, abortSignal }) => ({
    town,
    days,
    called: typeof toolCallId === "string" && abortSignal instanceof AbortSignal,
  }),
});
const add = tool({
  inputSchema: jsonSchema<{ a: number }>({ type: "object", properties: { a: { type: "number" } }, required: ["a"] }),
  execute: ({ a }) => a + 1,
});
const call = async (tools: Parameters<typeof fromAiSdk>[0], name: string, args: Record<string, unknown> = {}) =>
  callTool(fromAiSdk(tools), { name, arguments: args });

test("tools of the AI SDK are called as they are, with their schemas", async () => {
  const [first, second] = fromAiSdk({ weather, add });
  expect(first).toMatchObject({ name: "weather", description: "The weather." });
  expect(parametersAsJsonSchema(first)).toMatchObject({ properties: { town: { type: "string" } } });
  expect(parametersAsJsonSchema(second)).toMatchObject({ properties: { a: { type: "number" } } });
  expect(await call({ weather, add }, "weather", { town: "Ulm" })).toEqual({
    valid: true,
    content: '{"town":"Ulm","days":1,"called":true}',
  });
  expect((await call({ add }, "add", { a: 2 })).content).toBe("3");
  expect(await call({ weather }, "weather", {})).toMatchObject({ valid: false });
  expect(await call({ add }, "add", { a: "x" })).toMatchObject({ valid: false });
});

test("a tool may return nothing, and things of its own", async () => {
  const returning = (value: unknown) => ({ t: { inputSchema: z.object({}), execute: () => value } });
  for (const [value, content] of [
    [null, "null"],
    [{ a: 1 }, '{"a":1}'],
    ["", ""],
  ] as const)
    expect(await call(returning(value), "t")).toEqual({ valid: true, content });
});

test("a schema's own validation is asked", async () => {
  const even = tool({
    inputSchema: jsonSchema<{ n: number }>(
      { type: "object" },
      {
        validate: (value) => {
          const { n } = z.object({ n: z.number() }).parse(value);
          return n % 2 === 0 ? { success: true, value: { n: n / 2 } } : { success: false, error: new Error("an even number") };
        },
      },
    ),
    execute: ({ n }) => n,
  });
  expect((await call({ even }, "even", { n: 4 })).content).toBe("2");
  expect((await call({ even }, "even", { n: 3 })).content).toMatch(/^Error: even is .*expected an even number/);
});

test("what a tool makes of its result for models is what ours reads", async () => {
  const inputSchema = z.object({});
  const make = (output: ReturnType<NonNullable<Parameters<typeof tool>[0]["toModelOutput"]>>) =>
    tool({ inputSchema, execute: () => 1, toModelOutput: () => output });
  expect((await call({ t: make({ type: "text", value: "one" }) }, "t")).content).toBe("one");
  expect((await call({ t: make({ type: "json", value: { a: 1 } }) }, "t")).content).toBe('{"a":1}');
  expect((await call({ t: make({ type: "error-text", value: "no" }) }, "t")).content).toBe("Error: no");
  expect((await call({ t: make({ type: "error-json", value: { a: 1 } }) }, "t")).content).toBe('Error: {"a":1}');
  expect((await call({ t: make({ type: "execution-denied", reason: "not now" }) }, "t")).content).toBe("Error: denied. not now");
  expect((await call({ t: make({ type: "execution-denied" }) }, "t")).content).toBe("Error: denied.");
  const content = make({
    type: "content",
    value: [
      { type: "text", text: "a" },
      { type: "media", data: "AA", mediaType: "image/png" },
    ],
  });
  expect((await call({ t: content }, "t")).content).toBe("a\n[media: not shown]");
});

test("of a tool that yields, the last value counts; what one throws is reported", async () => {
  const yielding = tool({
    inputSchema: z.object({}),
    async *execute() {
      yield "loading";
      yield "done";
    },
  });
  const broken = tool({
    inputSchema: z.object({}),
    execute: (): string => {
      throw new Error("no connection");
    },
  });
  expect((await call({ yielding }, "yielding")).content).toBe("done");
  expect((await call({ broken }, "broken")).content).toBe("Error: no connection");
});

test("tools that cannot be called here are refused before a run", () => {
  const inputSchema = z.object({});
  expect(() => fromAiSdk({ t: tool({ inputSchema }) })).toThrow(/t\.execute is missing/);
  expect(() => fromAiSdk({ t: tool({ inputSchema, execute: () => 1, needsApproval: true }) })).toThrow(/t\.needsApproval/);
  const asynchronous = jsonSchema(Promise.resolve({ type: "object" as const }));
  expect(() => fromAiSdk({ t: { inputSchema: asynchronous, execute: () => 1 } })).toThrow(ConfigError);
  expect(() => fromAiSdk({ t: { inputSchema: 5, execute: () => 1 } })).toThrow(/t\.inputSchema/);
  expect(() => fromAiSdk({ t: tool({ inputSchema: z.object({ on: z.date() }), execute: () => 1 }) })).toThrow(
    /t\.parameters is .*expected one that JSON can meet, .*Date cannot be represented/,
  );
});

test("toModelOutput is called as the tool's version calls it", async () => {
  const result = { article: "tea", pieces: 7 };
  const made = (given: unknown) => ({ type: "text" as const, value: JSON.stringify(given) });
  const stock = { inputSchema: z.object({}), execute: () => result, toModelOutput: made };
  const text = async (version?: 5 | 6 | 7) => {
    const [ours] = fromAiSdk({ stock }, version === undefined ? {} : { version });
    return JSON.parse(String(await ours.execute({}, { signal: new AbortController().signal })));
  };
  expect(await text(5)).toEqual(result);
  const later = { toolCallId: "stock-0", input: {}, output: result };
  expect(await text(6)).toEqual(later);
  expect(await text(7)).toEqual(later);
  // The one that is installed here.
  expect(await text()).toEqual(later);
});

test("a tool with toModelOutput is refused where no version is known", () => {
  const cwd = vi.spyOn(process, "cwd").mockReturnValue(join(tmpdir(), "nowhere"));
  try {
    const inputSchema = z.object({});
    expect(() => fromAiSdk({ t: { inputSchema, execute: () => 1, toModelOutput: () => 1 } })).toThrow(
      /t\.toModelOutput is "of an unknown/,
    );
    expect(fromAiSdk({ t: { inputSchema, execute: () => 1 } })).toHaveLength(1);
  } finally {
    cwd.mockRestore();
  }
});

test.each([
  ["the schema's name in version 4", { parameters: z.object({}) }, "t.parameters"],
  ["the output's name in version 4", { experimental_toToolResultContent: () => [] }, "t.experimental_toToolResultContent"],
  ["a tool of a provider", { type: "provider", id: "openai.web_search", args: {} }, "t."],
  ["a description of the context (7)", { description: () => "at run time" }, "t.description"],
  ["a context (7)", { contextSchema: z.object({}) }, "t.contextSchema"],
  ["a tool that is loaded later (7)", { deferLoading: true }, "t.deferLoading"],
  ["examples that a provider shows (6)", { inputExamples: [{ input: {} }] }, "t.inputExamples"],
])("%s is refused by name", (_, more, named) => {
  const tool = { inputSchema: z.object({}), execute: () => 1, ...more } as Parameters<typeof fromAiSdk>[0][string];
  expect(() => fromAiSdk({ t: tool })).toThrow(named);
  expect(() => fromAiSdk({ t: { inputSchema: z.object({}), execute: () => 1 } }, { verison: 6 } as object)).toThrow(
    "fromAiSdk: verison",
  );
});

test("callbacks of a user interface and settings of sampling are no reason to refuse", () => {
  const tool = {
    inputSchema: z.object({}),
    execute: () => 1,
    type: "dynamic",
    ...Object.fromEntries(
      ["onInputStart", "onInputDelta", "onInputAvailable", "outputSchema", "providerOptions", "providerMetadata", "title"]
        .concat("metadata", "strict")
        .map((field) => [field, "anything"]),
    ),
    ...{ deferLoading: false, inputExamples: [] },
  };
  expect(fromAiSdk({ t: tool })).toHaveLength(1);
  expect(() => fromAiSdk({ t: { ...tool, needed: 1 } as never })).toThrow(
    "t.needed is 1; expected no such field: a tool of the AI SDK has description, inputSchema, execute, toModelOutput, needsApproval, type.",
  );
});

test("a schema of the published zod 3 is refused by name", () => {
  const ofSdk = { find: { inputSchema: z3.object({ title: z3.string() }), execute: () => [] } };
  expect(() => fromAiSdk(ofSdk)).toThrow(/find.inputSchema is "a schema of zod 3"; expected a schema of zod 4/);
});
