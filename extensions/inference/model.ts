import type { ConversationReply, ConversationRequest } from "../../src/chat/conversation.ts";
import type { TokenId } from "../../src/core/context.ts";
import type { Generated, GenerateRequest } from "./generate.ts";
import type { Sampling } from "./parsed-request.ts";
/** A model that answers under its name. */
export interface InferenceModel {
  /** Longest sequence, context and action together. */
  readonly maxLength: number;
  readonly vocabularySize: number;
  /** The largest body of a request that could fit into its context. Without it bodies have the server's limit alone. */
  readonly maxBytes?: number;
  /** Answers in messages. Without it the model takes token ids alone. */
  readonly chat?: ChatModel;
  /** @throws HttpError for a request that cannot be honoured */
  sample(request: GenerateRequest, signal: AbortSignal): Promise<Generated>;
}

/** A model in messages. Its methods throw a HttpError or a ModelError for what cannot be honoured. */
export interface ChatModel {
  decode(tokens: readonly TokenId[]): string;
  /** Tokens of a conversation's context. */
  count(request: ConversationRequest, signal: AbortSignal): number | Promise<number>;
  converse(request: ConversationRequest, options: ConverseOptions): Promise<ConversationReply>;
  /** Called for a request that was refused. */
  refused?(error: unknown): void;
}

export interface ConverseOptions {
  readonly sampling: Sampling;
  readonly continuesLast?: boolean;
  /** The index of the answer, if several are requested. */
  readonly index: number;
  /** Aborted when the client is gone. */
  readonly signal: AbortSignal;
}
