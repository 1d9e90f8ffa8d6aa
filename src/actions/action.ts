import type { AssistantMessage, Message, ToolCall } from "../core/messages.ts";

/** How an action is read: where sampling stops, and which calls the text makes. */
export interface ActionFormat {
  /** An action ends once it contains any of these; they belong to it. Default none: the model's own end of turn. */
  readonly stopStrings?: readonly string[];
  /**
   * Reads an action. A call that cannot be made has an error for the model to read; nothing is thrown.
   * @param text decoded, without the end-of-turn token
   * @param conversation what was before it
   * @param schemaOf the tools, for formats that write arguments without types
   */
  read(text: string, conversation: readonly Message[], schemaOf?: SchemaOf): ReadAction;
}

/** The JSON schema of a tool's arguments; undefined if there is no such tool. */
export type SchemaOf = (tool: string) => { readonly [key: string]: unknown } | undefined;

/** An action's text, read as a message. */
export interface ReadAction {
  readonly message: AssistantMessage;
  /** In the order in which they were written, unreadable ones included. */
  readonly calls: readonly (ToolCall | UnreadableCall)[];
  /**
   * True if the response is not over although nothing is called: the model is asked again behind the message's content, which may be a
   * beginning of what it wrote. The rest, and an end of turn, are taken back. Only where the conversation continues in one message.
   */
  readonly goesOn?: boolean;
}

export interface UnreadableCall {
  /** The problem, for the model to read. */
  readonly error: string;
}

/** Makes a message of its parts: the readable calls beside the text that is left. */
export function messageOf(content: string, calls: ReadAction["calls"], reasoning?: string): ReadAction {
  const toolCalls = calls.filter((call) => "name" in call);
  return {
    message: {
      role: "assistant",
      content: content.trim(),
      ...(reasoning === undefined ? {} : { reasoning }),
      ...(toolCalls.length === 0 ? {} : { toolCalls }),
    },
    calls,
  };
}

/** The content and the calls of an answer, without the reasoning before it. */
export interface ReadAnswer {
  readonly content: string;
  readonly calls: ReadAction["calls"];
}

const thinking = ["<think>", "</think>"] as const;
/** A character of private use, so that no text has it. */
const place = "\ue002";

/**
 * Reads a text as reasoning and an answer. Generation prompts may have opened the reasoning already, so the opening tag may be missing.
 * Without a closing tag all is reasoning. A closing tag inside an argument of a readable call is part of that argument.
 */
export function readReasoned(
  text: string,
  readAnswer: (answer: string) => ReadAnswer,
  [open, close]: readonly [string, string] = thinking,
): ReadAction {
  const isOpened = text.trimStart().startsWith(open);
  const start = isOpened ? text.indexOf(open) + open.length : 0;
  let end = text.indexOf(close, start);
  while (end !== -1 && !isOpened && isArgument(text, end, close.length, readAnswer)) end = text.indexOf(close, end + 1);
  if (end === -1 && !isOpened) return read(readAnswer(text));
  const reasoning = text.slice(start, end === -1 ? text.length : end).trim();
  return read(end === -1 ? { content: "", calls: [] } : readAnswer(text.slice(end + close.length)), reasoning);
}

function read({ content, calls }: ReadAnswer, reasoning?: string): ReadAction {
  return messageOf(content, calls, reasoning);
}

/** Returns whether the characters at this place are read as part of an argument. */
function isArgument(text: string, at: number, length: number, readAnswer: (answer: string) => ReadAnswer): boolean {
  const { calls } = readAnswer(text.slice(0, at) + place + text.slice(at + length));
  return calls.some((call) => "name" in call && JSON.stringify(call.arguments).includes(place));
}
