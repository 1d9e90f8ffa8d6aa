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

/** Generation prompts may have opened the reasoning already, so the opening tag may be missing; without a closing tag all is reasoning. */
export function splitReasoning(text: string, [open, close]: readonly [string, string] = ["<think>", "</think>"]) {
  const start = text.trimStart().startsWith(open) ? text.indexOf(open) + open.length : 0;
  const end = text.indexOf(close, start);
  if (end !== -1) return { reasoning: text.slice(start, end).trim(), answer: text.slice(end + close.length) };
  return start === 0 ? { answer: text } : { reasoning: text.slice(start).trim(), answer: "" };
}
