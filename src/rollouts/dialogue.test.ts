import { expect, test } from "vitest";
import { z } from "zod";
import { testChat } from "../../test/fixtures/chats.ts";
import { fencedCode } from "../actions/fenced-code.ts";
import type { Message } from "../core/messages.ts";
import { newMessages, oneMessage } from "../environments/protocol.ts";
import { defineTool } from "../tools/tool.ts";
import { encodeDemonstration } from "./demonstration.ts";
import { dialogueOf, schemasOf } from "./dialogue.ts";

const chat = testChat("plain");
const python = defineTool({
  name: "python",
  description: "Runs.",
  parameters: z.strictObject({ code: z.string() }),
  execute: () => "",
});
const code = "```python\n1 + 2\n```";
const conversation: readonly Message[] = [
  { role: "user", content: "1 + 2?" },
  { role: "assistant", content: code, toolCalls: [{ name: "python", arguments: { code: "1 + 2" } }] },
  { role: "tool", name: "python", content: "3" },
  { role: "assistant", content: "It is 3." },
];
const texts = (samples: ReturnType<typeof encodeDemonstration>) =>
  samples.map(({ context, action }) => [chat.tokenizer.decode(context.slice()), chat.tokenizer.decode(action)]);
const first = "<|im_start|>user\n1 + 2?<|im_end|>\n<|im_start|>assistant\n";

test("calls in text are taught as the text that they are, answers as the protocol shows them", () => {
  const protocol = { actions: fencedCode(), continuation: newMessages((answer) => `Output: ${answer}`) };
  expect(texts(encodeDemonstration(chat, "demo", conversation, [python], protocol))).toEqual([
    [first, `${code}<|im_end|>`],
    [`${first}${code}<|im_end|>\n<|im_start|>user\nOutput: 3<|im_end|>\n<|im_start|>assistant\n`, "It is 3.<|im_end|>"],
  ]);
});

test("one growing message ends once, behind its last part", () => {
  const protocol = { actions: fencedCode(), continuation: oneMessage(([answer]) => `<result>${answer?.content}</result>`, 50) };
  expect(texts(encodeDemonstration(chat, "demo", conversation, [python], protocol))).toEqual([
    [first, code],
    [`${first}${code}<result>3</result>`, "It is 3.<|im_end|>"],
  ]);
  expect(dialogueOf(chat, protocol).maxResponseTokens).toBe(50);
  const endless = { ...protocol, continuation: oneMessage(() => "") };
  expect(dialogueOf(chat, endless).maxResponseTokens).toBe(Number.POSITIVE_INFINITY);
});

test("an action in text is read by its protocol, with the schemas of the tools; the template's own by the chat", () => {
  const protocol = { actions: fencedCode(), continuation: newMessages() };
  const inText = dialogueOf(chat, protocol);
  expect([inText.stopStrings, inText.maxResponseTokens]).toEqual([fencedCode().stopStrings, Number.POSITIVE_INFINITY]);
  expect(inText.read(code, [], [python]).calls).toMatchObject([{ name: "python", arguments: { code: "1 + 2" } }]);
  const native = dialogueOf(chat, undefined);
  expect([native.stopStrings, native.maxResponseTokens]).toEqual([chat.stopStrings, Number.POSITIVE_INFINITY]);
  const call = '<tool_call>{"name": "python", "arguments": {"code": "1"}}</tool_call>';
  expect(native.read(call, [], [python]).calls).toMatchObject([{ name: "python", arguments: { code: "1" } }]);
  const schemas = schemasOf([python]);
  expect(schemas("python")).toMatchObject({ type: "object", properties: { code: { type: "string" } }, required: ["code"] });
  expect(schemas("other")).toBeUndefined();
});

test("a message that is only shown is no sample, and stays in the context of the next", () => {
  const shown = conversation.map((message) =>
    message.role === "assistant" && message.toolCalls ? { ...message, learned: false as const } : message,
  );
  const samples = encodeDemonstration(chat, "demo", shown, []);
  expect(samples.map(({ turn }) => turn)).toEqual([1]);
  expect(texts(samples)[0]?.[0]).toContain('"arguments": {"code": "1 + 2"}');
  expect(encodeDemonstration(chat, "demo", [{ role: "user", content: "hi" }], [])).toEqual([]);
});
