import type { ToolCall } from "../../core/messages.ts";
import { type ReadAnswer, readReasoned, type UnreadableCall } from "../action.ts";
import { callOf, dumps, markedArguments, unmarked } from "../json.ts";
import { type CallFormat, thought } from "./format.ts";

/** The tokens of a generation of Gemma models. */
interface GemmaTokens {
  readonly opening: string;
  readonly closing: string;
  /** Around a text. */
  readonly quote: string;
  /** Opens the results: with it the model ends an action. */
  readonly response: string;
  readonly reasoning?: readonly [string, string];
}

/** Reads `call:name{key:value,…}`, keys without quotes, text between quoting tokens. */
function readAnswer(answer: string, { opening, closing, quote, response }: GemmaTokens): ReadAnswer {
  const example = `${opening}call:NAME{argument:${quote}text${quote},other:1}${closing}`;
  const [before, ...blocks] = answer.replaceAll(response, "").split(opening);
  const content = [before];
  const calls = blocks.map((block): ToolCall | UnreadableCall => {
    const [body = "", behind = ""] = block.split(closing);
    const [, name, args = ""] = /^\s*call:\s*([^\s{]+)\s*(\{[\s\S]*)$/.exec(body) ?? [];
    const call =
      name === undefined
        ? { error: `This tool call has no name or no arguments. Write ${example}.` }
        : callOf(name, asJson(args, quote), example);
    content.push("error" in call ? opening + block : behind);
    return call;
  });
  return { content: content.join(""), calls };
}

/** Quotes text and keys. Text between the tokens is taken as it is. */
function asJson(text: string, quote: string): string {
  return text
    .split(quote)
    .map((part, i) =>
      i % 2 === 1
        ? JSON.stringify(part)
        : part
            .replace(/([{,]\s*)([\p{L}_][\p{L}\p{M}\p{N}_.-]*)(\s*:)/gu, '$1"$2"$3')
            .replace(/([:[,]\s*)None(?=\s*[,\]}])/g, "$1null"),
    )
    .join("");
}

function literal(value: unknown, quote: string): string {
  if (typeof value === "string") return value.startsWith("\ue000") ? value : `${quote}${value}${quote}`;
  if (Array.isArray(value)) return `[${value.map((item) => literal(item, quote)).join(",")}]`;
  if (typeof value !== "object" || value === null) return dumps(value);
  return `{${Object.entries(value)
    .map(([key, item]) => `${key}:${literal(item, quote)}`)
    .join(",")}}`;
}

function gemmaFormat(name: string, models: string, marks: RegExp, tokens: GemmaTokens): CallFormat {
  const { opening, closing, quote, response, reasoning } = tokens;
  return {
    name,
    models,
    marks,
    stopStrings: [response],
    read: (text) => readReasoned(text, (answer) => readAnswer(answer, tokens), reasoning),
    write: (message) => {
      const calls = (message.toolCalls ?? []).map(
        (call) => `${opening}call:${call.name}${unmarked(literal(markedArguments(call), quote))}${closing}`,
      );
      return (thought(message, reasoning) ?? "") + message.content + calls.join("");
    },
  };
}

export const functionGemma = gemmaFormat("function-gemma", "FunctionGemma", /<start_function_call>\s*call:/, {
  opening: "<start_function_call>",
  closing: "<end_function_call>",
  quote: "<escape>",
  response: "<start_function_response>",
});

export const gemma4 = gemmaFormat("gemma4", "Gemma 4", /<\|tool_call>\s*call:/, {
  opening: "<|tool_call>",
  closing: "<tool_call|>",
  quote: '<|"|>',
  response: "<|tool_response>",
  reasoning: ["<|channel>thought", "<channel|>"],
});
