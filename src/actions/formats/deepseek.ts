import type { AssistantMessage, ToolCall } from "../../core/messages.ts";
import { type ReadAnswer, readReasoned, type UnreadableCall } from "../action.ts";
import { callOf, jsonText } from "../json.ts";
import { type CallFormat, thought } from "./format.ts";

const [callsBegin, callsEnd] = ["<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>"];
const [callBegin, callEnd, separator] = ["<｜tool▁call▁begin｜>", "<｜tool▁call▁end｜>", "<｜tool▁sep｜>"];
const example = `${callsBegin}${callBegin}NAME${separator}{…}${callEnd}${callsEnd}`;

/** Reads DeepSeek's calls: V3 and R1 write `function`, the name and a fenced block, V3.1 and later the name and the arguments. */
function readAnswer(answer: string): ReadAnswer {
  const [before = "", ...blocks] = answer.split(callBegin);
  const calls = blocks.map((block): ToolCall | UnreadableCall => {
    const isClosed = block.includes(callEnd);
    const [inside = ""] = block.split(callEnd);
    const [head = "", ...rest] = (inside.split(callsEnd)[0] ?? "").split(separator);
    const body = rest.join(separator);
    const old = /^\s*([^\n`]*)\n\s*```(?:json)?\s*([\s\S]*?)\s*(?:```\s*)?$/.exec(body);
    const [name, args] =
      head.trim() === "function" || old !== null ? ([old?.[1] ?? "", old?.[2] ?? ""] as const) : ([head, body] as const);
    if (name.trim() === "") return { error: `This tool call has no name. Write ${example}.` };
    if (args.trim() === "" && !isClosed) return { error: `The call of ${name.trim()} has no arguments. Write ${example}.` };
    return callOf(name.trim(), args, example);
  });
  const content = blocks.length === 0 ? answer : before;
  const behind = answer.includes(callsEnd) ? answer.slice(answer.lastIndexOf(callsEnd) + callsEnd.length) : "";
  const unreadable = calls.some((call) => "error" in call);
  return { content: unreadable ? answer : content.replace(callsBegin, "") + behind, calls };
}

/** Writes calls, each in its own way, between the tokens of all. */
function write(message: AssistantMessage, between: string, text: (call: ToolCall) => string): string {
  const calls = (message.toolCalls ?? []).map((call) => `${callBegin}${text(call)}${callEnd}`).join(between);
  return `${thought(message) ?? ""}${message.content}${calls === "" ? "" : `${callsBegin}${calls}${callsEnd}`}`;
}

export const deepseekV3: CallFormat = {
  name: "deepseek-v3",
  models: "DeepSeek V3 and R1",
  marks: /<｜tool▁call▁begin｜>function<｜tool▁sep｜>/,
  read: (text) => readReasoned(text, readAnswer),
  write: (message) => write(message, "\n", (call) => `function${separator}${call.name}\n\`\`\`json\n${jsonText(call)}\n\`\`\``),
};

export const deepseek: CallFormat = {
  name: "deepseek",
  models: "DeepSeek V3.1 and later",
  marks: /<｜tool▁call▁begin｜>(?!function<)/,
  read: (text) => readReasoned(text, readAnswer),
  write: (message) => write(message, "", (call) => `${call.name}${separator}${jsonText(call)}`),
};
