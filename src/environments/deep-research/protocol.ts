import type { Message, ToolCall } from "../../core/messages.ts";
import type { TextProtocol } from "../environment.ts";
import { trim } from "./answer-text.ts";
import type { CallLimits } from "./settings.ts";

const toolNames = ["python", "search"] as const;
type ToolName = (typeof toolNames)[number];

/** How ARPO's published code lets a model call tools: while it trains, and while it is evaluated. */
export type ProtocolKind = "training" | "evaluation";

export interface ProtocolOptions {
  readonly kind: ProtocolKind;
  readonly limits: CallLimits;
  readonly maxResponseTokens: number;
}

/**
 * ARPO's protocol (arXiv:2507.19849, §2.2): `<search>` query `</search>` or `<python>` code `</python>`, answered by `<result>` … `</result>` in
 * the same text.
 *
 * In training the call is what stands between the last tags of the response; an empty one, and one beyond the limits, ends it. In the evaluation it stands
 * between the first tags of the newest output; beyond the limits, and where a query is repeated, the result says so and the response goes on.
 */
export function researchProtocol({ kind, limits, maxResponseTokens }: ProtocolOptions): TextProtocol {
  const closings = toolNames.map((name) => `</${name}>`);
  const write = (answers: readonly Message[]) => answers.map(({ content }) => resultText(kind, content)).join("");
  return {
    stopStrings: kind === "training" ? closings : [...closings, "</answer>"],
    maxResponseTokens,
    write,
    read: (text, conversation) => {
      const call = kind === "training" ? lastCall(responseOf(conversation, write), text) : firstCall(text);
      if (call === undefined) return { message: { role: "assistant", content: text }, calls: [] };
      const refusal = refusalOf(call, conversation, limits, kind);
      if (refusal !== undefined && kind === "training") return { message: { role: "assistant", content: text }, calls: [] };
      return {
        message: { role: "assistant", content: text, toolCalls: [call] },
        calls: [refusal === undefined ? call : { error: refusal }],
      };
    },
  };
}

/** All that the model and the tools wrote after the question. */
export function responseOf(conversation: readonly Message[], write: TextProtocol["write"]): string {
  return conversation
    .map((message) => (message.role === "assistant" ? message.content : message.role === "tool" ? write([message]) : ""))
    .join("");
}

function resultText(kind: ProtocolKind, output: string): string {
  return kind === "training" ? ` <result>\n${output}\n</result>` : `<result>${output}</result>`;
}

/** The call that an action ends with: from the last opening tag of the whole response before its closing tag. */
function lastCall(before: string, action: string): ToolCall | undefined {
  const [first] = toolNames
    .map((name) => ({ name, at: action.indexOf(`</${name}>`) }))
    .filter(({ at }) => at !== -1)
    .sort((a, b) => a.at - b.at);
  if (first === undefined) return undefined;
  const response = before + action.slice(0, first.at);
  const opening = `<${first.name}>`;
  const start = response.lastIndexOf(opening);
  return start === -1 ? undefined : toolCall(first.name, response.slice(start + opening.length));
}

/** Python is looked for first. */
function firstCall(output: string): ToolCall | undefined {
  for (const name of toolNames) {
    if (!output.includes(`</${name}>`)) continue;
    const start = output.indexOf(`<${name}>`);
    const end = output.indexOf(`</${name}>`, start);
    return start === -1 || end === -1 ? undefined : toolCall(name, output.slice(start + name.length + 2, end));
  }
  return undefined;
}

function toolCall(name: ToolName, text: string): ToolCall | undefined {
  const content = trim(text);
  if (content === "") return undefined;
  return { name, arguments: name === "search" ? { query: content } : { code: content } };
}

/** Why a call is not made, in words for the model. */
function refusalOf(call: ToolCall, conversation: readonly Message[], limits: CallLimits, kind: ProtocolKind): string | undefined {
  // What was refused was answered in the name of no tool.
  const made = conversation.filter((message) => message.role === "tool" && toolNames.some((name) => name === message.name));
  const same = made.filter((message) => message.role === "tool" && message.name === call.name);
  const limit = call.name === "search" ? limits.search : limits.python;
  if (same.length >= limit) return `The limit of ${limit} ${call.name} calls is reached. Go on without it.`;
  if (made.length >= limits.calls) return `The limit of ${limits.calls} calls is reached. Go on without tools.`;
  const earlier = conversation.flatMap((message) => (message.role === "assistant" ? (message.toolCalls ?? []) : []));
  const repeated = earlier.some(({ name, arguments: { query } }) => name === "search" && query === call.arguments.query);
  if (kind === "evaluation" && call.name === "search" && repeated)
    return "This query was searched before. Look at its result above, or ask something else.";
  return undefined;
}
