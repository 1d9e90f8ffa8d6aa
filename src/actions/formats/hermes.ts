import { type ReadAction, type ReadAnswer, readReasoned } from "../action.ts";
import { callJson, callsOfJson, jsonEnd } from "../json.ts";
import { type CallFormat, stacked, stackedCalls, thought } from "./format.ts";

const opening = "<tool_call>";
const closing = "</tool_call>";
const example = '<tool_call>{"name": "…", "arguments": {…}}</tool_call>';

/**
 * Reads `<tool_call>{"name": …, "arguments": {…}}</tool_call>`, any number of them, among other text, after reasoning in
 * `<think>…</think>`. A block may hold a list of calls.
 * Tolerated: white space, code fences, a missing closing tag, "parameters" for "arguments", arguments as a JSON string or left out,
 * a comma too many before a closing bracket. Errors: not JSON, no name, arguments that are not an object.
 */
function readAnswer(answer: string): ReadAnswer {
  const content: string[] = [];
  const calls: ReadAction["calls"][number][] = [];
  let at = 0;
  for (let start = answer.indexOf(opening); start !== -1; start = answer.indexOf(opening, at)) {
    content.push(answer.slice(at, start));
    const from = start + opening.length;
    const nearest = blockFrom(answer, from, from);
    // A tag may be part of a text in the JSON: then the call ends where the JSON does.
    const json = /^\s*(?=[{[])/.exec(answer.slice(from));
    const jsonEnds = json === null ? undefined : jsonEnd(answer, from + json[0].length);
    const whole = jsonEnds === undefined ? nearest : blockFrom(answer, from, jsonEnds);
    const block = isReadable(nearest.calls) || !isReadable(whole.calls) ? nearest : whole;
    calls.push(...block.calls);
    if (!isReadable(block.calls)) content.push(answer.slice(start, block.end));
    at = block.end;
  }
  return { content: content.join("") + answer.slice(at), calls };
}

const isReadable = (calls: ReadAction["calls"]) => !calls.some((call) => "error" in call);

/** The calls of a block that begins at `from`, and where it ends: at the first tag behind `least`. */
function blockFrom(answer: string, from: number, least: number): { readonly calls: ReadAction["calls"]; readonly end: number } {
  const next = answer.indexOf(opening, least);
  const limit = next === -1 ? answer.length : next;
  const closed = answer.indexOf(closing, least);
  const isClosed = closed !== -1 && closed < limit;
  const calls = callsOfJson(answer.slice(from, isClosed ? closed : limit), example);
  return { calls, end: isClosed ? closed + closing.length : limit };
}

export const hermes: CallFormat = {
  name: "hermes",
  models: "Hermes, Qwen2.5, Qwen3, SmolLM3",
  marks: /<tool_call>\s*\{/,
  read: (text) => readReasoned(text, readAnswer),
  write: (message) => stackedCalls(message, (call) => `${opening}\n${callJson(call)}\n${closing}`),
};

/** The same tags around one list of all calls. */
export const smollm2: CallFormat = {
  name: "smollm2",
  models: "SmolLM2",
  marks: /<tool_call>\s*\[/,
  read: (text) => readReasoned(text, readAnswer),
  write: (message) => {
    const calls = (message.toolCalls ?? []).map((call) => callJson(call));
    const list = calls.length === 0 ? undefined : `${opening}[${calls.join(", ")}]${closing}`;
    return stacked(thought(message), message.content, list);
  },
};
