/** A conversation, as chat templates understand it. */
export type Message = SystemMessage | UserMessage | AssistantMessage | ToolMessage;

export interface SystemMessage {
  readonly role: "system";
  readonly content: string;
}

export interface UserMessage {
  readonly role: "user";
  readonly content: string;
}

export interface AssistantMessage {
  readonly role: "assistant";
  /** The text outside of reasoning and tool calls. */
  readonly content: string;
  readonly reasoning?: string;
  readonly toolCalls?: readonly ToolCall[];
}

/** What a tool answered. */
export interface ToolMessage {
  readonly role: "tool";
  /** The tool's name. */
  readonly name: string;
  readonly content: string;
}

export interface ToolCall {
  readonly name: string;
  readonly arguments: Readonly<Record<string, unknown>>;
  /** The arguments as the model wrote them: `5.0` and integers beyond 2^53 are exact here. Absent if the call was not read from text. */
  readonly argumentsText?: string;
}
