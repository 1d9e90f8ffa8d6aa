import { expect, test } from "vitest";
import { testChat } from "../../test/fixtures/chats.ts";
import type { Message } from "../core/messages.ts";
import { encodeDemonstration } from "./demonstration.ts";

test("a demonstration has one sample for each assistant message, in the context that a rollout would have", () => {
  const messages: readonly Message[] = [
    { role: "user", content: "hi" },
    { role: "assistant", content: "", toolCalls: [{ name: "find", arguments: { who: "Ana" } }] },
    { role: "tool", name: "find", content: "c1" },
    { role: "assistant", content: "Done." },
  ];
  const chat = testChat("plain");
  const samples = encodeDemonstration(chat, "demo", messages, []);
  const texts = samples.map(({ context, action }) => [chat.tokenizer.decode(context.slice()), chat.tokenizer.decode(action)]);
  const first = "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n";
  const call = '<tool_call>{"name": "find", "arguments": {"who": "Ana"}}</tool_call><|im_end|>';
  expect(texts).toEqual([
    [first, call],
    [`${first}${call}\n<|im_start|>tool\nc1<|im_end|>\n<|im_start|>assistant\n`, "Done.<|im_end|>"],
  ]);
  expect(samples.map(({ trajectory, turn }) => [trajectory, turn])).toEqual([
    ["demo", 0],
    ["demo", 1],
  ]);
});
