import { expect, test } from "vitest";
import type { ToolCall } from "../../core/messages.ts";
import { callFormat, callFormatNames, callFormats } from "./registry.ts";

const formatOf = (name: string) => {
  const format = callFormat(name);
  if (format === undefined) throw new Error(`no format ${name}`);
  return format;
};

const pay: ToolCall = {
  name: "pay",
  arguments: { id: "c1", sum: 5, list: ["a", 1, null, true], in: { k: false } },
  argumentsText: '{"id": "c1", "sum": 5.0, "list": ["a", 1, null, true], "in": {"k": false}}',
};
const ls: ToolCall = { name: "ls", arguments: {} };
const json = pay.argumentsText;
const thought = "<think>\nwhy\n</think>\n";

/** A message with reasoning, text and two calls, and one with a call alone, as each family's template writes them. */
const written: Readonly<Record<string, readonly [whole: string, alone: string]>> = {
  "qwen3-coder": [
    `${thought}\nLook.\n<tool_call>\n<function=pay>\n<parameter=id>\nc1\n</parameter>\n<parameter=sum>\n5.0\n</parameter>\n` +
      '<parameter=list>\n["a", 1, null, true]\n</parameter>\n<parameter=in>\n{"k": false}\n</parameter>\n</function>\n</tool_call>\n' +
      "<tool_call>\n<function=ls>\n</function>\n</tool_call>",
    "<tool_call>\n<function=ls>\n</function>\n</tool_call>",
  ],
  glm: [
    `${thought}\nLook.\n<tool_call>pay\n<arg_key>id</arg_key>\n<arg_value>c1</arg_value>\n<arg_key>sum</arg_key>\n<arg_value>5.0</arg_value>\n` +
      '<arg_key>list</arg_key>\n<arg_value>["a", 1, null, true]</arg_value>\n<arg_key>in</arg_key>\n<arg_value>{"k": false}</arg_value>\n</tool_call>\n' +
      "<tool_call>ls\n</tool_call>",
    "<tool_call>ls\n</tool_call>",
  ],
  hermes: [
    `${thought}\nLook.\n<tool_call>\n{"name": "pay", "arguments": ${json}}\n</tool_call>\n<tool_call>\n{"name": "ls", "arguments": {}}\n</tool_call>`,
    '<tool_call>\n{"name": "ls", "arguments": {}}\n</tool_call>',
  ],
  smollm2: [
    `${thought}\nLook.\n<tool_call>[{"name": "pay", "arguments": ${json}}, {"name": "ls", "arguments": {}}]</tool_call>`,
    '<tool_call>[{"name": "ls", "arguments": {}}]</tool_call>',
  ],
  mistral: [
    `Look.\n[TOOL_CALLS] [{"name": "pay", "arguments": ${json}}, {"name": "ls", "arguments": {}}]`,
    '[TOOL_CALLS] [{"name": "ls", "arguments": {}}]',
  ],
  "mistral-args": [`[THINK]why[/THINK]Look.[TOOL_CALLS]pay[ARGS]${json}[TOOL_CALLS]ls[ARGS]{}`, "[TOOL_CALLS]ls[ARGS]{}"],
  lfm2: [
    `${thought}\n<|tool_call_start|>[pay(id="c1", sum=5.0, list=["a", 1, None, True], in={"k": False}), ls()]<|tool_call_end|>Look.`,
    "<|tool_call_start|>[ls()]<|tool_call_end|>",
  ],
  "gpt-oss": [
    "<|channel|>analysis<|message|>why<|end|><|start|>assistant<|channel|>commentary<|message|>Look.<|end|><|start|>assistant" +
      `<|channel|>commentary to=functions.pay <|constrain|>json<|message|>${json}<|end|><|start|>assistant` +
      "<|channel|>commentary to=functions.ls <|constrain|>json<|message|>{}",
    "<|channel|>commentary to=functions.ls <|constrain|>json<|message|>{}",
  ],
  "deepseek-v3": [
    `${thought}Look.<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>pay\n\`\`\`json\n${json}\n\`\`\`<｜tool▁call▁end｜>\n` +
      "<｜tool▁call▁begin｜>function<｜tool▁sep｜>ls\n```json\n{}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
    "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>ls\n```json\n{}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
  ],
  deepseek: [
    `${thought}Look.<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>pay<｜tool▁sep｜>${json}<｜tool▁call▁end｜>` +
      "<｜tool▁call▁begin｜>ls<｜tool▁sep｜>{}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
    "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>ls<｜tool▁sep｜>{}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
  ],
  "function-gemma": [
    `${thought}Look.<start_function_call>call:pay{id:<escape>c1<escape>,sum:5.0,list:[<escape>a<escape>,1,null,true],in:{k:false}}<end_function_call>` +
      "<start_function_call>call:ls{}<end_function_call>",
    "<start_function_call>call:ls{}<end_function_call>",
  ],
  gemma4: [
    '<|channel>thought\nwhy\n<channel|>\nLook.<|tool_call>call:pay{id:<|"|>c1<|"|>,sum:5.0,list:[<|"|>a<|"|>,1,null,true],in:{k:false}}<tool_call|>' +
      "<|tool_call>call:ls{}<tool_call|>",
    "<|tool_call>call:ls{}<tool_call|>",
  ],
  llama3: [`Look.\n{"name": "pay", "parameters": ${json}}; {"name": "ls", "parameters": {}}`, '{"name": "ls", "parameters": {}}'],
};

test("every format has a name, which finds it", () => {
  expect(callFormatNames).toEqual(Object.keys(written));
  expect(callFormatNames.map(callFormat)).toEqual(callFormats);
  expect(callFormat("none")).toBeUndefined();
});

test.each(Object.entries(written))("%s writes reasoning, text and calls as its family does", (name, [whole, alone]) => {
  const { write } = formatOf(name);
  expect(write({ role: "assistant", reasoning: "why", content: "Look.", toolCalls: [pay, ls] })).toBe(whole);
  expect(write({ role: "assistant", content: "", toolCalls: [ls] })).toBe(alone);
  expect(write({ role: "assistant", content: "Hi." })).toBe(name === "gpt-oss" ? "<|channel|>final<|message|>Hi." : "Hi.");
  expect(write({ role: "assistant", content: "" })).toBe("");
});

test("a format is known by its models, by the texts that end its actions, and by the mark of its calls alone", () => {
  expect(callFormats.map(({ name, models, stopStrings }) => [name, models, stopStrings])).toEqual([
    ["qwen3-coder", "Qwen3-Coder, Qwen3.5", undefined],
    ["glm", "GLM 4.5 and later", undefined],
    ["hermes", "Hermes, Qwen2.5, Qwen3, SmolLM3", undefined],
    ["smollm2", "SmolLM2", undefined],
    ["mistral", "Mistral and Ministral up to 2024", undefined],
    ["mistral-args", "Mistral, Magistral and Devstral since 2025", undefined],
    ["lfm2", "LFM2", undefined],
    ["gpt-oss", "gpt-oss (harmony)", ["<|call|>", "<|return|>"]],
    ["deepseek-v3", "DeepSeek V3 and R1", undefined],
    ["deepseek", "DeepSeek V3.1 and later", undefined],
    ["function-gemma", "FunctionGemma", ["<start_function_response>"]],
    ["gemma4", "Gemma 4", ["<|tool_response>"]],
    ["llama3", "Llama 3.1 to 3.3", ["<|eom_id|>"]],
  ]);
  // GLM's mark needs an argument: without one its call is a word between Hermes' tags.
  const marking = (text: string) => callFormats.filter(({ marks }) => marks.test(text)).map(({ name }) => name);
  for (const [name, [whole, alone]] of Object.entries(written)) {
    expect(marking(whole)).toEqual([name]);
    expect(marking(alone)).toEqual(name === "glm" ? [] : [name]);
  }
});

const examples: Readonly<Record<string, string>> = {
  "qwen3-coder": "<tool_call>\n<function=NAME>\n<parameter=ARGUMENT>\nVALUE\n</parameter>\n</function>\n</tool_call>",
  glm: "<tool_call>NAME\n<arg_key>ARGUMENT</arg_key>\n<arg_value>VALUE</arg_value>\n</tool_call>",
  hermes: '<tool_call>{"name": "…", "arguments": {…}}</tool_call>',
  llama3: '{"name": "…", "parameters": {…}}',
  mistral: '[TOOL_CALLS] [{"name": "…", "arguments": {…}}]',
  "mistral-args": '[TOOL_CALLS] [{"name": "…", "arguments": {…}}]',
  lfm2: '<|tool_call_start|>[f(argument="text")]<|tool_call_end|>',
  "gpt-oss": "<|channel|>commentary to=functions.NAME <|constrain|>json<|message|>{…}<|call|>",
  deepseek: "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>NAME<｜tool▁sep｜>{…}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
  "deepseek-v3": "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>NAME<｜tool▁sep｜>{…}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
  "function-gemma": "<start_function_call>call:NAME{argument:<escape>text<escape>,other:1}<end_function_call>",
  gemma4: '<|tool_call>call:NAME{argument:<|"|>text<|"|>,other:1}<tool_call|>',
};

/** What a model wrote: the text that is left of it, its calls or what is wrong with them, and its reasoning. */
const read: [string, string, string, (ToolCall | string)[], string?][] = [
  ["qwen3-coder", "<tool_call>nothing", "<tool_call>nothing", ["This tool call has no function"]],
  [
    "qwen3-coder",
    "a <tool_call>\n<function=>\n</function>\n</tool_call> b",
    "a <tool_call>\n<function=>\n</function>\n</tool_call> b",
    ["This tool call has no name"],
  ],
  [
    "qwen3-coder",
    "a <function=f></function> b <tool_call><function=g></function></tool_call> c",
    "a  b  c",
    [
      { name: "f", arguments: {} },
      { name: "g", arguments: {} },
    ],
  ],
  [
    "qwen3-coder",
    "<function=f>\n<parameter=city>\nParis\n",
    "<function=f>\n<parameter=city>\nParis",
    ["An argument of f has no end"],
  ],
  [
    "qwen3-coder",
    "<function=f>\n<parameter=city\n</function>",
    "<function=f>\n<parameter=city\n</function>",
    ["An argument of f has no end"],
  ],
  [
    "qwen3-coder",
    "<function=f>\n<parameter= city >\n\nParis\n\n</parameter>\n</function>",
    "",
    [{ name: "f", arguments: { city: "\nParis\n" } }],
  ],
  ["qwen3-coder", "<function=f g>\n</function>", "<function=f g>\n</function>", ["This tool call has no name"]],
  ["qwen3-coder", "<function=f >x</function>", "", [{ name: "f", arguments: {} }]],
  ["qwen3-coder", "<function=f></parameter></function>z", "z", [{ name: "f", arguments: {} }]],
  ["qwen3-coder", "hello <tool_cal", "hello <tool_cal", []],
  ["glm", "a <tool_call> \n</tool_call> b", "a <tool_call> \n</tool_call> b", ["This tool call has no name"]],
  ["glm", "a <tool_call>f g\n</tool_call> b", "a <tool_call>f g\n</tool_call> b", ["This tool call has no name"]],
  [
    "glm",
    "a <tool_call>f\n<arg_key> city </arg_key>\n<arg_value> Paris </arg_value>\n</tool_call> b <tool_call>g</tool_call>c",
    "a  b c",
    [
      { name: "f", arguments: { city: " Paris " } },
      { name: "g", arguments: {} },
    ],
  ],
  [
    "glm",
    "<tool_call>f\n<arg_key>city</arg_key>\n<arg_value>Paris</arg_value>",
    "",
    [{ name: "f", arguments: { city: "Paris" } }],
  ],
  ["glm", "<tool_call>f\n<arg_key>city</arg_key>\n", "<tool_call>f\n<arg_key>city</arg_key>", ["The call of f has no end"]],
  ["glm", "<tool_call>f", "<tool_call>f", ["The call of f has no end"]],
  ["glm", "<tool_call>f</tool_call>", "", [{ name: "f", arguments: {} }]],
  [
    "llama3",
    '{"name": "f", "parameters": {}}, {"name": "g", "parameters": {}};',
    "",
    [
      { name: "f", arguments: {} },
      { name: "g", arguments: {} },
    ],
  ],
  [
    "llama3",
    '{"name": "f", "parameters": {}} and {"name": "g", "parameters": {}} end',
    "and  end",
    [
      { name: "f", arguments: {} },
      { name: "g", arguments: {} },
    ],
  ],
  ["llama3", '{"function": "f"}', '{"function": "f"}', ['This tool call has no "name"']],
  ["llama3", '{"type": "function", "function": "f"}', '{"type": "function", "function": "f"}', ['This tool call has no "name"']],
  ["llama3", '{"x": 1, "name": "f", "arguments": {}}', "", [{ name: "f", arguments: {} }]],
  ["llama3", '{"x": 1} {"name": "f", "parameters": {}}', '{"x": 1}', [{ name: "f", arguments: {} }]],
  [
    "llama3",
    '{"name": "f", "parameters": [1]} tail',
    '{"name": "f", "parameters": [1]} tail',
    ["The arguments of f are not a JSON object"],
  ],
  ["llama3", '{"name": "f", "parameters": {}', '{"name": "f", "parameters": {}', ["This tool call is not valid JSON: …"]],
  ["llama3", 'say <|python_tag|>tool.call(q="x")<|eom_id|>', "say", [{ name: "tool", arguments: { q: "x" } }]],
  ["llama3", "say <|python_tag|>tool.call(x)", "say", [{ name: "python", arguments: { code: "tool.call(x)" } }]],
  ["llama3", '<|python_tag|> {"name": "f", "parameters": {}}<|eom_id|>', "", [{ name: "f", arguments: {} }]],
  ["llama3", '{"name": "f", "parameters": {"a": "<|python_tag|>"}}', "", [{ name: "f", arguments: { a: "<|python_tag|>" } }]],
  ["llama3", '{"a"} <|python_tag|>x.y(a=1)', '{"a"}', [{ name: "python", arguments: { code: "x.y(a=1)" } }]],
  ["llama3", "Hi<|eom_id|>", "Hi", []],
  ["mistral", 'a [TOOL_CALLS] [{"name": "f", "arguments": {}}] b', "a  b", [{ name: "f", arguments: {} }]],
  ["mistral", 'a [TOOL_CALLS] {"name": "f", "arguments": {}} b', "a  b", [{ name: "f", arguments: {} }]],
  ["mistral", "a [TOOL_CALLS] b", "a [TOOL_CALLS] b", ["This tool call is not valid JSON: …"]],
  [
    "mistral",
    '[THINK]why[/THINK]a[TOOL_CALLS]f [CALL_ID]x1[ARGS] {"a": 1} b[TOOL_CALLS]g{"c"',
    'a b[TOOL_CALLS]g{"c"',
    [{ name: "f", arguments: { a: 1 } }, "The arguments of g are not valid JSON: …"],
    "why",
  ],
  ["mistral-args", "a[TOOL_CALLS]f(x)", "a[TOOL_CALLS]f(x)", ["This tool call is not valid JSON: …"]],
  ["mistral-args", "<think>w</think>a", "a", [], "w"],
  [
    "lfm2",
    "a <|tool_call_start|>[f()] x<|tool_call_end|> b",
    "a <|tool_call_start|>[f()] x<|tool_call_end|> b",
    ['This tool call cannot be read: Unexpected "x"'],
  ],
  [
    "lfm2",
    "a <|tool_call_start|>[f()]<|tool_call_end|> b <|tool_call_start|>[g(1)]<|tool_call_end|> c",
    "a  b <|tool_call_start|>[g(1)]<|tool_call_end|> c",
    [{ name: "f", arguments: {} }, 'This tool call cannot be read: Expected an argument of g with its name, not "1)]"'],
  ],
  ["lfm2", "a <|tool_call_start|>[f()]", "a", [{ name: "f", arguments: {} }]],
  ["gpt-oss", "plain", "plain", []],
  [
    "gpt-oss",
    "<|channel|>analysis<|message|> a <|end|><|start|>assistant<|channel|>analysis<|message|>b<|end|><|start|>assistant<|channel|>commentary<|message|>c<|end|><|start|>assistant<|channel|>final<|message|>d<|return|>",
    "c\nd",
    [],
    "a\nb",
  ],
  ["gpt-oss", "<|channel|>commentary to=f<|message|>{}<|call|>", "", [{ name: "f", arguments: {} }]],
  ["gpt-oss", "<|channel|>commentary to=functions.f <|constrain|>json", "", ["The call of f has no message"]],
  ["gpt-oss", "<|channel|>final", "", []],
  ["gpt-oss", "x<|end|><|start|>assistant", "x", []],
  ["gpt-oss", "<|message|>body<|end|> ", "body", []],
  [
    "deepseek",
    "a<｜tool▁calls▁begin｜><｜tool▁call▁begin｜> <｜tool▁sep｜>{}<｜tool▁call▁end｜><｜tool▁calls▁end｜>b",
    "a<｜tool▁calls▁begin｜><｜tool▁call▁begin｜> <｜tool▁sep｜>{}<｜tool▁call▁end｜><｜tool▁calls▁end｜>b",
    ["This tool call has no name"],
  ],
  [
    "deepseek",
    "a<｜tool▁calls▁begin｜><｜tool▁call▁begin｜> f <｜tool▁sep｜><｜tool▁call▁end｜><｜tool▁calls▁end｜>b",
    "ab",
    [{ name: "f", arguments: {} }],
  ],
  [
    "deepseek",
    "a<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>f<｜tool▁sep｜>",
    "a<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>f<｜tool▁sep｜>",
    ["The call of f has no arguments"],
  ],
  [
    "deepseek",
    '<｜tool▁call▁begin｜>f<｜tool▁sep｜>{"a": "<｜tool▁sep｜>"}<｜tool▁calls▁end｜>',
    "",
    [{ name: "f", arguments: { a: "<｜tool▁sep｜>" } }],
  ],
  ["deepseek", "a<｜tool▁calls▁begin｜>", "a", []],
  [
    "deepseek-v3",
    '<｜tool▁call▁begin｜>function<｜tool▁sep｜>f\n```\n{"a": 1}\n```<｜tool▁call▁end｜>',
    "",
    [{ name: "f", arguments: { a: 1 } }],
  ],
  ["deepseek-v3", '<｜tool▁call▁begin｜>function<｜tool▁sep｜> f \n ```json\n{"a": 1}', "", [{ name: "f", arguments: { a: 1 } }]],
  [
    "deepseek-v3",
    '<｜tool▁call▁begin｜>other<｜tool▁sep｜>f\n```json\n{"a": 1}\n```<｜tool▁call▁end｜>',
    "",
    [{ name: "f", arguments: { a: 1 } }],
  ],
  [
    "deepseek-v3",
    "<｜tool▁call▁begin｜>function<｜tool▁sep｜>f<｜tool▁call▁end｜>",
    "<｜tool▁call▁begin｜>function<｜tool▁sep｜>f<｜tool▁call▁end｜>",
    ["This tool call has no name"],
  ],
  [
    "function-gemma",
    'a <start_function_call>call: f {city:<escape>a "b"<escape>, l:[None,{k:None}], n:None}<end_function_call> b',
    "a  b",
    [{ name: "f", arguments: { city: 'a "b"', l: [null, { k: null }], n: null } }],
  ],
  [
    "function-gemma",
    "a <start_function_call>f{}<end_function_call> b",
    "a <start_function_call>f{}<end_function_call> b",
    ["This tool call has no name or no arguments"],
  ],
  [
    "function-gemma",
    "a <start_function_call>call:f<end_function_call>",
    "a <start_function_call>call:f<end_function_call>",
    ["This tool call has no name or no arguments"],
  ],
  [
    "function-gemma",
    "a <start_function_call>call:f{a:}<end_function_call> b<start_function_response>",
    "a <start_function_call>call:f{a:}<end_function_call> b",
    ["The arguments of f are not valid JSON: …"],
  ],
  [
    "gemma4",
    '<|channel>thought\nw\n<channel|>a <|tool_call>call:f{ключ.x-1:<|"|>v<|"|>}<tool_call|>',
    "a",
    [{ name: "f", arguments: { "ключ.x-1": "v" } }],
    "w",
  ],
  [
    "gemma4",
    "a <|tool_call>call:f<tool_call|> b",
    "a <|tool_call>call:f<tool_call|> b",
    ["This tool call has no name or no arguments"],
  ],
  [
    "hermes",
    'a <tool_call>[{"name": "f"}, {"name": "g", "arguments": {"x": "</tool_call>"}}]</tool_call> b',
    "a  b",
    [
      { name: "f", arguments: {} },
      { name: "g", arguments: { x: "</tool_call>" } },
    ],
  ],
  [
    "hermes",
    'a <tool_call>{"name": "f", "arguments": {"x": "<tool_call>"}} b',
    'a <tool_call>{"name": "f", "arguments": {"x": "<tool_call>"}} b',
    ["This tool call is not valid JSON: …", "This tool call is not valid JSON: …"],
  ],
  [
    "hermes",
    '<tool_call>{"name": "f"} <tool_call>{"name": "g"}',
    "",
    [
      { name: "f", arguments: {} },
      { name: "g", arguments: {} },
    ],
  ],
  ["smollm2", "a <tool_call>[]</tool_call> b", "a  b", []],
  [
    "deepseek",
    "<｜tool▁call▁begin｜>f<｜tool▁sep｜> \n",
    "<｜tool▁call▁begin｜>f<｜tool▁sep｜>",
    ["The call of f has no arguments"],
  ],
];

test.each(read)("%s reads %j", (name, text, content, expected, reasoning) => {
  const schema = { properties: { city: { type: "string" }, days: { type: "integer" } } };
  const { message, calls } = formatOf(name).read(text, [], () => schema);
  // The reason that JSON.parse gives is the engine's own.
  const known = calls.map((call) =>
    "error" in call ? { error: call.error.replace(/(not valid JSON: ).*(?=\. Write )/s, "$1…") } : call,
  );
  expect(known).toEqual(
    expected.map((call) => (typeof call === "string" ? { error: `${call}. Write ${examples[name]}.` } : call)),
  );
  const toolCalls = calls.filter((call) => "name" in call);
  expect(message).toEqual({
    ...{ role: "assistant", content },
    ...(reasoning === undefined ? {} : { reasoning }),
    ...(toolCalls.length === 0 ? {} : { toolCalls }),
  });
});
