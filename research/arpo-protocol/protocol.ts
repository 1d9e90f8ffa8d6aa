import type { ActionFormat } from "../../src/actions/action.ts";
import type { Message, ToolCall } from "../../src/core/messages.ts";
import { type OneMessageProtocol, oneMessage, responseOf } from "../../src/environments/protocol.ts";
import { trim } from "./answer-text.ts";
import { type CallLimits, callLimits, type ProtocolKind } from "./limits.ts";

const toolNames = ["python", "search"] as const;
type ToolName = (typeof toolNames)[number];

export interface ProtocolOptions {
  /** How the published code lets a model call tools: "training", if left out, or "evaluation". */
  readonly kind?: ProtocolKind;
  /** Calls of a response; what is left out is as in the published code. */
  readonly limits?: Partial<CallLimits>;
  /** The largest number of tokens of the response, results included; 4096 if left out. */
  readonly maxResponseTokens?: number;
}

/**
 * ARPO's protocol (arXiv:2507.19849, §2.2): `<search>` query `</search>` or `<python>` code `</python>`, answered by `<result>` … `</result>` in
 * the same text.
 *
 * In training the call is the text between the last tags of the response; an empty one, and one beyond the limits, ends it. In the
 * evaluation it is the text between the first tags of the newest output; beyond the limits, and where a query is repeated, the
 * result says so and the response continues. There a result that the model makes up is taken back, and a model that stops without
 * any closing tag is asked to continue, three times.
 *
 * The episode's tools have to be called `search` (with a `query`) and `python` (with `code`).
 * @example
 * const protocol = researchProtocol({ kind: "evaluation", limits: { search: 5 } });
 * protocol.actions.read("I look. <search>height of Etna</search>", []).calls; // [{ name: "search", arguments: { query: "height of Etna" } }]
 */
export function researchProtocol({
  kind = "training",
  limits: given = {},
  maxResponseTokens = 4096,
}: ProtocolOptions = {}): OneMessageProtocol {
  const limits = callLimits(kind, given);
  const closings = toolNames.map((name) => `</${name}>`);
  const write = (answers: readonly Message[]) => answers.map(({ content }) => resultText(kind, content)).join("");
  const inTraining: ActionFormat["read"] = (text, conversation) => {
    const call = lastCall(responseOf(conversation, write), text);
    const made = call !== undefined && refusalOf(call, conversation, limits) === undefined;
    const message = { role: "assistant", content: text } as const;
    return made ? { message: { ...message, toolCalls: [call] }, calls: [call] } : { message, calls: [] };
  };
  const inEvaluation: ActionFormat["read"] = (text, conversation) => {
    const content = text.split("<result>", 1)[0] ?? "";
    const message = { role: "assistant", content } as const;
    const before = unanswered(conversation);
    const output = before.join("") + content;
    const call = firstCall(output);
    if (call !== undefined) {
      const refusal = refusalOf(call, conversation, limits) ?? repetitionOf(call, conversation);
      return { message: { ...message, toolCalls: [call] }, calls: [refusal === undefined ? call : { error: refusal }] };
    }
    const goesOn = !output.includes("</answer>") && before.length < outputs - 1;
    return goesOn ? { message, calls: [], goesOn } : { message, calls: [] };
  };
  return {
    actions: {
      stopStrings: kind === "training" ? closings : [...closings, "</answer>", "<result>"],
      read: kind === "training" ? inTraining : inEvaluation,
    },
    continuation: oneMessage(write, maxResponseTokens),
  };
}

/** How often a model is asked, in the evaluation, for output with a closing tag. */
const outputs = 4;

/** Returns the texts that the model wrote since the last result, one for each time it was asked. */
function unanswered(conversation: readonly Message[]): string[] {
  const last = conversation.findLastIndex(({ role }) => role !== "assistant");
  return conversation.slice(last + 1).map(({ content }) => content);
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
  const content = start === -1 ? "" : response.slice(start + opening.length);
  return trim(content) === "" ? undefined : callOf(first.name, content);
}

/** Python is looked for first. A closing tag without an opening one before it calls with nothing. */
function firstCall(output: string): ToolCall | undefined {
  const name = toolNames.find((tool) => output.includes(`</${tool}>`));
  if (name === undefined) return undefined;
  const start = output.indexOf(`<${name}>`);
  const end = start === -1 ? -1 : output.indexOf(`</${name}>`, start);
  return callOf(name, end === -1 ? "" : output.slice(start + name.length + 2, end));
}

function callOf(name: ToolName, text: string): ToolCall {
  const content = trim(text);
  return { name, arguments: name === "search" ? { query: content } : { code: content } };
}

/** Why a call is not made, in words for the model. */
function refusalOf(call: ToolCall, conversation: readonly Message[], limits: CallLimits): string | undefined {
  // What was refused was answered in the name of no tool.
  const made = conversation.filter((message) => message.role === "tool" && toolNames.some((name) => name === message.name));
  const same = made.filter((message) => message.role === "tool" && message.name === call.name);
  const limit = call.name === "search" ? limits.search : limits.python;
  if (same.length >= limit) return `The limit of ${limit} ${call.name} calls is reached. Go on without it.`;
  if (made.length >= limits.calls) return `The limit of ${limits.calls} calls is reached. Go on without tools.`;
  return undefined;
}

function repetitionOf({ name, arguments: { query } }: ToolCall, conversation: readonly Message[]): string | undefined {
  const earlier = conversation.flatMap((message) => (message.role === "assistant" ? (message.toolCalls ?? []) : []));
  if (name !== "search" || !earlier.some((call) => call.name === "search" && call.arguments.query === query)) return undefined;
  return "This query was searched before. Look at its result above, or ask something else.";
}
