import type { AssistantMessage, Message, ToolCall } from "../core/messages.ts";

/** How an action is read: where sampling stops, and which calls the text makes. */
export interface ActionFormat {
  /** An action ends once it contains any of these; they belong to it. Default none: the model's own end of turn. */
  readonly stopStrings?: readonly string[];
  /**
   * Reads an action. A call that cannot be made has an error for the model to read; nothing is thrown.
   * @param text decoded, without the end-of-turn token
   * @param conversation what was before it
   */
  read(text: string, conversation: readonly Message[]): ReadAction;
}

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
