import { expect, test } from "vitest";
import { hermes } from "../actions/formats/hermes.ts";
import { ModelError } from "../core/errors.ts";
import type { Message } from "../core/messages.ts";
import type { Tool } from "../tools/tool.ts";
import { compileTemplate, type TemplateOptions, templateMs, unreadableName, withinTemplateTime } from "./template.ts";

/** Every message as the template is given it. */
const shown = (messages: readonly Message[], options: TemplateOptions = {}, before = "") =>
  JSON.parse(compileTemplate(`${before}{{ messages | tojson }}`, {}, options)(messages, [], false));
const render = (source: string, options: TemplateOptions = {}, tools: readonly Tool[] = []) =>
  compileTemplate(source, { bos_token: "<s>" }, options)([], tools, true);

const calling: Message = {
  role: "assistant",
  content: "c",
  reasoning: "r",
  toolCalls: [
    { name: "f", arguments: { a: 5, b: "x" }, argumentsText: '{"a": 5.0, "b": "x"}' },
    { id: "abc", name: "g", arguments: {} },
  ],
};
const conversation: readonly Message[] = [
  { role: "system", content: "s" },
  { role: "user", content: "u" },
  calling,
  { role: "tool", name: "f", content: "1" },
  { role: "tool", name: "g", callId: "abc", content: "2" },
  { role: "tool", name: unreadableName, content: "3" },
  { role: "assistant", content: "d" },
  { role: "tool", name: "h", callId: "other", content: "4" },
  { role: "tool", name: "h", content: "5" },
];
const answers = [
  { role: "tool", name: "f", content: "1", tool_call_id: "c00000000" },
  { role: "tool", name: "g", content: "2", tool_call_id: "abc" },
  { role: "tool", name: "tool_call", content: "3", tool_call_id: "c00000002" },
  { role: "assistant", content: "d" },
  { role: "tool", name: "h", content: "4", tool_call_id: "other" },
  { role: "tool", name: "h", content: "5", tool_call_id: "c00010000" },
];
const before = [
  { role: "system", content: "s" },
  { role: "user", content: "u" },
];
const called = (args: unknown, ids = ["c00000000", "abc"]) => ({
  ...{ role: "assistant", content: "c", reasoning_content: "r", thinking: "r" },
  tool_calls: [
    { type: "function", id: ids[0], function: { name: "f", arguments: args } },
    { type: "function", id: ids[1], function: { name: "g", arguments: typeof args === "string" ? "{}" : {} } },
  ],
});

test("messages as templates of the Hub expect them: reasoning by two names, calls with ids of their turn and place", () => {
  expect(shown(conversation)).toEqual([...before, called({ a: 5, b: "x" }), ...answers]);
  expect(shown(conversation, { style: "text" })).toEqual([...before, called('{"a": 5.0, "b": "x"}'), ...answers]);
  expect(shown(conversation, { style: "content", format: hermes })[2]).toEqual({
    role: "assistant",
    content: hermes.write(calling),
  });
  expect(shown([{ role: "assistant", content: "d" }], { style: "content", format: hermes })).toEqual([
    { role: "assistant", content: "d" },
  ]);
});

test("a template that demands nine letters and digits gets them, in the answers too", () => {
  const ids = ["c00000000", "c00000001"];
  const renamed = answers.map((message) =>
    "tool_call_id" in message
      ? {
          ...message,
          tool_call_id: { abc: "c00000001", other: "c00010000" }[String(message.tool_call_id)] ?? message.tool_call_id,
        }
      : message,
  );
  const last = { ...renamed[5], tool_call_id: "c00010001" };
  const nine = shown(conversation, {}, "{% if 9 == 9 and 1 == 2 and 'x' | length != 9 %}{% endif %}");
  expect(nine).toEqual([...before, called({ a: 5, b: "x" }, ids), ...renamed.slice(0, 5), last]);
  expect(
    shown([{ ...calling, toolCalls: [{ id: "abcdefgh9", name: "f", arguments: {} }] }], {}, "{# length != 9 #}")[0].tool_calls[0]
      .id,
  ).toBe("abcdefgh9");
  expect(shown(conversation, {}, "{# length != 90 #}")[2].tool_calls[1].id).toBe("abc");
});

test("what others wrote is quoted, the environment's and the model's words are not", () => {
  const quote = (text: string) => `<${text}>`;
  const contents = shown(conversation, { quote }).map(({ content }: { content: string }) => content);
  expect(contents).toEqual(["s", "<u>", "c", "<1>", "<2>", "<3>", "d", "<4>", "<5>"]);
  const parameters = { type: "object", properties: { a: { type: "string", enum: ["x", 1, null] } } } as const;
  const tool: Tool = { name: "t", description: "d", parameters, execute: () => "" };
  const described = {
    name: "<t>",
    description: "<d>",
    parameters: { type: "<object>", properties: { a: { type: "<string>", enum: ["<x>", 1, null] } } },
  };
  expect(JSON.parse(render("{{ tools | tojson }}", { quote }, [tool]))).toEqual([{ type: "<function>", function: described }]);
  expect(JSON.parse(render("{{ tools | tojson }}", {}, [tool]))[0].function.parameters).toEqual(parameters);
});

test("a template has named tokens, variables, and None for what there is not", () => {
  const source = "{{ bos_token }}{{ x }}{{ add_generation_prompt }}{{ documents is none }}{{ tools is none }}{{ y is defined }}";
  expect(render(source, { variables: { x: 3 } })).toBe("<s>3TrueTrueTrueFalse");
  expect(render("a\r\nb")).toBe("a\nb");
});

test("equal messages of a template of one loop are rendered once, and as they would be", () => {
  const source =
    "{% for m in messages %}[{{ m.content }}{{ counted(m.content) }}]{% endfor %}{% if add_generation_prompt %}>{% endif %}";
  let calls = 0;
  const render = compileTemplate(source, {}, { variables: { counted: () => ++calls && "" } });
  const user = (content: string) => ({ role: "user", content }) as const;
  expect(render([user("a"), user("b"), user("a")], [], true)).toBe("[a][b][a]>");
  expect(render([user("b")], [], false)).toBe("[b]");
  expect(calls).toBe(2);
});

test.each([
  ["range(3)", "[0, 1, 2]"],
  ["range(1, 4)", "[1, 2, 3]"],
  ["range(5, 1, -2)", "[5, 3]"],
  ["range(3, 1)", "[]"],
  ["range(0)", "[]"],
])("%s is Python's", (source, text) => {
  expect(render(`{{ ${source} | list }}`)).toBe(text);
});

test("a range, a template and a time have bounds", () => {
  expect(render("{{ range(100000) | length }}")).toBe("100000");
  const hint = "Compare the messages with the roles and the order that the model's chat template accepts.";
  const refused = (source: string) => () => render(source);
  expect(refused("{{ range(100001) | list }}")).toThrow(
    `what the chat template answered is "range() of 100001 numbers, more than 100000". ${hint}`,
  );
  expect(refused("{{ range(0, 3, 0) | list }}")).toThrow("range() of Infinity numbers");
  expect(refused("{{ raise_exception('no') }}")).toThrow(`what the chat template answered is "no". ${hint}`);
  expect(refused(" ".repeat(2 ** 20 + 1))).toThrow(`chat template is "1048577 characters, more than 1048576". ${hint}`);
  expect(render("a".repeat(2 ** 20))).toHaveLength(2 ** 20);
  expect(templateMs).toEqual({ opening: 10_000, conversation: 60_000 });
});

test("renderings take their time of the one that they are given, and leave the rest", () => {
  const time = { all: 500, left: 4.01 }; // 5 ms of a clock that may be a part of one early
  const spin = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}";
  expect(() => withinTemplateTime(time, () => render(spin))).toThrow(ModelError);
  expect(time.left).toBeLessThan(0);
  expect(() => withinTemplateTime({ all: 500, left: -10 }, () => render(spin))).toThrow(/no end within 500 ms/);
  const long = { all: 60_000, left: 60_000 };
  expect(withinTemplateTime(long, () => render("a"))).toBe("a");
  expect(long.left).toBeLessThan(60_000);
  expect(long.left).toBeGreaterThan(0);
});
