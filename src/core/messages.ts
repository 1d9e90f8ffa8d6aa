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
  /** False in a demonstration that shows the message and does not teach it. Default true. */
  readonly learned?: false;
}

/** A tool's answer. */
export interface ToolMessage {
  readonly role: "tool";
  /** The tool's name. */
  readonly name: string;
  /** The id of the call that it answers. Absent where ids are made from the turn, in the template. */
  readonly callId?: string;
  readonly content: string;
}

export interface ToolCall {
  /** Absent where ids are made from the turn, in the template. */
  readonly id?: string;
  readonly name: string;
  readonly arguments: Readonly<Record<string, unknown>>;
  /** The arguments as JSON text, numbers as the model wrote them. Only where the values above lose some: `5.0`, integers beyond 2^53. */
  readonly argumentsText?: string;
}
