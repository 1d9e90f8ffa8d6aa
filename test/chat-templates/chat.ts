import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { jsonText } from "../../src/actions/json.ts";
import { type Chat, makeChat } from "../../src/chat/chat.ts";
import { makeTokenizer } from "../../src/chat/tokenizer.ts";
import type { Message } from "../../src/core/messages.ts";
import type { Tool } from "../../src/tools/tool.ts";

export const named = { bos_token: "<s>", eos_token: "</s>", pad_token: "<pad>", unk_token: "<unk>" };

/** Every token that a template names; those that end a turn come first. */
function tokensOf(template: string): string[] {
  const ends = [
    "<|im_end|>",
    "<|eot_id|>",
    "<|eot|>",
    "[|endofturn|]",
    "<turn|>",
    "<|return|>",
    "<｜end▁of▁sentence｜>",
    "<|end|>",
    "<end_of_turn>",
    "<|endofturn|>",
    "<|user|>",
  ];
  const named =
    template.match(/<\|[^|<>\s]+\|>|<\|[a-z_"]+\|?>|<[a-z_]+\|>|<｜[^｜]+｜>|<\/?tool_call>|<\/?think>|\[\/?[A-Z_]+\]/g) ?? [];
  return [...new Set([...ends.filter((end) => template.includes(end)), "</s>", ...named])];
}

const tokenizerSchema = z.looseObject({
  added_tokens: z.array(z.looseObject({ id: z.number(), content: z.string() })),
  model: z.looseObject({ vocab: z.record(z.string(), z.number()) }),
});
const office = tokenizerSchema.parse(JSON.parse(readFileSync("models/office/tokenizer.json", "utf8")));

/** The same tokens for single bytes and no others: made in a moment. */
export const bytesAlone: typeof office = {
  ...office,
  model: {
    ...office.model,
    vocab: Object.fromEntries(
      Object.keys(office.model.vocab)
        .flatMap((text) => ([...text].length === 1 ? [text] : []))
        .map((text, i) => [text, i]),
    ),
    merges: [],
  },
  added_tokens: [],
};

/** The chat format of a template, under a tokenizer that has every token that the template names. */
export function chatOfTemplate(template: string, base = office): { readonly chat: Chat; readonly tokenizer: object } {
  const tokens = tokensOf(template);
  const first = 1 + Math.max(...base.added_tokens.map(({ id }) => id), ...Object.values(base.model.vocab));
  const missing = tokens.filter((token) => !base.added_tokens.some(({ content }) => content === token));
  const added = missing.map((content, i) => ({ ...office.added_tokens[0], id: first + i, content, special: true }));
  const tokenizer = { ...base, added_tokens: [...base.added_tokens, ...added] };
  const config = { ...named, eos_token: tokens[0], chat_template: template };
  return { chat: makeChat(makeTokenizer({ tokenizer, config })), tokenizer };
}

/** A conversation in the form that transformers takes. */
export function asTransformersTakes(messages: readonly Message[], tools: readonly Tool[], given: "objects" | "text") {
  return {
    tools: tools.length === 0 ? null : tools.map(({ execute: _, ...tool }) => ({ type: "function", function: tool })),
    messages: messages.map((message) => {
      if (message.role === "tool")
        return { role: "tool", name: message.name, content: message.content, tool_call_id: message.callId };
      if (message.role !== "assistant") return message;
      const { content, reasoning, toolCalls = [] } = message;
      const tool_calls = toolCalls.map((call) => ({
        type: "function",
        id: call.id,
        function: { name: call.name, arguments: given === "text" ? jsonText(call) : call.arguments },
      }));
      return {
        role: "assistant",
        content,
        ...(reasoning === undefined ? {} : { reasoning_content: reasoning, thinking: reasoning }),
        ...(tool_calls.length === 0 ? {} : { tool_calls }),
      };
    }),
  };
}

/** @param published the folder of .ci/chat-templates @param cases for render.py */
export function renderedByTransformers<T>(published: string, cases: readonly object[]): T[] {
  if (cases.length === 0) return [];
  const output = execFileSync(join(published, "venv/bin/python"), ["test/chat-templates/render.py"], {
    input: cases.map((one) => JSON.stringify(one)).join("\n"),
    maxBuffer: 2 ** 29,
    stdio: ["pipe", "pipe", "ignore"],
  });
  return output
    .toString()
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as T);
}
