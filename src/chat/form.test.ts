import { expect, test } from "vitest";
import { ModelError } from "../core/errors.ts";
import type { AssistantMessage } from "../core/messages.ts";
import type { Tool } from "../tools/tool.ts";
import { hasForm, isFiniteJson } from "./form.ts";
import type { Formed } from "./grammar.ts";

test.each([
  ['{"n": 1e999}', false],
  ['{"n": [1, -2e4735]}', false],
  ['{"n": "1e999"}', true],
  ['{"n": 1e300}', true],
  ['{"n": 1e9', true],
])("%s has numbers that readers hold: %s", (text, finite) => expect(isFiniteJson(text)).toBe(finite));

const schema = { type: "object", properties: { n: { type: "integer" } }, required: ["n"] } as const;
const tools: Tool[] = ["f", "g"].map((name) => ({ name, description: "", parameters: schema, execute: () => "" }));
const text = (content: string): AssistantMessage => ({ role: "assistant", content });
const calls = (...made: readonly (readonly [string, object])[]): AssistantMessage => ({
  ...text(""),
  toolCalls: made.map(([name, args]) => ({ name, arguments: { ...args } })),
});
const right = ["f", { n: 1 }] as const;
const wrong = ["f", { n: "x" }] as const;

test.each<[string, Formed, AssistantMessage, boolean]>([
  ["a text of no form", {}, text("a"), true],
  ["a text where a call is required", { tools, toolChoice: "required" }, text("a"), false],
  ["a text where no tool is there", { toolChoice: "required" }, text("a"), true],
  ["a call where one is required", { tools, toolChoice: "required" }, calls(right), true],
  ["a required call beside its schema", { tools, toolChoice: "required" }, calls(wrong), false],
  ["a required call of no tool", { tools, toolChoice: "required" }, calls(["h", { n: 1 }]), false],
  ["one of two required calls beside its schema", { tools, toolChoice: "required" }, calls(right, wrong), false],
  ["the forced call", { tools, toolChoice: { tool: "f" } }, calls(right), true],
  ["another call than the forced one", { tools, toolChoice: { tool: "g" } }, calls(right), false],
  ["a text where a call is forced", { tools, toolChoice: { tool: "f" } }, text("a"), false],
  ["a free call beside its schema", { tools }, calls(wrong), true],
  ["a free call of no tool", { tools }, calls(["h", {}]), true],
  ["a strict call", { tools, strictTools: ["f"] }, calls(right), true],
  ["a strict call beside its schema", { tools, strictTools: ["f"] }, calls(wrong), false],
  ["another tool than the strict one", { tools, strictTools: ["g"] }, calls(wrong), true],
  ["two calls", { tools }, calls(right, right), true],
  ["two calls where one is allowed", { tools, parallelCalls: false }, calls(right, right), false],
  ["one call where one is allowed", { tools, parallelCalls: false }, calls(right), true],
  ["JSON", { form: "json" }, text('{"a": 1}'), true],
  ["JSON that is no object", { form: "json" }, text("[1]"), false],
  ["no JSON", { form: "json" }, text("a"), false],
  ["a text of a schema", { form: { schema } }, text('{"n": 1}'), true],
  ["a text beside its schema", { form: { schema } }, text('{"n": "x"}'), false],
  ["calls in place of a text of a schema", { tools, form: { schema } }, calls(wrong), true],
])("%s has its form: %s", (_, formed, message, expected) => {
  expect(hasForm(formed, message)).toBe(expected);
});

test("a schema that cannot be checked is an error of its own", () => {
  const nonsense = { type: "nonsense" };
  expect(() => hasForm({ form: { schema: nonsense } }, text("1"))).toThrow(ModelError);
  expect(() => hasForm({ form: { schema: nonsense } }, text("1"))).toThrow(
    /^schema is "\{\\"type\\":\\"nonsense\\"\}"; expected one that can be checked\. ./,
  );
});
