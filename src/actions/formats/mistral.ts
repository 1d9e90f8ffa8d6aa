import type { ToolCall } from "../../core/messages.ts";
import { type ReadAction, type ReadAnswer, readReasoned, type UnreadableCall } from "../action.ts";
import { callJson, callOf, callsOfJson, jsonEnd, jsonText } from "../json.ts";
import { type CallFormat, stacked } from "./format.ts";

const tag = "[TOOL_CALLS]";
const example = '[TOOL_CALLS] [{"name": "…", "arguments": {…}}]';
const thinking = ["[THINK]", "[/THINK]"] as const;

/**
 * Reads Mistral's two forms: `[TOOL_CALLS] [{"name": …, "arguments": {…}}, …]`, and since 2025 `[TOOL_CALLS]name[ARGS]{…}` for each call,
 * with `[CALL_ID]…` between or without.
 */
function readAnswer(answer: string): ReadAnswer {
  const [before, ...blocks] = answer.split(tag);
  const content = [before];
  const calls = blocks.flatMap((block): (ToolCall | UnreadableCall)[] => {
    const named = /^\s*([^\s[{(]+)\s*(?:\[CALL_ID\][^[]*)?(?:\[ARGS\])?\s*(\{[\s\S]*)$/.exec(block);
    const json = named?.[2] ?? block;
    const start = json.search(/[{[]/);
    const end = start === -1 ? json.length : (jsonEnd(json, start) ?? json.length);
    const name = named?.[1];
    const made = name === undefined ? callsOfJson(json.slice(0, end), example) : [callOf(name, json.slice(0, end), example)];
    content.push(made.some((call) => "error" in call) ? tag + block : json.slice(end));
    return made;
  });
  return { content: content.join(""), calls };
}

function read(text: string): ReadAction {
  return readReasoned(text, readAnswer, text.trimStart().startsWith(thinking[0]) ? thinking : undefined);
}

export const mistral: CallFormat = {
  name: "mistral",
  models: "Mistral and Ministral up to 2024",
  marks: /\[TOOL_CALLS\]\s*\[/,
  read,
  write: ({ content, toolCalls = [] }) => {
    const calls = toolCalls.map((call) => callJson(call));
    return stacked(content, calls.length === 0 ? undefined : `${tag} [${calls.join(", ")}]`);
  },
};

export const mistralArgs: CallFormat = {
  name: "mistral-args",
  models: "Mistral, Magistral and Devstral since 2025",
  marks: /\[TOOL_CALLS\]\s*[^\s[]/,
  read,
  write: ({ content, reasoning, toolCalls = [] }) =>
    (reasoning === undefined ? "" : `${thinking[0]}${reasoning}${thinking[1]}`) +
    content +
    toolCalls.map((call) => `${tag}${call.name}[ARGS]${jsonText(call)}`).join(""),
};
