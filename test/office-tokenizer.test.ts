import fc from "fast-check";
import { expect, test } from "vitest";
import { office } from "../research/recipes/office.ts";
import { trainTokenizer } from "../research/recipes/tokenizer.ts";
import { hermes } from "../src/actions/formats/hermes.ts";
import { makeChat } from "../src/chat/chat.ts";
import { makeTokenizer } from "../src/chat/tokenizer.ts";
import type { Message } from "../src/core/messages.ts";
import { encodeDemonstration } from "../src/rollouts/demonstration.ts";

const conversation = (who: string, amount: number): readonly Message[] => [
  { role: "system", content: "You are an assistant." },
  { role: "user", content: `Pay ${who} ${amount} at 14:30.` },
  { role: "assistant", content: "", toolCalls: [{ name: "pay", arguments: { id: "c42", name: who, amount } }] },
  { role: "tool", name: "pay", content: `[{"id":"c42","name":"${who}"}]` },
  { role: "assistant", content: `Done, ${who}.` },
];
const corpus = ["Ana", "Bob", "Zoe"].flatMap((who, i) => [conversation(who, 7 * i), conversation(who, 11 * i + 20)]);
const files = trainTokenizer(corpus, office);
const tokenizer = makeTokenizer(files);
const chat = makeChat(tokenizer);
const tokens = (text: string) => tokenizer.encode(text).map((id) => tokenizer.decode([id]));

test("any text can be encoded and comes back", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (text) => {
      expect(tokenizer.decode(tokenizer.encode(text))).toBe(text);
    }),
  );
});

test("a name is the same token in a sentence and in JSON, and so is a number", () => {
  const [name, number] = [tokenizer.idOf("Ana"), tokenizer.idOf("42")];
  for (const text of ["Pay Ana 42.", '<tool_call>{"name":"pay","arguments":{"name":"Ana","amount":42}}</tool_call>']) {
    expect(tokenizer.encode(text)).toContain(name);
    expect(tokenizer.encode(text)).toContain(number);
  }
});

test("all numbers of two digits are one token, longer ones are read from the left", () => {
  for (let n = 0; n < 100; n++) expect(tokens(String(n).padStart(2, "0"))).toHaveLength(1);
  expect(tokens("12345")).toEqual(["12", "34", "5"]);
});

test("a tool call is its name, its keys and its values", () => {
  expect(tokens('<tool_call>{"name":"pay","arguments":{"id":"c42","name":"Bob","amount":20}}</tool_call><|end|>')).toEqual([
    '<tool_call>{"name":"',
    "pay",
    '","arguments":{"',
    'id":"c',
    "42",
    '","name":"',
    "Bob",
    '","amount":',
    "20",
    "}}</tool_call>",
    "<|end|>",
  ]);
});

test("the template's calls are compact JSON that parses back to what was called", () => {
  const message = corpus[0][2];
  const [{ action }] = encodeDemonstration(chat, "demo", corpus[0], []);
  expect(tokenizer.decode(action)).toBe(
    '<tool_call>{"name":"pay","arguments":{"id":"c42","name":"Ana","amount":0}}</tool_call><|end|>',
  );
  expect(hermes.read(chat.actionText(action), []).message).toEqual(message);
});

test("the vocabulary depends on the conversations, not on their order, and is as large as asked for at most", () => {
  expect(trainTokenizer([...corpus].reverse(), office)).toEqual(files);
  expect(makeTokenizer(trainTokenizer(corpus, { ...office, vocabularySize: 370 })).size).toBe(370);
  expect(tokenizer.size).toBeLessThan(768);
});
