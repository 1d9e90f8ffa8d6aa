import type { ToolCall } from "../../core/messages.ts";
import { type ReadAnswer, readReasoned, type UnreadableCall } from "../action.ts";
import { callJson, callsOfJson, jsonEnd } from "../json.ts";
import { parsePythonCalls } from "../python-calls.ts";
import { type CallFormat, stacked } from "./format.ts";

const tag = "<|python_tag|>";
const example = '{"name": "…", "parameters": {…}}';

/**
 * Reads Llama 3.1 to 3.3: a JSON object with a name and parameters, several behind each other or separated by semicolons, with or without
 * `<|python_tag|>` before them. Behind the tag, `tool.call(query="…")` calls a built-in tool.
 */
function readAnswer(answer: string): ReadAnswer {
  const found = answer.indexOf(tag);
  const brace = answer.indexOf("{");
  // A text in a call's JSON may name the tag.
  const isInside = brace !== -1 && brace < found && (jsonEnd(answer, brace) ?? 0) > found;
  const tagged = isInside ? -1 : found;
  const whole = (isInside ? answer : answer.replaceAll(tag, "")).replaceAll("<|eom_id|>", "");
  if (tagged !== -1 && !/^\s*\{/.test(answer.slice(tagged + tag.length))) return behindTag(answer, tagged);
  const calls: (ToolCall | UnreadableCall)[] = [];
  const content: string[] = [];
  let at = 0;
  for (let start = whole.indexOf("{"); start !== -1; start = whole.indexOf("{", at)) {
    const end = jsonEnd(whole, start) ?? whole.length;
    const object = whole.slice(start, end);
    const between = whole.slice(at, start);
    if (calls.length === 0 || !onlySeparators.test(between)) content.push(between);
    at = end;
    if (looksLikeCall(object)) {
      const made = callsOfJson(object, example);
      calls.push(...made);
      if (made.some((call) => "error" in call)) content.push(object);
    } else content.push(object);
  }
  const rest = whole.slice(at);
  return { content: content.join("") + (calls.length > 0 && onlySeparators.test(rest) ? "" : rest), calls };
}

const onlySeparators = /^[\s;,]*$/;

/** An object that is an answer has other members. */
function looksLikeCall(object: string): boolean {
  return (
    /^\{\s*"(?:type"\s*:\s*"function"\s*,\s*")?(?:name|function)"\s*:/.test(object) ||
    /"name"\s*:[\s\S]*"(?:parameters|arguments)"\s*:/.test(object)
  );
}

function behindTag(answer: string, at: number): ReadAnswer {
  const code = answer
    .slice(at + tag.length)
    .replace("<|eom_id|>", "")
    .trim();
  const builtIn = code.replace(/^(\w+)\.call\(/, "$1(");
  const calls = parsePythonCalls(builtIn);
  // Anything else is code for the interpreter.
  const made = builtIn === code || "error" in calls ? [{ name: "python", arguments: { code } }] : calls.calls;
  return { content: answer.slice(0, at), calls: made };
}

export const llama3: CallFormat = {
  name: "llama3",
  models: "Llama 3.1 to 3.3",
  marks: /\{\s*"name"\s*:\s*"[^"]*"\s*,\s*"parameters"\s*:/,
  stopStrings: ["<|eom_id|>"],
  read: (text) => readReasoned(text, readAnswer),
  write: ({ content, toolCalls = [] }) =>
    stacked(content, toolCalls.length === 0 ? undefined : toolCalls.map((call) => callJson(call, "parameters")).join("; ")),
};
