import fc from "fast-check";
import { expect, test } from "vitest";
import { hermes } from "./hermes.ts";

const parseAction = (text: string) => hermes.read(text, []);

const pay = { name: "pay", arguments: { id: "c1", amount: 5 } };

test.each([
  ["compact", '<tool_call>{"name":"pay","arguments":{"id":"c1","amount":5}}</tool_call>'],
  ["with white space", '\n<tool_call>\n{ "name": "pay",\n "arguments": {"id": "c1", "amount": 5} }\n</tool_call>\n'],
  ["without a closing tag", '<tool_call>{"name":"pay","arguments":{"id":"c1","amount":5}}'],
  ["in a code fence", '<tool_call>\n```json\n{"name":"pay","arguments":{"id":"c1","amount":5}}\n```\n</tool_call>'],
  ["with parameters for arguments", '<tool_call>{"name":"pay","parameters":{"id":"c1","amount":5}}</tool_call>'],
  ["with arguments as a JSON string", '<tool_call>{"name":"pay","arguments":"{\\"id\\":\\"c1\\",\\"amount\\":5}"}</tool_call>'],
  ["with commas too many", '<tool_call>{"name":"pay","arguments":{"id":"c1","amount":5,},}</tool_call>'],
])("a call %s is read", (_, text) => {
  expect(parseAction(text)).toEqual({ message: { role: "assistant", content: "", toolCalls: [pay] }, calls: [pay] });
});

test("a call without arguments has none", () => {
  expect(parseAction('<tool_call>{"name":"list"}</tool_call>').calls).toEqual([{ name: "list", arguments: {} }]);
});

test("only commas before closing brackets are forgiven, not those inside of strings", () => {
  const { calls } = parseAction('<tool_call>{"name":"say","arguments":{"text":"a,} \\",]",}}</tool_call>');
  expect(calls).toEqual([{ name: "say", arguments: { text: 'a,} ",]' } }]);
});

test.each([
  ["no JSON", "<tool_call>pay c1</tool_call>", /not valid JSON/],
  ["nothing", "<tool_call></tool_call>", /not valid JSON/],
  ["two commas", '<tool_call>{"name":"pay",,"arguments":{}}</tool_call>', /not valid JSON/],
  ["JSON that is no object", "<tool_call>[1]</tool_call>", /no "name"/],
  ["no name", '<tool_call>{"arguments":{}}</tool_call>', /no "name"/],
  ["an empty name", '<tool_call>{"name":"","arguments":{}}</tool_call>', /no "name"/],
  [
    "arguments that are a list",
    '<tool_call>{"name":"pay","arguments":[1]}</tool_call>',
    /arguments of pay are not a JSON object/,
  ],
  [
    "arguments that are other text",
    '<tool_call>{"name":"pay","arguments":"c1"}</tool_call>',
    /arguments of pay are not a JSON object/,
  ],
  [
    "an argument that records cannot hold",
    '<tool_call>{"name":"pay","arguments":{"id":"c1","__proto__":{"amount":5}}}</tool_call>',
    /pay has no argument "__proto__"/,
  ],
])("a call with %s is an error that the model can read, and its text stays", (_, text, problem) => {
  const { message, calls } = parseAction(text);
  expect(calls).toEqual([{ error: expect.stringMatching(problem) }]);
  expect(message).toEqual({ role: "assistant", content: text });
});

test("several calls are read in their order, the bad among the good, with the text around them", () => {
  const { message, calls } = parseAction(
    'First <tool_call>{"name":"a"}</tool_call> then <tool_call>oops</tool_call>\n<tool_call>{"name":"b"}</tool_call> so.',
  );
  expect(calls).toEqual([
    { name: "a", arguments: {} },
    { error: expect.stringMatching(/not valid JSON/) },
    { name: "b", arguments: {} },
  ]);
  expect(message.toolCalls?.map(({ name }) => name)).toEqual(["a", "b"]);
  expect(message.content).toBe("First  then <tool_call>oops</tool_call>\n so.");
});

test("text without calls is content alone", () => {
  expect(parseAction(" Which Ana? ")).toEqual({ message: { role: "assistant", content: "Which Ana?" }, calls: [] });
});

test.each([
  ["opened here", "<think>\nAna is c1\n</think>\n\nDone."],
  ["opened by the generation prompt", "Ana is c1</think>Done."],
])("reasoning %s is told from the answer", (_, text) => {
  expect(parseAction(text).message).toEqual({ role: "assistant", content: "Done.", reasoning: "Ana is c1" });
});

test("calls that are only thought of are not made, nor those of reasoning without an end", () => {
  const call = '<tool_call>{"name":"a"}</tool_call>';
  expect(parseAction(`<think>${call}</think>no`).calls).toEqual([]);
  expect(parseAction(`<think>${call}`)).toEqual({ message: { role: "assistant", content: "", reasoning: call }, calls: [] });
});

test("whatever a model writes can be read", () => {
  const fragment = fc.constantFrom(
    "<tool_call>",
    "</tool_call>",
    "<think>",
    "</think>",
    "{",
    '"name"',
    ":",
    "}",
    "[",
    ",",
    '"',
    "```",
    "\n",
    "x",
  );
  fc.assert(
    fc.property(fc.array(fragment), (fragments) => {
      const text = fragments.join("");
      const { message, calls } = parseAction(text);
      expect(message.toolCalls?.length ?? 0).toBe(calls.filter((call) => "name" in call).length);
    }),
  );
});
