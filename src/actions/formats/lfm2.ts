import { type ReadAction, type ReadAnswer, readReasoned } from "../action.ts";
import { unmarked } from "../json.ts";
import { parsePythonCalls, pythonText } from "../python-calls.ts";
import { type CallFormat, stacked, thought } from "./format.ts";

const opening = "<|tool_call_start|>";
const closing = "<|tool_call_end|>";
const example = `${opening}[f(argument="text")]${closing}`;

/** Reads LFM2: a list of Python calls between two tokens. */
function readAnswer(answer: string): ReadAnswer {
  const [before, ...blocks] = answer.split(opening);
  const content = [before];
  const calls = blocks.flatMap((block): ReadAction["calls"][number][] => {
    const [body = "", behind = ""] = block.split(closing);
    const parsed = parsePythonCalls(body);
    const rest = "error" in parsed ? "" : body.slice(parsed.end).trim();
    const error = "error" in parsed ? parsed.error : rest === "" ? undefined : `Unexpected ${JSON.stringify(rest.slice(0, 20))}`;
    content.push(error === undefined ? behind : opening + block);
    return "error" in parsed || error !== undefined
      ? [{ error: `This tool call cannot be read: ${error}. Write ${example}.` }]
      : parsed.calls;
  });
  return { content: content.join(""), calls };
}

export const lfm2: CallFormat = {
  name: "lfm2",
  models: "LFM2",
  marks: /<\|tool_call_start\|>\s*\[/,
  read: (text) => readReasoned(text, readAnswer),
  write: (message) => {
    const { content, toolCalls = [] } = message;
    return stacked(
      thought(message),
      toolCalls.length === 0 ? content : `${opening}${unmarked(pythonText(toolCalls))}${closing}${content}`,
    );
  },
};
