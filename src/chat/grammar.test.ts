import { join } from "node:path";
import { expect, test } from "vitest";
import { fits } from "../../test/fixtures/fits.ts";
import { callFormat, callFormats } from "../actions/formats/registry.ts";
import type { Tool } from "../tools/tool.ts";
import { makeChat } from "./chat.ts";
import { type Formed, Grammars, isFree, openingOf } from "./grammar.ts";
import { loadTokenizer } from "./tokenizer-folder.ts";

const chat = makeChat(loadTokenizer(join(import.meta.dirname, "../../models/office")));
const { grammars } = chat;
const schema = {
  type: "object",
  properties: { title: { type: "string" } },
  required: ["title"],
  additionalProperties: false,
} as const;
const tool = (name: string): Tool => ({ name, description: "", parameters: schema, execute: () => "" });
const tools = [tool("find"), tool("move")];
const call = (name: string, args: object) =>
  chat.calls().write({ role: "assistant", content: "", toolCalls: [{ name, arguments: { ...args } }] });

const demo = call("find", { title: "Demo" });
const other = call("move", { title: "Demo" });
const wrong = call("find", { nothing: 1 });

test.each<[string, Formed, readonly string[], readonly string[]]>([
  [
    "a schema",
    { form: { schema } },
    ['{"title":"Demo"}', '{"title": "ä"}'],
    ["Demo", '{"title":1}', '{"title":"a","b":1}', "{}"],
  ],
  ["any JSON object", { form: "json" }, ["{}", '{"a":[1,{"b":null}]}'], ["[]", "1", "{} and more"]],
  ["a given tool", { tools, toolChoice: { tool: "find" } }, [demo], [other, "Hello", wrong, ""]],
  ["some tool", { tools, toolChoice: "required" }, [demo, other], ["Hello", wrong]],
  ["one call at most", { tools, parallelCalls: false }, ["Hello", demo], [`${demo}\n${other}`]],
  ["a strict tool", { tools, strictTools: ["find"] }, ["Hello", demo, `${demo}\n${other}`, call("move", { any: 1 })], [wrong]],
  [
    "a schema beside tools",
    { tools, form: { schema } },
    ['{"title":"Demo"}', demo, `${demo}\n${other}`, call("move", { any: 1 })],
    ["Hello", '{"title":1}', "", `Hello ${demo}`],
  ],
  [
    "a schema beside a strict tool, one call at most",
    { tools, form: { schema }, strictTools: ["find"], parallelCalls: false },
    ['{"title":"Demo"}', demo],
    ["Hello", '{"title":1}', wrong, `${demo}\n${other}`],
  ],
  ["a schema beside tools that are not shown", { tools, toolChoice: "none", form: { schema } }, ['{"title":"Demo"}'], [demo]],
])("%s: what may be said", async (_, form, good, bad) => {
  for (const text of good) expect(await fits(chat, form, text), text).toBe(true);
  for (const text of bad) expect(await fits(chat, form, text), text).toBe(false);
});

const chatMl = (calls: string) => `{%- for message in messages -%}{{- '<|' + message.role + '|>' + message.content -}}
{%- if message.tool_calls -%}${calls}{%- endif -%}{{- '<|end|>' -}}{%- endfor -%}{%- if add_generation_prompt -%}{{- '<|assistant|>' -}}{%- endif -%}`;
const oneByOne = chatMl(
  `{%- for c in message.tool_calls -%}{{- '<tool_call>{"name":"' + c.function.name + '","arguments":' + c.function.arguments | tojson + '}</tool_call>' -}}{%- endfor -%}`,
);
const inOneList = chatMl(
  `{{- '<tool_call>[' -}}{%- for c in message.tool_calls -%}{{- ('' if loop.first else ', ') + '{"name": "' + c.function.name + '", "arguments": ' + c.function.arguments | tojson + '}' -}}{%- endfor -%}{{- ']</tool_call>' -}}`,
);

// What demonstrations teach is what the template writes: a form must not forbid it.
test.each([
  ["calls one by one", oneByOne],
  ["calls in one list", inOneList],
])("%s, as the template writes them, fit every form that allows calls", async (_, chatTemplate) => {
  const own = makeChat({ ...loadTokenizer(join(import.meta.dirname, "../../models/office")), chatTemplate });
  const written = (...names: readonly string[]) => {
    const toolCalls = names.map((name) => ({ name, arguments: { title: "Demo" } }));
    return own.action(own.open([{ role: "user", content: "Hello" }], tools), { role: "assistant", content: "", toolCalls });
  };
  const allowed = (form: Formed, text: string) => fits(own, form, text.replace("<|end|>", ""));
  const strict: Formed = { tools, strictTools: ["find", "move"] };
  const forms: Formed[] = [strict, { tools, toolChoice: "required" }, { tools, form: { schema } }];
  for (const form of forms) {
    for (const names of [["find"], ["find", "move"], ["move", "move", "find"]])
      expect(await allowed(form, written(...names)), written(...names)).toBe(true);
    expect(await allowed({ ...form, parallelCalls: false }, written("find"))).toBe(true);
    expect(await allowed({ ...form, parallelCalls: false }, written("find", "move"))).toBe(false);
  }
  expect(await allowed({ tools, toolChoice: { tool: "find" } }, written("find"))).toBe(true);
  expect(await allowed({ tools, toolChoice: { tool: "find" } }, written("find", "find"))).toBe(false);
  expect(await allowed(strict, written("find", "move").replaceAll("title", "other"))).toBe(false);
  expect(await allowed(strict, written("find", "move").replace("move", "none"))).toBe(false);
});

test("a request that leaves the form to the model has no mask", async () => {
  expect(await grammars.mask({ tools })).toBeUndefined();
  expect(await grammars.mask({ tools: [], toolChoice: "required" })).toBeUndefined();
});

test("a schema without a grammar is refused, and the next one works", async () => {
  await expect(grammars.mask({ form: { schema: { type: "nonsense" } } })).rejects.toThrow(/schema is .*nonsense/);
  expect(await fits(chat, { form: { schema } }, '{"title":"Demo"}')).toBe(true);
});

test("a schema at which the library aborts harms no other model: its masks work on, and its forms get new ones", async () => {
  const other = makeChat(loadTokenizer(join(import.meta.dirname, "../../models/office")));
  const open = await other.grammars.mask({ form: { schema } });
  const before = open?.next();
  // Half a pair is JSON for everybody but the library.
  await expect(grammars.mask({ form: { schema: { enum: ["\ud800"] } } })).rejects.toThrow(/schema is .*ud800.*Aborted/);
  expect(open?.next()).toEqual(before);
  for (const each of [other, chat]) {
    expect((await each.grammars.mask({ form: { schema } }))?.next()).toEqual(before);
    expect(await fits(each, { form: { schema } }, '{"title":"Demo"}')).toBe(true);
  }
});

test.each<[Formed, boolean]>([
  [{}, true],
  [{ form: "json" }, false],
  [{ form: { schema } }, false],
  [{ toolChoice: "required" }, true],
  [{ tools }, true],
  [{ tools, toolChoice: "auto" }, true],
  [{ tools, toolChoice: "none" }, true],
  [{ tools, toolChoice: "none", form: "json" }, false],
  [{ tools, toolChoice: "none", parallelCalls: false, strictTools: ["find"] }, true],
  [{ tools, toolChoice: "required" }, false],
  [{ tools, toolChoice: { tool: "find" } }, false],
  [{ tools, parallelCalls: false }, false],
  [{ tools, parallelCalls: true }, true],
  [{ tools, strictTools: ["find"] }, false],
  [{ tools, strictTools: [] }, true],
])("whether %j leaves an action free: %s", (formed, free) => {
  expect(isFree(formed)).toBe(free);
});

test("calls of each format begin with a text that names no tool", () => {
  expect(Object.fromEntries(callFormats.map((format) => [format.name, openingOf(format)]))).toEqual({
    ...{ "qwen3-coder": "<tool_call>", glm: "<tool_call>", hermes: "<tool_call>", smollm2: '<tool_call>[{"name":' },
    ...{ mistral: "[TOOL_CALLS]", "mistral-args": "[TOOL_CALLS]", lfm2: "<|tool_call_start|>[" },
    "gpt-oss": "<|channel|>commentary",
    "deepseek-v3": "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>",
    deepseek: "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>",
    ...{ "function-gemma": "<start_function_call>call:", gemma4: "<|tool_call>call:", llama3: '{"name":' },
  });
});

test("where calls have no grammar, the error says which requests need none", async () => {
  const { tokenizer } = chat;
  const strict: Formed = { tools, strictTools: ["find"] };
  await expect(new Grammars(tokenizer, undefined).mask(strict)).rejects.toThrow(
    'tool calls is "none"; expected a chat template with a known format of calls.',
  );
  await expect(new Grammars(tokenizer, callFormat("glm")).mask(strict)).rejects.toThrow(
    'tool calls that are forced, strict, single or beside a form of the text is "glm"; expected a model whose calls have their arguments as JSON. ' +
      "Leave out tool_choice, strict, parallel_tool_calls and response_format, or use another model.",
  );
  await expect(grammars.mask({ form: { schema: { type: "nonsense" } } })).rejects.toThrow(
    /^schema is "\{\\"type\\":\\"nonsense\\"\}"; expected one that has a grammar and can be checked\. it is no JSON schema: type/s,
  );
});

test("a token that the mask does not allow is refused, and a mask that begins again allows what it did", async () => {
  const mask = await grammars.mask({ form: "json" });
  const [brace, letter] = ["{", "D"].map((text) => chat.tokenizer.encode(text)[0] ?? -1);
  expect([mask?.allows(brace ?? -1), mask?.allows(letter ?? -1), mask?.loose]).toEqual([true, false, []]);
  expect(() => mask?.accept(letter ?? -1)).toThrow(`grammar is ${letter}; expected a token that its mask allows.`);
  mask?.restart();
  mask?.accept(brace ?? -1);
  expect(mask?.allows(chat.tokenizer.stopTokens[0] ?? -1)).toBe(false);
  mask?.restart();
  expect(mask?.allows(brace ?? -1)).toBe(true);
  mask?.close();
});

test("control tokens belong to no text that a form describes", async () => {
  const { tokenizer } = chat;
  const mask = await grammars.mask({ form: "json" });
  for (const token of tokenizer.encode('{"')) mask?.accept(token);
  const control = tokenizer.addedTokens.filter(({ special }) => special).map(({ text }) => tokenizer.idOf(text) ?? -1);
  expect(control.length).toBeGreaterThan(1);
  expect(control.filter((id) => mask?.allows(id))).toEqual([]);
  mask?.close();
});
