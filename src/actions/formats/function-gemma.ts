import type { ToolCall } from "../../core/messages.ts";
import { messageOf, type ReadAction, splitReasoning, type UnreadableCall } from "../action.ts";
import { callOf, dumps, markedArguments, unmarked } from "../json.ts";
import type { CallFormat } from "./format.ts";

const [opening, closing, quote] = ["<start_function_call>", "<end_function_call>", "<escape>"];
const example = `${opening}call:NAME{argument:${quote}text${quote},other:1}${closing}`;

/** Reads FunctionGemma: `call:name{key:value,…}`, keys without quotes, text between `<escape>` tokens. */
function read(text: string): ReadAction {
  const { reasoning, answer } = splitReasoning(text.replaceAll("<start_function_response>", ""));
  const [before, ...blocks] = answer.split(opening);
  const content = [before];
  const calls = blocks.map((block): ToolCall | UnreadableCall => {
    const [body, behind = ""] = block.split(closing);
    const [, name, args] = /^\s*call:\s*([^\s{]+)\s*(\{[\s\S]*)?$/.exec(body) ?? [];
    const call =
      name === undefined
        ? { error: `This tool call has no name. Write ${example}.` }
        : callOf(name, asJson(args ?? "{}"), example);
    content.push("error" in call ? opening + block : behind);
    return call;
  });
  return messageOf(content.join(""), calls, reasoning);
}

/** Quotes text and keys. Text between the tokens is taken as it is. */
function asJson(text: string): string {
  return text
    .split(quote)
    .map((part, i) =>
      i % 2 === 1 ? JSON.stringify(part) : part.replace(/([{,]\s*)([\p{L}_][\p{L}\p{M}\p{N}_.-]*)(\s*:)/gu, '$1"$2"$3'),
    )
    .join("");
}

function literal(value: unknown): string {
  if (typeof value === "string") return value.startsWith("\ue000") ? value : `${quote}${value}${quote}`;
  if (Array.isArray(value)) return `[${value.map(literal).join(",")}]`;
  if (typeof value !== "object" || value === null) return dumps(value);
  return `{${Object.entries(value)
    .map(([key, item]) => `${key}:${literal(item)}`)
    .join(",")}}`;
}

export const functionGemma: CallFormat = {
  name: "function-gemma",
  models: "FunctionGemma",
  marks: /<start_function_call>\s*call:/,
  stopStrings: ["<start_function_response>"],
  read,
  write: ({ content, toolCalls = [] }) =>
    content +
    toolCalls.map((call) => `${opening}call:${call.name}${unmarked(literal(markedArguments(call)))}${closing}`).join(""),
};
