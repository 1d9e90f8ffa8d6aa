import { expect, test } from "vitest";
import { plain, qwen25, testTokenizer } from "../../test/fixtures/chats.ts";
import { gptOss } from "../actions/formats/gpt-oss.ts";
import { hermes, smollm2 } from "../actions/formats/hermes.ts";
import { makeChat } from "./chat.ts";
import { renderingOf, turnEndsOf, withStops } from "./rendering.ts";

const silent = "{%- for m in messages -%}{{ m.role }}:{{ m.content }}<|im_end|>{%- endfor -%}";

test("where tools are read, and in which format, follows from the template and the settings", () => {
  const of = (template: string, settings = {}) => {
    const { toolsIn, format, found, likely } = renderingOf(testTokenizer(template), settings);
    return [toolsIn, format?.name, "style" in found ? found.style : found.problem, likely];
  };
  expect(of(qwen25)).toEqual(["template", "hermes", "objects", undefined]);
  expect(of(qwen25, { tools: "none" })).toEqual(["none", "hermes", "objects", undefined]);
  expect(of(qwen25, { tools: "system" })).toEqual(["system", "hermes", "objects", undefined]);
  expect(of(silent)).toEqual(["system", "hermes", "content", undefined]);
  expect(of(`{# SmolLM #}${silent}`)).toEqual(["system", smollm2.name, "content", undefined]);
  expect(of(silent, { format: "llama3" })).toEqual(["system", "llama3", "content", undefined]);
  expect(of(silent, { tools: "template" })).toEqual(["template", undefined, "no calls at all", "hermes"]);
  expect(of(silent, { tools: "template", format: "llama3" })).toEqual(["template", "llama3", "content", undefined]);
  const invoking = qwen25.replaceAll("tool_call>", "invoke>");
  expect(of(invoking)).toEqual(["template", undefined, "calls in an unknown format", undefined]);
});

test("without a template there is no chat, and the error says where one would be", () => {
  expect(() => renderingOf(testTokenizer(), {})).toThrow(
    'chat template is missing; expected "chat_template" in tokenizer_config.json, or a file chat_template.jinja. ' +
      "Base models often have none; use the model's instruct version.",
  );
});

test("a control token is quoted if it is special, or if the template uses it; white space never is", () => {
  const base = testTokenizer(plain);
  const addedTokens = [
    ...base.addedTokens,
    { text: "<tool_call>", special: false },
    { text: "<unused>", special: false },
    { text: "\n", special: false },
  ];
  const { control } = renderingOf({ ...base, addedTokens }, {});
  const marked = (text: string) => control.quote(text) !== text;
  expect(["<|im_end|>", "<tool_call>", "<unused>", "a\nb"].map(marked)).toEqual([true, true, false, false]);
  expect(control.quoteSpecial("<tool_call>")).toBe("<tool_call>");
});

test("a turn ends at the first end behind its content, wherever the message was said before", () => {
  const tokenizer = testTokenizer(plain);
  const { stopAt, turnEnd } = turnEndsOf(tokenizer, tokenizer);
  const text = "user\nhi<|im_end|>\nassistant\n hi <|im_end|>\n<|eot_id|>";
  expect([stopAt(text, 7), stopAt(text, 8), stopAt(text, text.indexOf("<|eot"))]).toEqual(["<|im_end|>", "", "<|eot_id|>"]);
  const from = text.indexOf("assistant\n") + 10;
  const end = text.indexOf(" <|im_end|>") + 1;
  for (const content of ["hi", " hi\n", "", "not there"]) expect(turnEnd(text, from, { role: "assistant", content })).toBe(end);
  expect(turnEnd("a<|im_end|>b", 3, { role: "assistant", content: "a<|im_end|>b" })).toBe(12);
  expect(turnEnd("abc", 1, { role: "assistant", content: "b" })).toBe(3);
  // An end in the content itself is text.
  const quoting = "x<|im_end|>y<|im_end|>";
  expect(turnEnd(quoting, 0, { role: "assistant", content: "x<|im_end|>y" })).toBe(12);
});

test("a format's stop strings end turns where they are tokens, and no token inside of a message does", () => {
  const tokenizer = {
    ...testTokenizer(plain),
    stopTokens: [301, 305],
    decode: ([id]: readonly number[]) => (id === 301 ? "<|end|>" : "<eos>"),
  };
  const idOf = (text: string) => (text === "<|call|>" ? 7 : undefined);
  expect(withStops({ ...tokenizer, idOf }, undefined).stopTokens).toEqual([301, 305]);
  expect(withStops({ ...tokenizer, idOf }, hermes).stopTokens).toEqual([301, 305]);
  expect(withStops({ ...tokenizer, idOf }, gptOss).stopTokens).toEqual([305, 7]);
});

test("tools that are shown nowhere leave the template's prompt as it is without them", () => {
  const tool = { name: "f", description: "Does f.", parameters: { type: "object", properties: {} }, execute: () => "" } as const;
  const user = { role: "user", content: "hi" } as const;
  const text = (tools: "none" | "template") => makeChat(testTokenizer(qwen25), { tools }).open([user], [tool]).text;
  expect(text("none")).toBe("<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n");
  expect(text("template")).toContain("Does f.");
});
