import type { Tokens } from "../core/context.ts";
import type { AssistantMessage, Message } from "../core/messages.ts";
import type { DrawnToken, TokenId } from "../core/trajectory.ts";
import type { Tool } from "../tools/tool.ts";
import type { CallDelta } from "./call-deltas.ts";

/** The next message of a conversation, as a program asks a model for it. */
export interface ConversationRequest {
  /** The whole conversation up to now. Sampled messages are recognised by their texts and calls, whatever their ids. */
  readonly messages: readonly Message[];
  /** The tools that the model is shown. They are not called here. Default none. */
  readonly tools?: readonly Tool[];
  /** Whether a tool is called. "none" shows none. Default "auto", which leaves it to the model. */
  readonly toolChoice?: "auto" | "none" | "required" | { readonly tool: string };
  /** False allows one call at most. Default true. */
  readonly parallelCalls?: boolean;
  /** Names of tools whose calls have to fit their schemas. Default none. */
  readonly strictTools?: readonly string[];
  /** The form of the message's text: any JSON object, or a value of a schema. Default any text. */
  readonly form?: "json" | { readonly schema: Readonly<Record<string, unknown>> };
  /** At most the policy's own limit. */
  readonly maxTokens?: number;
  readonly stopStrings?: readonly string[];
  /** Number of top candidates whose log-probs are returned for each token. Default 0. */
  readonly topLogprobs?: number;
  /** True if calls come whole, at the end of the message. Default false: their arguments come as they are sampled. */
  readonly wholeCalls?: boolean;
  /** Receives the message's text and calls as they are sampled. */
  readonly onDelta?: (delta: Delta) => void;
}

/** A further part of a message that is being sampled, and the tokens that were drawn since the part before it. */
export type Delta = DeltaPart & { readonly tokens: readonly DrawnToken[] };

export type DeltaPart = { readonly kind: "text" | "reasoning"; readonly text: string } | CallDelta;

export interface ConversationReply {
  /** The message, with its calls. A call that cannot be read is left in the text. */
  readonly message: AssistantMessage;
  readonly finish: "stop" | "length";
  /** Tokens of the context and of the action. */
  readonly promptTokens: number;
  readonly completionTokens: number;
  /** The context and the action, id for id. */
  readonly sampled: SampledIds;
}

/** The ids behind a message. Log-probs are natural logs under the distribution that was sampled, one a token of the action. */
export interface SampledIds {
  readonly context: Tokens;
  readonly action: readonly TokenId[];
  readonly logprobs: readonly number[];
  /** For each token the requested candidates, most likely first. */
  readonly top?: readonly { readonly tokens: readonly TokenId[]; readonly logprobs: readonly number[] }[];
}
