import fc from "fast-check";
import { expect, test } from "vitest";
import { type DeltaOptions, Deltas } from "./deltas.ts";

/** Streams the bytes of a text, one token each; returns what was given, in order, and when the first part of the text came. */
function streamed(text: string, content: string, options: Partial<DeltaOptions> = {}, reasoning?: string) {
  const given: string[] = [];
  let said = { text: "", reasoning: "" };
  let tokens = 0;
  let first: number | undefined;
  const decode = (ids: readonly number[]) => Buffer.from(ids).toString("utf8");
  const emit: DeltaOptions["emit"] = ({ kind, text: part }) => {
    if (kind === "text") first ??= tokens;
    given.push(`${kind}:${part}`);
    said = { ...said, [kind]: said[kind] + part };
  };
  const deltas = new Deltas({ decode, emit, ends: [], trimmed: false, thinking: false, ...options });
  for (const byte of Buffer.from(text)) {
    tokens++;
    deltas.push(byte);
  }
  deltas.end({ role: "assistant", content, ...(reasoning === undefined ? {} : { reasoning }) });
  return { given, said, first };
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
  const { said, given } = streamed("Well <tool_call>{}</tool_call>", "Well", { ends: ["<tool_call>"], trimmed: true });
  expect(said.text).toBe("Well");
  expect(given.join()).not.toContain("<");
  expect(streamed("abcSTOP", "abc", { ends: ["STOP"] }).said.text).toBe("abc");
  // What began like a stop string and was none comes after all.
  expect(streamed("abST no", "abST no", { ends: ["STOP"] }).said.text).toBe("abST no");
});

test("reasoning is a part of its own, opened by the model or by the prompt", () => {
  for (const [text, thinking] of [
    ["<think>so\nso</think>\n\nYes.", false],
    ["so\nso</think>\n\nYes.", true],
  ] as const)
    expect(streamed(text, "Yes.", { thinking }, "so\nso").said).toEqual({ text: "Yes.", reasoning: "so\nso" });
});
