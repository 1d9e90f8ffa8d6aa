import { expect, test } from "vitest";
import { hermes, smollm2 } from "../actions/formats/hermes.ts";
import type { Message } from "../core/messages.ts";
import type { Tool } from "../tools/tool.ts";
import { trainedFormat, withToolsInSystem } from "./tools-in-system.ts";

const tool = (name: string): Tool => ({
  ...{ name, description: `Does ${name}.`, execute: () => "" },
  parameters: { type: "object", properties: { a: { type: "string" } } },
});
const signature = (name: string) =>
  `{"name":"${name}","description":"Does ${name}.","parameters":{"type":"object","properties":{"a":{"type":"string"}}}}`;

/** What a template is given. */
function given(messages: readonly Message[], tools: readonly Tool[], format = hermes, quote = (text: string) => text) {
  const seen: unknown[] = [];
  const render = withToolsInSystem(
    (...args) => {
      seen.push(args);
      return "text";
    },
    format,
    quote,
  );
  expect(render(messages, tools, true)).toBe("text");
  const [[shown, shownTools, awaitsAssistant]] = seen as [[Message[], Tool[], boolean]];
  expect([shownTools, awaitsAssistant]).toEqual([[], true]);
  return shown;
}

const user: Message = { role: "user", content: "Hi." };
const text =
  `You may call these functions:\n<tools>\n${signature("f")}\n${signature("g")}\n</tools>\n\n` +
  'Write a call like this:\n<tool_call>\n{"name": "function_name", "arguments": {"argument": "value"}}\n</tool_call>';

test("tools are behind the system message, or are one", () => {
  const tools = [tool("f"), tool("g")];
  expect(given([{ role: "system", content: "Be brief." }, user], tools)).toEqual([
    { role: "system", content: `Be brief.\n\n${text}` },
    user,
  ]);
  expect(given([user], tools)).toEqual([{ role: "system", content: text }, user]);
  expect(given([], tools)).toEqual([{ role: "system", content: text }]);
  expect(given([user], [])).toEqual([user]);
});

test("SmolLM2 has its tools in one list, as it was trained", () => {
  expect(given([user], [tool("f"), tool("g")], smollm2)[0]?.content).toBe(
    `You have access to the following tools:\n<tools>[${signature("f")}, ${signature("g")}]</tools>\n\nThe format of calls is as follows.\n` +
      '<tool_call>[{"name": "function_name", "arguments": {"argument": "value"}}]</tool_call>',
  );
});

test("what others wrote of a tool is quoted, the program's own words are not", () => {
  const content = given([user], [tool("f")], hermes, (words) => words.toUpperCase())[0]?.content ?? "";
  expect(content).toBe(text.replace(`${signature("f")}\n${signature("g")}`, signature("f").toUpperCase()));
});

test("the results of one action are one message of the user", () => {
  const result = (content: string): Message => ({ role: "tool", name: "f", content });
  const response = (content: string) => `<tool_response>\n${content}\n</tool_response>`;
  const said: Message = { role: "assistant", content: "So." };
  const shown = [user, { role: "user", content: `${response("1")}\n${response("2")}` }, said];
  expect(given([user, result("1"), result("2"), said, result("3")], [])).toEqual([
    ...shown,
    { role: "user", content: response("3") },
  ]);
});

test("a family is known by its name in the template", () => {
  expect([trainedFormat("You are SmolLM, trained"), trainedFormat("You are SmolLMs"), trainedFormat("")]).toEqual([
    ...[smollm2, hermes, hermes],
  ]);
});
