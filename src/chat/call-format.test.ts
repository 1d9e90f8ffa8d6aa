import { expect, test } from "vitest";
import { deepseek, deepseekV3 } from "../actions/formats/deepseek.ts";
import type { CallFormat } from "../actions/formats/format.ts";
import { gptOss } from "../actions/formats/gpt-oss.ts";
import { hermes } from "../actions/formats/hermes.ts";
import { lfm2 } from "../actions/formats/lfm2.ts";
import { llama3 } from "../actions/formats/llama3.ts";
import type { AssistantMessage } from "../core/messages.ts";
import { type FoundFormat, findCallFormat, likelyFormat, requireFormat, settledFormat, showsTools } from "./call-format.ts";
import type { CallStyle, Render } from "./template.ts";

/** A template that writes messages in a row, calls in a way of its own, and an end behind each. */
const templateOf =
  (calls: (message: AssistantMessage) => string): Render =>
  (messages) =>
    messages
      .map((message) => `<${message.role}>${message.role === "assistant" ? calls(message) : message.content}<end>`)
      .join("");
const found = (renderIn: (style: CallStyle) => Render) => findCallFormat(renderIn, ["<end>"]);

test.each([hermes, llama3, lfm2, deepseek, deepseekV3].map((format) => [format.name, format] as const))(
  "%s is found by a call that it reads back",
  (_, format) => {
    expect(found(() => templateOf(format.write))).toEqual({ format, style: "objects" });
  },
);

test("a template that needs arguments as text is given text", () => {
  const ofText = (style: CallStyle) => {
    if (style === "objects") throw new Error("can only concatenate str");
    return templateOf(hermes.write);
  };
  expect(found(ofText)).toEqual({ format: hermes, style: "text" });
});

test.each<
  [string, (style: CallStyle) => Render, Omit<Extract<FoundFormat, { problem: string }>, "rendered"> & { rendered: string }]
>([
  [
    "calls in another form",
    () => templateOf(() => "invoke find_contact"),
    { rendered: "<assistant>invoke find_contact", problem: "calls in an unknown format", hasCalls: true },
  ],
  [
    "no calls",
    () => templateOf(({ content }) => content),
    { rendered: "<assistant>", problem: "no calls at all", hasCalls: false },
  ],
  [
    "calls of another name",
    () => templateOf((message) => hermes.write(message).replace("find_contact", "find")),
    { rendered: expect.stringContaining('"find"') as never, problem: "no calls at all", hasCalls: false },
  ],
  [
    "a call with other arguments",
    () => templateOf((message) => hermes.write(message).replace("5", "6")),
    { rendered: expect.stringContaining("find_contact") as never, problem: "calls in an unknown format", hasCalls: true },
  ],
  [
    "one call more",
    () => templateOf((message) => hermes.write(message).repeat(2)),
    { rendered: expect.stringContaining("find_contact") as never, problem: "calls in an unknown format", hasCalls: true },
  ],
  [
    "an error, the first of two",
    (style) => () => {
      throw new Error(`no tools in ${style}`);
    },
    { rendered: "", problem: "no tools in objects", hasCalls: false },
  ],
])("a template with %s has no known format", (_, renderIn, expected) => {
  expect(found(renderIn)).toEqual(expected);
});

test("the end of turn that closes a call is none of it, the last of several", () => {
  const doubled: Render = (...given) => `${templateOf(hermes.write)(...given)}<end><eos>`;
  expect(findCallFormat(() => doubled, ["<eos>", "<end>"])).toEqual({ format: hermes, style: "objects" });
  expect(findCallFormat(() => templateOf(hermes.write), ["<none>"])).toEqual({ format: hermes, style: "objects" });
});

test("a template shows tools where its prompt is another one with them, or refuses them", () => {
  expect(showsTools((_, tools) => String(tools.length))).toBe(true);
  expect(showsTools(() => "the same")).toBe(false);
  expect(
    showsTools((_, tools) => {
      if (tools.length > 0) throw new Error("no tools");
      return "";
    }),
  ).toBe(true);
});

const unknown = (problem: string, hasCalls = false): FoundFormat => ({ rendered: "<call>", problem, hasCalls });

test("a setting is for templates that show no calls, and may repeat what was found", () => {
  const known: FoundFormat = { format: hermes, style: "text" };
  expect(settledFormat(known, undefined)).toBe(known);
  expect(settledFormat(known, "hermes")).toBe(known);
  expect(settledFormat(known, "no such format")).toBe(known);
  const none = unknown("no calls at all");
  expect(settledFormat(none, undefined)).toBe(none);
  expect(settledFormat(none, "llama3")).toEqual({ format: llama3, style: "content" });
  expect(() => settledFormat(known, "llama3")).toThrow(
    'chat.format is "llama3"; expected "hermes", the format of the model\'s own template. Leave the setting out: it is for templates that show no calls.',
  );
});

test("the format of the most tokens is likely, Hermes' where there are none", () => {
  expect(likelyFormat([])).toBe(hermes);
  expect(likelyFormat(["<|tool_call_start|>", "<|tool_call_end|>"])).toBe(lfm2);
  expect(likelyFormat(["<|channel|>", "<|message|>", "<tool_call>"])).toBe(gptOss);
  expect(likelyFormat(["<tool_call>", "</tool_call>"])).toBe(hermes);
  // Spaces and short signs are tokens of many models.
  expect(likelyFormat(["(", "=", '="', "limit", "    ", "▁▁▁▁", "[f"])).toBe(hermes);
});

test("an unknown format is an error that names what the template shows, and what to do", () => {
  expect(requireFormat({ format: lfm2, style: "objects" }) satisfies CallFormat).toBe(lfm2);
  const names =
    '"qwen3-coder, glm, hermes, smollm2, mistral, mistral-args, lfm2, gpt-oss, deepseek-v3, deepseek, function-gemma, gemma4, llama3'.slice(
      1,
    );
  const advice =
    "Its answers could not be read, and every reward would be 0. Choose an instruct model whose template shows calls, " +
    "or name the format that the model was taught with the setting chat.format";
  expect(() => requireFormat(unknown("no calls at all"))).toThrow(
    `tool calls of the chat template is "no calls at all"; expected one of the formats ${names}. ` +
      `Rendered with a call, the template shows no calls at all. ${advice}.`,
  );
  expect(() => requireFormat(unknown("calls in an unknown format", true), "lfm2")).toThrow(
    `tool calls of the chat template is "<call>"; expected one of the formats ${names}. ` +
      `Rendered with a call, the template shows calls in an unknown format. ${advice}: by its tokens probably lfm2 (--set chat.format=lfm2).`,
  );
});
