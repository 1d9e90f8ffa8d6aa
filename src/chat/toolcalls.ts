import { z } from "zod";
import type { AssistantMessage, ToolCall } from "../core/messages.ts";

/** An action's text, read as a message. */
export interface ParsedAction {
  readonly message: AssistantMessage;
  /** In the order they were written, with those that cannot be read: their text stays in the message's content. */
  readonly calls: readonly (ToolCall | UnreadableCall)[];
}

export interface UnreadableCall {
  /** What is wrong with it, for the model to read. */
  readonly error: string;
}

const callSchema = z
  .looseObject({ name: z.string().min(1), arguments: z.unknown().optional(), parameters: z.unknown().optional() })
  .transform((call) => ({ name: call.name, arguments: call.arguments ?? call.parameters ?? {} }));
const argumentsSchema = z.record(z.string(), z.unknown());

const opening = "<tool_call>";
const closing = "</tool_call>";

/**
 * Reads the Qwen/Hermes format: `<tool_call>{"name": …, "arguments": {…}}</tool_call>`, any number of them, among other text,
 * after reasoning in `<think>…</think>`.
 * Tolerated: white space, code fences, a missing closing tag, "parameters" for "arguments", arguments as a JSON string or left out,
 * a comma too many before a closing bracket. Errors: not JSON, no name, arguments that are not an object.
 * @param text decoded, without the end-of-turn token
 */
export function parseAction(text: string): ParsedAction {
  const { reasoning, answer } = splitReasoning(text);
  const [before, ...blocks] = answer.split(opening);
  const content = [before];
  const calls = blocks.map((block) => {
    const end = block.indexOf(closing);
    const call = parseCall(end === -1 ? block : block.slice(0, end));
    if ("error" in call) content.push(opening + block);
    else if (end !== -1) content.push(block.slice(end + closing.length));
    return call;
  });
  const toolCalls = calls.filter((call) => "name" in call);
  return {
    message: {
      role: "assistant",
      content: content.join("").trim(),
      ...(reasoning === undefined ? {} : { reasoning }),
      ...(toolCalls.length === 0 ? {} : { toolCalls }),
    },
    calls,
  };
}

/** Generation prompts may have opened the reasoning already, so the opening tag may be missing; a missing closing tag means that all is reasoning. */
function splitReasoning(text: string): { reasoning?: string; answer: string } {
  const begin = /^\s*<think>/.exec(text)?.[0].length ?? 0;
  const end = text.indexOf("</think>");
  if (end !== -1) return { reasoning: text.slice(begin, end).trim(), answer: text.slice(end + "</think>".length) };
  return begin === 0 ? { answer: text } : { reasoning: text.slice(begin).trim(), answer: "" };
}

const example = '<tool_call>{"name": "…", "arguments": {…}}</tool_call>';

function parseCall(block: string): ToolCall | UnreadableCall {
  const json = parseJson(block);
  if ("error" in json) return { error: `This tool call is not valid JSON: ${json.error}. Write ${example}.` };
  const call = callSchema.safeParse(json.value);
  if (!call.success) return { error: `This tool call has no "name". Write ${example}.` };
  const { name, arguments: given } = call.data;
  const decoded = typeof given === "string" ? parseJson(given) : { value: given };
  const args = argumentsSchema.safeParse("error" in decoded ? undefined : decoded.value);
  if (!args.success) return { error: `The arguments of ${name} are not a JSON object. Write ${example}.` };
  return { name, arguments: args.data };
}

function parseJson(text: string): { readonly value: unknown } | { readonly error: string } {
  const unfenced = text.trim().replace(/^```\w*\s*|\s*```$/g, "");
  try {
    return { value: JSON.parse(unfenced) };
  } catch (problem) {
    try {
      return { value: JSON.parse(withoutTrailingCommas(unfenced)) };
    } catch {
      return { error: problem instanceof Error ? problem.message : String(problem) };
    }
  }
}

/** Strings are matched whole, so that commas inside of them stay. */
function withoutTrailingCommas(json: string): string {
  return json.replace(/("(?:[^"\\]|\\.)*")|,(?=\s*[}\]])/g, (_, string: string | undefined) => string ?? "");
}
