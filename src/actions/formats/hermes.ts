import { messageOf, type ReadAction, splitReasoning } from "../action.ts";
import { callsOfJson, jsonText } from "../json.ts";
import { type CallFormat, stacked, thought } from "./format.ts";

const opening = "<tool_call>";
const closing = "</tool_call>";
const example = '<tool_call>{"name": "…", "arguments": {…}}</tool_call>';

/**
 * Reads `<tool_call>{"name": …, "arguments": {…}}</tool_call>`, any number of them, among other text, after reasoning in
 * `<think>…</think>`. A block may hold a list of calls.
 * Tolerated: white space, code fences, a missing closing tag, "parameters" for "arguments", arguments as a JSON string or left out,
 * a comma too many before a closing bracket. Errors: not JSON, no name, arguments that are not an object.
 */
function read(text: string): ReadAction {
  const { reasoning, answer } = splitReasoning(text);
  const [before, ...blocks] = answer.split(opening);
  const content = [before];
  const calls = blocks.flatMap((block) => {
    const end = block.indexOf(closing);
    const made = callsOfJson(end === -1 ? block : block.slice(0, end), example);
    if (made.some((call) => "error" in call)) content.push(opening + block);
    else if (end !== -1) content.push(block.slice(end + closing.length));
    return made;
  });
  return messageOf(content.join(""), calls, reasoning);
}

export const hermes: CallFormat = {
  name: "hermes",
  models: "Hermes, Qwen2.5, Qwen3, SmolLM3",
  marks: /<tool_call>\s*\{/,
  read,
  write: (message) =>
    stacked(
      thought(message),
      message.content,
      ...(message.toolCalls ?? []).map(
        (call) => `${opening}\n{"name": ${JSON.stringify(call.name)}, "arguments": ${jsonText(call)}}\n${closing}`,
      ),
    ),
};

/** The same tags around one list of all calls. */
export const smollm2: CallFormat = {
  name: "smollm2",
  models: "SmolLM2",
  marks: /<tool_call>\s*\[/,
  read,
  write: (message) => {
    const calls = (message.toolCalls ?? []).map(
      (call) => `{"name": ${JSON.stringify(call.name)}, "arguments": ${jsonText(call)}}`,
    );
    const list = calls.length === 0 ? undefined : `${opening}[${calls.join(", ")}]${closing}`;
    return stacked(thought(message), message.content, list);
  },
};
