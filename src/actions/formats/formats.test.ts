import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { ReadAction } from "../action.ts";
import { parsePythonCalls, pythonCalls } from "../python-calls.ts";
import { callFormat, callFormats } from "./registry.ts";

const read = (name: string, text: string, schema?: object): ReadAction => {
  const format = callFormat(name);
  if (format === undefined) throw new Error(`no format ${name}`);
  return format.read(text, [], () => schema as never);
};
const weather = { name: "get_weather", arguments: { city: "Paris", days: 3 } };
const weatherSchema = { properties: { city: { type: "string" }, days: { type: "integer" } } };
const time = { name: "get_time", arguments: {} };

/** Answers as models of these families write them. */
test.each([
  [
    "hermes",
    '<think>\nthe weather\n</think>\n\n<tool_call>\n{"name": "get_weather", "arguments": {"city": "Paris", "days": 3}}\n</tool_call>',
    [weather],
  ],
  ["hermes", 'the weather</think><tool_call>{"name": "get_weather", "arguments": {"city": "Paris", "days": 3}}', [weather]],
  [
    "smollm2",
    '<tool_call>[{"name": "get_weather", "arguments": {"city": "Paris", "days": 3}}, {"name": "get_time", "arguments": {}}]</tool_call>',
    [weather, time],
  ],
  ["llama3", '{"name": "get_weather", "parameters": {"city": "Paris", "days": 3}}', [weather]],
  ["llama3", '<|python_tag|>{"name": "get_weather", "parameters": {"city": "Paris", "days": 3}}<|eom_id|>', [weather]],
  [
    "llama3",
    '{"type": "function", "name": "get_weather", "parameters": {"city": "Paris", "days": 3}}; {"name": "get_time", "parameters": {}}',
    [weather, time],
  ],
  ["llama3", 'I look.\n{"name": "get_weather", "parameters": {"city": "Paris", "days": 3}}\n', [weather]],
  [
    "llama3",
    '<|python_tag|>brave_search.call(query="Paris {weather}")',
    [{ name: "brave_search", arguments: { query: "Paris {weather}" } }],
  ],
  ["llama3", "<|python_tag|>print(1 + 1)<|eom_id|>", [{ name: "python", arguments: { code: "print(1 + 1)" } }]],
  ["mistral", '[TOOL_CALLS] [{"name": "get_weather", "arguments": {"city": "Paris", "days": 3}, "id": "abcdefghi"}]', [weather]],
  [
    "mistral",
    '[TOOL_CALLS][{"name": "get_weather", "arguments": {"city": "Paris", "days": 3}}, {"name": "get_time", "arguments": {}}]',
    [weather, time],
  ],
  ["mistral-args", '[TOOL_CALLS]get_weather[ARGS]{"city": "Paris", "days": 3}[TOOL_CALLS]get_time[ARGS]{}', [weather, time]],
  ["mistral-args", '[THINK]hm[/THINK][TOOL_CALLS]get_weather[CALL_ID]abcdefghi[ARGS]{"city": "Paris", "days": 3}', [weather]],
  ["mistral-args", '[TOOL_CALLS]get_weather{"city": "Paris", "days": 3}', [weather]],
  [
    "qwen3-coder",
    "I look.\n<tool_call>\n<function=get_weather>\n<parameter=city>\nParis\n</parameter>\n<parameter=days>\n3\n</parameter>\n</function>\n</tool_call>",
    [weather],
  ],
  [
    "qwen3-coder",
    "<function=get_weather><parameter=city>Paris</parameter><parameter=days>3</parameter></function>\n<function=get_time></function></tool_call>",
    [weather, time],
  ],
  [
    "glm",
    "<think></think>\n<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>Paris</arg_value>\n<arg_key>days</arg_key>\n<arg_value>3</arg_value>\n</tool_call>",
    [weather],
  ],
  ["lfm2", '<|tool_call_start|>[get_weather(city="Paris", days=3), get_time()]<|tool_call_end|>I am looking.', [weather, time]],
  ["lfm2", "<|tool_call_start|>[get_weather(city='Paris', days=3)]<|tool_call_end|>", [weather]],
  [
    "gpt-oss",
    '<|channel|>analysis<|message|>the weather<|end|><|start|>assistant<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>{"city":"Paris","days":3}<|call|>',
    [weather],
  ],
  ["gpt-oss", ' to=functions.get_weather<|channel|>commentary json<|message|>{"city":"Paris","days":3}<|call|>', [weather]],
  [
    "deepseek-v3",
    '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>get_weather\n```json\n{"city": "Paris", "days": 3}\n```<｜tool▁call▁end｜>\n<｜tool▁call▁begin｜>function<｜tool▁sep｜>get_time\n```json\n{}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
    [weather, time],
  ],
  [
    "deepseek",
    '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>get_weather<｜tool▁sep｜>{"city": "Paris", "days": 3}<｜tool▁call▁end｜><｜tool▁call▁begin｜>get_time<｜tool▁sep｜>{}<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
    [weather, time],
  ],
  [
    "function-gemma",
    "<start_function_call>call:get_weather{city:<escape>Paris<escape>,days:3}<end_function_call><start_function_response>",
    [weather],
  ],
  [
    "gemma4",
    '<|channel>thought\nthe weather\n<channel|><|tool_call>call:get_weather{city:<|"|>Paris<|"|>,days:3}<tool_call|><|tool_response>',
    [weather],
  ],
  [
    "function-gemma",
    "<start_function_call>call:get_weather{days:3,city:<escape>Paris<escape>}<end_function_call><start_function_call>call:get_time{}<end_function_call>",
    [weather, time],
  ],
])("%s: %s", (name, text, calls) => {
  const action = read(name, text, weatherSchema);
  expect(action.calls).toEqual(calls);
  expect(action.message.toolCalls).toEqual(calls);
  expect(action.message.content).not.toMatch(/get_weather|<\|?(?:start|tool|call|python)|\[TOOL/);
});

const thinkTag = { name: "note", arguments: { text: "a </think> b </think>", tags: ["</think>"] } };
const thinkSchema = { properties: { text: { type: "string" }, tags: { type: "array" } } };

test.each(callFormats.map((format) => [format.name, format] as const))(
  "%s: an argument that names the end of reasoning is part of its call, with reasoning before it or without",
  (name, format) => {
    const written = format.write({ role: "assistant", content: "", toolCalls: [thinkTag] });
    expect(read(name, written, thinkSchema).message).toEqual({ role: "assistant", content: "", toolCalls: [thinkTag] });
    if (name === "gpt-oss" || name === "gemma4") return; // Their reasoning has tags of its own.
    for (const opening of ["<think>\n", ""]) {
      const { message, calls } = read(name, `${opening}why\n</think>\n\n${written}`, thinkSchema);
      expect(message).toEqual({ role: "assistant", content: "", reasoning: "why", toolCalls: [thinkTag] });
      expect(calls).toEqual([thinkTag]);
    }
  },
);

test("a call that is begun in reasoning and never ends does not swallow the end of reasoning", () => {
  const thought = "I could write <tool_call>\n<function=f>\n<parameter=a>\nx";
  for (const name of ["hermes", "qwen3-coder", "glm"])
    expect(read(name, `${thought}</think>No.`)).toEqual({
      message: { role: "assistant", content: "No.", reasoning: thought },
      calls: [],
    });
});

test("qwen3-coder: closing tags may be missing, all but the last argument's, and nothing of the call becomes content", () => {
  const whole = "<tool_call>\n<function=get_weather>\n<parameter=city>\nParis\n</parameter>\n<parameter=days>\n3\n</parameter>";
  for (const end of ["", "\n", "\n</function>", "\n</function>\n</tool_call>"])
    expect(read("qwen3-coder", `I look.\n${whole}${end}`, weatherSchema).message).toEqual({
      role: "assistant",
      content: "I look.",
      toolCalls: [weather],
    });
  const first = "<function=get_weather>\n<parameter=city>\nParis\n<parameter=days>\n3\n</function>";
  expect(read("qwen3-coder", first, weatherSchema).calls).toEqual([weather]);
  const cut = "<function=get_weather>\n<parameter=city>\nPar";
  expect(read("qwen3-coder", cut, weatherSchema).calls).toEqual([
    { error: expect.stringMatching(/An argument of get_weather has/) },
  ]);
});

test.each([
  ["function-gemma", "<start_function_call>call:get_wea"],
  ["gemma4", "<|tool_call>call:get_wea"],
  ["glm", "<tool_call>get_wea"],
  ["deepseek", "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>get_wea"],
  ["deepseek-v3", "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>get_wea"],
  ["qwen3-coder", "<tool_call>\n<function=get_wea"],
  ["gpt-oss", "<|channel|>commentary to=functions.get_wea"],
  ["mistral-args", "[TOOL_CALLS]get_wea"],
  ["lfm2", "<|tool_call_start|>[get_wea"],
  ["hermes", '<tool_call>\n{"name": "get_wea'],
  ["smollm2", '<tool_call>[{"name": "get_wea'],
  ["llama3", '{"name": "get_wea'],
  ["mistral", '[TOOL_CALLS] [{"name": "get_wea'],
])("%s: a name that is cut off is no call: %s", (name, text) => {
  const { calls, message } = read(name, text);
  expect(calls).toEqual([{ error: expect.stringMatching(/Write /) }]);
  expect(message.toolCalls).toBeUndefined();
});

test("reasoning and text around calls are kept apart", () => {
  expect(
    read("gpt-oss", "<|channel|>analysis<|message|>why<|end|><|start|>assistant<|channel|>final<|message|>Sunny.").message,
  ).toEqual({
    role: "assistant",
    content: "Sunny.",
    reasoning: "why",
  });
  expect(read("mistral-args", "[THINK]hm[/THINK]Yes.").message).toEqual({ role: "assistant", content: "Yes.", reasoning: "hm" });
  expect(read("llama3", 'As JSON: {"city": "Paris"}').message).toEqual({
    role: "assistant",
    content: 'As JSON: {"city": "Paris"}',
  });
  expect(read("lfm2", "<|tool_call_start|>[get_time()]<|tool_call_end|>One moment.").message.content).toBe("One moment.");
});

test("values without quotes are of the type that the tool's schema has", () => {
  const text =
    '<function=f><parameter=a>\n5\n</parameter><parameter=b>\n5\n</parameter><parameter=c>\nTrue\n</parameter><parameter=d>\n{"x": [1]}\n</parameter></function>';
  const schema = {
    properties: { a: { type: "string" }, b: { type: "integer" }, c: { anyOf: [{ type: "boolean" }, { type: "null" }] } },
  };
  const typed = { a: "5", b: 5, c: true };
  // What has no type is text under Qwen3-Coder and JSON under GLM, as servers of both read it (vLLM's parsers).
  expect(read("qwen3-coder", text, schema).calls).toEqual([{ name: "f", arguments: { ...typed, d: '{"x": [1]}' } }]);
  expect(read("qwen3-coder", text).calls).toEqual([{ name: "f", arguments: { a: "5", b: "5", c: "True", d: '{"x": [1]}' } }]);
  const glm = `<tool_call>f${["a", "b", "c", "d"].map((key, i) => `<arg_key>${key}</arg_key><arg_value>${["5", "5", "True", '{"x": [1]}'][i]}</arg_value>`).join("")}</tool_call>`;
  expect(read("glm", glm, schema).calls).toEqual([{ name: "f", arguments: { ...typed, d: { x: [1] } } }]);
  const nothing = {
    properties: { a: { type: ["string", "null"] }, b: { anyOf: [{ type: "string" }, { type: "null" }] }, c: { type: "string" } },
  };
  const nulls = ["a", "b", "c"].map((key) => `<parameter=${key}>\nNone\n</parameter>\n`).join("");
  expect(read("qwen3-coder", `<function=f>\n${nulls}</function>`, nothing).calls).toEqual([
    { name: "f", arguments: { a: null, b: null, c: "None" } },
  ]);
  const multiline = "<function=f>\n<parameter=a>\nline 1\n\n  line 2\n</parameter>\n</function>";
  expect(read("qwen3-coder", multiline, schema).calls).toEqual([{ name: "f", arguments: { a: "line 1\n\n  line 2" } }]);
});

describe.each(callFormats.map((format) => [format.name, format] as const))("%s", (name, format) => {
  const text = fc.string({ unit: fc.constantFrom(..."abc \"'\\{}[]:,=\n<>é😀0.5") }).filter((value) => value === value.trim());
  const json = fc.letrec((tie) => ({
    value: fc.oneof({ depthSize: "small" }, text, fc.integer(), fc.boolean(), fc.constant(null), tie("list"), tie("object")),
    list: fc.array(tie("value"), { maxLength: 3 }),
    object: fc.dictionary(fc.stringMatching(/^[a-z]{1,5}$/), tie("value"), { maxKeys: 3, noNullPrototype: true }),
  })).object as fc.Arbitrary<Record<string, unknown>>;
  // Without quotes a value must not hold what ends it, and its type is the schema's.
  const untyped = name === "qwen3-coder" || name === "glm";

  test("reads back every call that it writes", () => {
    fc.assert(
      fc.property(
        fc.array(fc.record({ name: fc.stringMatching(/^[a-z_]{1,8}$/), arguments: json }), { minLength: 1, maxLength: 3 }),
        (calls) => {
          const types = (one: Record<string, unknown>) =>
            Object.fromEntries(
              Object.entries(one).map(([key, value]) => [key, { type: typeof value === "string" ? "string" : "object" }]),
            );
          const usable = untyped ? calls.slice(0, 1) : calls;
          const schema = { properties: types(usable[0].arguments) };
          const written = format.write({ role: "assistant", content: "", toolCalls: usable });
          expect(format.marks.test(written) || Object.keys(usable[0].arguments).length === 0).toBe(true);
          const { message } = format.read(written, [], () => schema);
          expect(message.toolCalls?.map(({ name, arguments: args }) => ({ name, arguments: args }))).toEqual(usable);
          expect(message.content).toBe("");
        },
      ),
      { numRuns: 60 },
    );
  });

  test("throws at no text", () => {
    const pieces = [
      "<tool_call>",
      "</tool_call>",
      "[TOOL_CALLS]",
      "[ARGS]",
      "<function=f>",
      "<parameter=a>",
      "<|tool_call_start|>",
      "<|message|>",
      "to=functions.f",
      "<｜tool▁call▁begin｜>",
      "<｜tool▁sep｜>",
      "<start_function_call>",
      "call:f{",
      "<escape>",
      '{"name": "f"',
      '"arguments": ',
      "{",
      "}",
      "[",
      "]",
      "f(",
      "a=",
      "'",
      '"',
      "\\",
      "5",
      "<think>",
      "</think>",
      "<|python_tag|>",
    ];
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...pieces), { maxLength: 12 }), (parts) => {
        const { calls } = format.read(parts.join(""), []);
        for (const call of calls) expect("error" in call || typeof call.name === "string").toBe(true);
      }),
      { numRuns: 200 },
    );
  });
});

describe("strange arguments", () => {
  const strange: readonly (readonly [string, Record<string, unknown>, string?])[] = [
    ["quotes and backslashes", { a: `he said "it's \\ \`x\`" and '''no'''` }],
    ["other scripts and control characters", { a: "é😀\u2028\u0000\ud800 ключ", b: "<b>&amp;</b>" }],
    ["brackets in strings", { a: "}]) },{ [1", b: { c: ["]}", { d: '"}' }] } }],
    ["words of other languages", { a: "true", b: "null", c: "None", d: "5", e: "5.0" }],
    ["white space", { a: "  x \n", b: "", c: "1\n2\t3", d: " " }],
    ["nothing", {}],
    ["a number with a point", { a: 5 }, '{"a": 5.0}'],
    ["an integer beyond 2^53", { a: 2 ** 60 }, '{"a": 1152921504606846977}'],
    ["an exponent", { a: 1e-7, b: -0 }, '{"a": 1e-07, "b": -0.0}'],
    ["a name with a hyphen", { "dry-run": true }],
    ["names of other scripts", { ключ: 1, größe: "m" }],
  ];
  const typesOf = (args: object) => ({
    properties: Object.fromEntries(
      Object.entries(args).map(([key, value]) => [key, { type: typeof value === "string" ? "string" : "object" }]),
    ),
  });

  test.each(strange.flatMap((one) => callFormats.map((format) => [one[0], format.name, format, one[1], one[2]] as const)))(
    "%s: %s reads back what it writes, beside a second call and text",
    (_, __, format, args, argumentsText) => {
      const first = { name: "f", arguments: args, ...(argumentsText === undefined ? {} : { argumentsText }) };
      const written = format.write({
        role: "assistant",
        content: "Look.",
        toolCalls: [first, { name: "g", arguments: {} }],
      });
      const { calls, message } = format.read(written, [], () => typesOf(args));
      expect(calls).toMatchObject([
        { name: "f", arguments: args },
        { name: "g", arguments: {} },
      ]);
      expect(Object.keys(message.toolCalls?.[0].arguments ?? {})).toEqual(Object.keys(args));
      expect(message.content).toBe("Look.");
      for (const number of argumentsText?.match(/-?\d[\d.e-]+/g) ?? [])
        expect(message.toolCalls?.[0].argumentsText).toContain(number);
    },
  );

  test.each([
    ["hermes", "</tool_call>"],
    ["hermes", '<tool_call>{"name": "g"}</tool_call>'],
    ["smollm2", "</tool_call><tool_call>"],
    ["llama3", "<|python_tag|>"],
    ["glm", "</tool_call>"],
    ["qwen3-coder", "</parameter>"],
    ["qwen3-coder", "</function>\n</tool_call>"],
  ])("%s: a text that names the tag %s", (name, tag) => {
    const args = { a: `before ${tag} after` };
    const format = callFormats.find((one) => one.name === name);
    const written = format?.write({ role: "assistant", content: "", toolCalls: [{ name: "f", arguments: args }] }) ?? "";
    expect(read(name, written, typesOf(args)).calls).toEqual([{ name: "f", arguments: args }]);
  });

  test("an argument that is cut off is no call without arguments", () => {
    const { calls, message } = read(
      "glm",
      "<tool_call>pay\n<arg_key>id</arg_key>\n<arg_value>c1</arg_value>\n<arg_key>amount</arg_key>\n<arg_val",
    );
    expect(calls).toEqual([{ error: expect.stringMatching(/The call of pay has no end/) }]);
    expect(message.toolCalls).toBeUndefined();
  });
});

test("Python calls: literals of all kinds, nested, with their numbers' text", () => {
  const text = `[a.b(x=-1.50, y='it\\'s', z=["p", ("q", None)], w={"k": True, 1: 1_000}), c(s="""two
lines""", t=r"\\n", u="\\u00e9")]`;
  expect(parsePythonCalls(text)).toEqual({
    calls: [
      {
        name: "a.b",
        arguments: { x: -1.5, y: "it's", z: ["p", ["q", null]], w: { k: true, 1: 1000 } },
        argumentsText: expect.stringContaining('"x": -1.50'),
      },
      { name: "c", arguments: { s: "two\nlines", t: "\\n", u: "é" } },
    ],
    end: text.length,
  });
  for (const wrong of ["[f(1)]", "[f(a=b)]", "[f(a=1]", '[f(a="x)]', "[f(a=open('x'))]", "f", "[f(a=1) g()]"])
    expect(parsePythonCalls(wrong)).toMatchObject({ error: expect.any(String) });
});

test("Python call text is an action: a list of calls, one call alone, or an answer", () => {
  const { read: readText } = pythonCalls();
  expect(readText('I call [cd(folder="a"), ls()] now.', []).calls).toEqual([
    { name: "cd", arguments: { folder: "a" } },
    { name: "ls", arguments: {} },
  ]);
  expect(readText("ls()", []).calls).toEqual([{ name: "ls", arguments: {} }]);
  expect(readText("The list [1, 2] is short (very).", [])).toEqual({
    message: { role: "assistant", content: "The list [1, 2] is short (very)." },
    calls: [],
  });
  expect(readText("[cd(folder)]", []).calls).toEqual([{ error: expect.stringMatching(/arguments need their names.*Write \[f/) }]);
});
