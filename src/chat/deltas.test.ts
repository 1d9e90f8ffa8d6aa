import fc from "fast-check";
import { expect, test } from "vitest";
import { callFormats } from "../actions/formats/registry.ts";
import type { AssistantMessage, ToolCall } from "../core/messages.ts";
import { callSyntax } from "./call-deltas.ts";
import { type DeltaOptions, Deltas } from "./deltas.ts";
import { openingOf } from "./grammar.ts";

/** Streams the bytes of a text, one token each; returns what was given, in order, and when the first part of the text came. */
function streamed(
  text: string,
  content: string,
  options: Partial<DeltaOptions> = {},
  reasoning?: string,
  toolCalls?: ToolCall[],
) {
  const given: string[] = [];
  let said = { text: "", reasoning: "" };
  let tokens = 0;
  let first: number | undefined;
  const decode = (ids: readonly number[]) => Buffer.from(ids).toString("utf8");
  const calls: { name: string; text: string }[] = [];
  let covered = 0;
  const emit: DeltaOptions["emit"] = (delta) => {
    covered += delta.tokens.length;
    if (delta.kind === "call") calls[delta.index] = { name: delta.name, text: "" };
    else if (delta.kind === "arguments") calls[delta.index].text += delta.text;
    else {
      if (delta.kind === "text") first ??= tokens;
      given.push(`${delta.kind}:${delta.text}`);
      said = { ...said, [delta.kind]: said[delta.kind] + delta.text };
    }
  };
  const none = { stops: [], opening: undefined, syntax: undefined, thinking: false };
  const deltas = new Deltas({ decode, emit, ...none, ...options });
  for (const token of Buffer.from(text)) {
    tokens++;
    deltas.push({ token, logprob: 0 });
  }
  const atEnd = calls.length;
  const message: AssistantMessage = { role: "assistant", content, ...(reasoning === undefined ? {} : { reasoning }) };
  const ended = deltas.end(toolCalls === undefined ? message : { ...message, toolCalls });
  return { given, said, first, calls, atEnd, ended, covered, tokens };
}

test("deltas add up to the message, whatever its characters", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme", maxLength: 40 }), (text) => {
      fc.pre(!text.includes("<") && !text.includes("\ufffd"));
      expect(streamed(text, text).said.text).toBe(text);
    }),
  );
});

test("the first token of a text is not held back", () => {
  expect(streamed("Hello there", "Hello there").first).toBe(1);
});

test("a stop string and a call are none of the text, not even their beginnings", () => {
  const { said, given } = streamed("Well <tool_call>{}</tool_call>", "Well", { opening: "<tool_call>" });
  expect(said.text).toBe("Well");
  expect(given.join()).not.toContain("<");
  expect(streamed("abcSTOP", "abc", { stops: ["STOP"] }).said.text).toBe("abc");
  // What began like a stop string and was none comes after all.
  expect(streamed("abST no", "abST no", { stops: ["STOP"] }).said.text).toBe("abST no");
});

test("reasoning is a part of its own, opened by the model or by the prompt", () => {
  for (const [text, thinking] of [
    ["<think>so\nso</think>\n\nYes.", false],
    ["so\nso</think>\n\nYes.", true],
  ] as const)
    expect(streamed(text, "Yes.", { thinking }, "so\nso").said).toEqual({ text: "Yes.", reasoning: "so\nso" });
});

const withJson = callFormats.filter((format) => callSyntax(format) !== undefined);

test("formats with arguments in JSON have calls that are read while they are written", () => {
  const names = withJson.map(({ name }) => name).sort();
  expect(names).toEqual(["deepseek", "deepseek-v3", "gpt-oss", "hermes", "llama3", "mistral", "mistral-args", "smollm2"]);
});

test.each(withJson.map((format) => [format.name, format] as const))(
  "%s: calls come in parts that add up to what is read",
  (_, format) => {
    const value = fc.oneof(
      fc.string(),
      fc.constantFrom('a "b" }', "[1,]", "\\", "</tool_call>x"),
      fc.integer(),
      fc.constant(null),
    );
    const args = fc.dictionary(fc.stringMatching(/^[a-z]{1,8}$/), fc.oneof(value, fc.array(value, { maxLength: 3 })), {
      maxKeys: 3,
    });
    const call = fc.record({ name: fc.stringMatching(/^[a-z_]{1,12}$/), arguments: args });
    fc.assert(
      fc.property(fc.array(call, { minLength: 1, maxLength: 3 }), (toolCalls) => {
        const text = format.write({ role: "assistant", content: "", toolCalls });
        const { message } = format.read(text, []);
        fc.pre(message.toolCalls?.length === toolCalls.length && message.content === "" && message.reasoning === undefined);
        const { calls, atEnd, said, ended, covered, tokens } = streamed(
          text,
          "",
          { opening: openingOf(format), syntax: callSyntax(format) },
          undefined,
          message.toolCalls?.slice(),
        );
        expect(calls.map(({ name, text: json }) => ({ name, arguments: JSON.parse(json) }))).toEqual(toolCalls);
        expect(atEnd).toBe(toolCalls.length); // none waited for the end
        expect(said.text).toBe("");
        expect(covered).toBeLessThanOrEqual(tokens);
        expect(ended.toolCalls?.map(({ name, arguments: given }) => ({ name, arguments: given }))).toEqual(toolCalls);
      }),
      { numRuns: 60 },
    );
  },
);

const hermes = { opening: "<tool_call>", syntax: callSyntax(withJson.filter(({ name }) => name === "hermes")[0]) };

test("the name of a call comes with the first bracket of its arguments, and each character as it is drawn", () => {
  const seen: string[] = [];
  const decode = (ids: readonly number[]) => Buffer.from(ids).toString("utf8");
  const emit: DeltaOptions["emit"] = (delta) => seen.push(delta.kind === "call" ? delta.name : "text" in delta ? delta.text : "");
  const deltas = new Deltas({ decode, emit, stops: [], thinking: false, ...hermes });
  const push = (text: string) => {
    for (const token of Buffer.from(text)) deltas.push({ token, logprob: 0 });
  };
  push('<tool_call>{"name":"find","arguments":{');
  expect(seen).toEqual(["find", "{"]);
  push('"t"');
  expect(seen.slice(2)).toEqual(['"', "t", '"']);
});

test("a comma too many is forgiven in the parts too", () => {
  const call = { name: "find", arguments: { a: [1] } };
  const { calls } = streamed('<tool_call>{"name":"find","arguments":{"a": [1, ], }}</tool_call>', "", hermes, undefined, [call]);
  expect(JSON.parse(calls[0].text)).toEqual({ a: [1] });
});

test("a call that ends early, or turns out to be none, stays the call that was begun: agents were given its beginning", () => {
  for (const text of [
    '<tool_call>{"name":"find","arguments":{"a": "b',
    `<tool_call>{"name":"find","arguments":{"a": 'b'}}</tool_call>`,
  ]) {
    const { ended, calls, said } = streamed(text, text, hermes);
    expect(said.text).toBe("");
    expect(ended.toolCalls).toEqual([{ name: "find", arguments: {}, argumentsText: calls[0].text }]);
  }
  // What does not begin as calls are written is text, and a call of another spelling comes whole.
  expect(streamed("<tool_call>oops", "<tool_call>oops", hermes).said.text).toBe("<tool_call>oops");
  const spelled = '<tool_call>{"arguments": {"a": 1}, "name": "find"}</tool_call>';
  const whole = streamed(spelled, "", hermes, undefined, [{ name: "find", arguments: { a: 1 } }]);
  expect(whole).toMatchObject({ atEnd: 0, calls: [{ name: "find", text: '{"a":1}' }] });
});

test("a message without calls comes back as it was given", () => {
  const { ended } = streamed("Hello", "Hello");
  expect(ended).toEqual({ role: "assistant", content: "Hello" });
  expect(Object.keys(ended)).not.toContain("toolCalls");
});

test("a call that was never begun keeps the text of its numbers at the end", () => {
  const call = { name: "f", arguments: { a: 5 }, argumentsText: '{"a": 5.0}' };
  const { calls, ended } = streamed("", "", {}, undefined, [call, { name: "g", arguments: { b: 1 } }]);
  expect(calls).toEqual([
    { name: "f", text: '{"a": 5.0}' },
    { name: "g", text: '{"b":1}' },
  ]);
  expect(ended.toolCalls).toEqual([call, { name: "g", arguments: { b: 1 } }]);
});

// Both were given in pieces that did not add up: the white space, and the tag that the prompt had opened already.
test("white space before reasoning is no answer, and an opening tag that the model repeats is no reasoning", () => {
  for (const text of ["<", "<thi", "<think"]) expect(streamed(text, text).given).toEqual([`text:${text}`]);
  expect(streamed("\n<think>\nso</think>\n Yes", "Yes", {}, "so").said).toEqual({ text: "Yes", reasoning: "so" });
  // Reasoning has no white space at its ends, and an end that begins like the closing tag waits.
  expect(streamed("<think>a </th", "", {}, "a </th").said.reasoning).toBe("a </th");
  expect(streamed(" so</think>x", "x", { thinking: true }, "so").given).toEqual(["reasoning:s", "reasoning:o", "text:x"]);
  expect(streamed("<think>so</think>x", "x", { thinking: true }, "so").said).toEqual({ text: "x", reasoning: "so" });
});

test("of two stop strings the first in the text ends it, and the text before calls has no white space at its ends", () => {
  expect(streamed("a END b STOP", "a ", { stops: ["STOP", "END"] }).said.text).toBe("a ");
  expect(streamed("  a b  <tool_call>{}", "a b", { opening: "<tool_call>" }).said.text).toBe("a b");
  expect(streamed("  a  ", "  a  ").said.text).toBe("  a  ");
});
