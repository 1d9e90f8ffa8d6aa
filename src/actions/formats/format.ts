import type { AssistantMessage, ToolCall } from "../../core/messages.ts";
import type { ActionFormat } from "../action.ts";

/** How a family of models calls tools. */
export interface CallFormat extends ActionFormat {
  readonly name: string;
  /** Families that call so, for people. */
  readonly models: string;
  /** True of a text with a call in this format, among other formats' texts. */
  readonly marks: RegExp;
  /** The text of a message with calls, without an end of turn. `read` gives the message back. */
  write(message: AssistantMessage): string;
}

/** Reasoning, content and calls below each other, where there are any. */
export function stacked(...parts: readonly (string | undefined)[]): string {
  return parts.filter((part) => part !== undefined && part !== "").join("\n");
}

/** The same for a message whose calls are written one by one. */
export function stackedCalls(message: AssistantMessage, write: (call: ToolCall) => string): string {
  return stacked(thought(message), message.content, ...(message.toolCalls ?? []).map(write));
}

export function thought({ reasoning }: AssistantMessage, [open, close]: readonly [string, string] = ["<think>", "</think>"]) {
  return reasoning === undefined ? undefined : `${open}\n${reasoning}\n${close}\n`;
}
