import { z } from "zod";
import { readArguments } from "../../src/chat/call-deltas.ts";
import type { ConversationReply, ConversationRequest, Delta } from "../../src/chat/conversation.ts";
import { door, enlist } from "../../src/core/door.ts";
import type { AssistantMessage, Message, ToolCall } from "../../src/core/messages.ts";
import { present } from "../../src/core/present.ts";
import type { DrawnToken, TokenId } from "../../src/core/trajectory.ts";
import type { JsonSchema, Tool } from "../../src/tools/tool.ts";
import { HttpError } from "../http/http-error.ts";

/** A request as every vendor's is read: what is asked in messages, and how it is to be sampled. */
export interface ParsedRequest {
  readonly model: string;
  readonly stream: boolean;
  /** Number of answers. */
  readonly count: number;
  readonly conversation: Omit<ConversationRequest, "onDelta">;
  readonly sampling: Sampling;
  /** True if the answer continues the last message, which is the assistant's. */
  readonly continuesLast?: boolean;
}

/** How an answer is sampled. A model that is trained has settings of its own. */
export interface Sampling {
  readonly temperature?: number;
  readonly topP?: number;
  readonly topK?: number;
  readonly seed?: number;
  /** Settings that change what is sampled and that no engine here has, by their names. */
  readonly others: Readonly<Record<string, unknown>>;
}

/** One vendor's form of requests, answers and errors. */
export interface Wire {
  /** @throws HttpError for a request of another form, and for what could not be honoured */
  read(body: Buffer, state: WireState): Exchange;
  /** An error as the vendor writes it. */
  error(failure: Failure): object;
  /** The model's name, if requests do not have it in their bodies. */
  readonly model?: string;
  /** Whether the event of an error has a name. Default true. */
  readonly namesErrors?: boolean;
  /** A count of the request's tokens as the vendor writes it. Without it the request is for an answer. */
  count?(tokens: number): object;
}

/** The answers to a request, of which there is at least one. */
export type Replies = readonly [ConversationReply, ...ConversationReply[]];

/** A request and how it is answered. */
export interface Exchange {
  readonly parsed: ParsedRequest;
  /** The whole answer. */
  answer(replies: Replies): object;
  stream(send: SendEvent): StreamedAnswer;
}

export interface StreamedAnswer {
  /** @param index of the answer, below `Asked.count` */
  delta(index: number, delta: Delta): void;
  end(replies: Replies): void;
}

/** Sends one event. @param data an object as JSON, or a text as it is */
export type SendEvent = (data: object | string, event?: string) => void;

/** The things that a wire needs besides the request. */
export interface WireState {
  /** A fresh id, without the vendor's prefix. */
  readonly id: string;
  /** Seconds. */
  readonly created: number;
  readonly query: URLSearchParams;
  /** The text of ids, and their number, of the requested model. */
  decode(tokens: readonly TokenId[]): string;
  /** Conversations by the ids of answers, and items by theirs, of the client that asks. */
  readonly kept: Map<string, unknown>;
}

/** A request that was not answered. */
export interface Failure {
  readonly status: number;
  readonly message: string;
  /** The field that is wrong. */
  readonly param: string | null;
  readonly code: string | null;
}

/** Plain text, or parts of text. @param ignores fields of a part that change nothing */
export const textContent = (types: readonly string[], ignores: readonly string[] = []) =>
  z.union([
    z.string(),
    z
      .array(door("a part of a request's text", { type: z.enum(types, { error: "only text" }), text: z.string() }, { ignores }))
      .transform((parts) => parts.map(({ text }) => text).join("")),
  ]);

/** A field that clients leave out or write as null. */
export const optional = <Schema extends z.ZodType>(schema: Schema) =>
  schema
    .nullish()
    .transform((value) => value ?? undefined)
    .optional();

/** Settings of sampling that have one form everywhere. vLLM writes top_k as -1 or 0 where it is off. */
export const samplingFields = {
  temperature: optional(z.number().min(0)),
  top_p: optional(z.number().gt(0).max(1)),
  top_k: optional(
    z
      .int()
      .min(-1)
      .transform((value) => (value < 1 ? undefined : value)),
  ),
  seed: optional(z.int()),
};
const stopSchema = z.string().min(1);
export const stopField = optional(z.union([stopSchema.transform((text) => [text]), z.array(stopSchema)]));

/** A message of the assistant, without the parts that it lacks. */
export function assistantMessage(
  content: string,
  reasoning: string | undefined,
  toolCalls: readonly ToolCall[],
): AssistantMessage {
  return {
    ...{ role: "assistant", content },
    ...(reasoning ? { reasoning } : {}),
    ...(toolCalls.length === 0 ? {} : { toolCalls }),
  };
}

/** Keeps the names of calls, for the answers that come with their ids alone. */
export class CallNames {
  readonly #names = new Map<string, string>();

  call(id: string, name: string, text: string): ToolCall {
    this.#names.set(id, name);
    return { id, name, ...readArguments(text) };
  }

  answer(id: string, content: string, field: string): Message {
    const name = this.#names.get(id);
    if (name === undefined) throw new HttpError(400, field, id, { expected: "the id of a call before it" });
    return { role: "tool", name, callId: id, content };
  }
}

/** The fields of a function that have one form in the interfaces of OpenAI and Anthropic. */
export const functionFields = { name: z.string().min(1), description: z.string().nullish(), strict: z.boolean().nullish() };

export const parametersSchema = z
  .record(z.string(), z.unknown())
  .nullish()
  .transform((schema) => ({ type: "object", properties: {}, ...schema }) as JsonSchema);

/** A tool that is shown and never run here. */
export function shownTool(name: string, description: string, parameters: JsonSchema): Tool {
  return { name, description, parameters, execute: () => "" };
}

/** Refuses a choice of a tool that is not there. */
export function requireTool(name: string, tools: readonly Tool[], field: string): { readonly tool: string } {
  if (tools.some((tool) => tool.name === name)) return { tool: name };
  throw new HttpError(400, field, name, { expected: tools.map((tool) => tool.name) });
}

/** The fields of a request that decide nothing here: who asks, what it is filed under, how fast it is to be. */
const filed = [
  "metadata",
  "client_metadata",
  "user",
  "store",
  "service_tier",
  "safety_identifier",
  "prompt_cache_key",
  "prompt_cache_retention",
];

export interface RequestDetails {
  readonly harmless?: readonly string[];
  /** Settings of sampling that are not there, each with the value that has no effect. */
  readonly neutral: Readonly<Record<string, unknown>>;
}

/** A vendor's request, or a part of it, that may have settings of sampling which are not there. */
export interface RequestDoor<Shape extends z.ZodRawShape> {
  readonly schema: z.ZodObject<Shape, z.core.$loose>;
  /**
   * The settings of sampling that are not there: what becomes of them is for the model to say.
   * @throws HttpError (400) naming a field that nothing here reads
   */
  others(body: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>>;
}

export function requestDoor<Shape extends z.ZodRawShape>(
  name: string,
  shape: Shape,
  { harmless = [], neutral }: RequestDetails,
): RequestDoor<Shape> {
  const uses = Object.keys(shape);
  const ignores = [...filed, ...harmless];
  const others = (body: Readonly<Record<string, unknown>>) => {
    const found: Record<string, unknown> = {};
    for (const [field, value] of Object.entries(body)) {
      if (value === undefined || value === null || uses.includes(field) || ignores.includes(field)) continue;
      if (!(field in neutral))
        throw new HttpError(400, field, value, {
          expected: "a field that this endpoint has",
          hint: "Leave it out of the request.",
          code: "unknown_parameter",
        });
      if (JSON.stringify(neutral[field]) !== JSON.stringify(value)) found[field] = value;
    }
    return found;
  };
  const refuses = (field: string, value: unknown) => {
    try {
      return field in others({ [field]: value });
    } catch {
      return true;
    }
  };
  enlist({ name, uses, ignores, neutral, refuses });
  return { schema: z.looseObject(shape), others };
}

/** Where an answer's text matched one of its stop strings; undefined if it ended otherwise. */
export function stopStringOf(reply: ConversationReply, stops: readonly string[], { decode }: WireState): string | undefined {
  if (stops.length === 0 || reply.finish === "length") return undefined;
  const text = decode(reply.sampled.action);
  return stops.find((stop) => text.includes(stop));
}

/** A call's arguments as the model wrote them. */
export function argumentsText({ argumentsText: text, arguments: args }: ToolCall): string {
  return text ?? JSON.stringify(args);
}

export const callId = (id: string, index: number) => `call_${id}${index}`;

export function drawnTokens({ sampled: { action, logprobs, top } }: ConversationReply): DrawnToken[] {
  return action.map((token, i) => ({ token, logprob: present(logprobs[i], "a log-prob"), top: top?.[i] }));
}

/** The candidates of a token's place, each as `entry` writes it. */
export function candidatesOf<Entry>({ top }: DrawnToken, entry: (token: TokenId, logprob: number) => Entry): Entry[] {
  return top === undefined ? [] : top.tokens.map((token, i) => entry(token, present(top.logprobs[i], "a log-prob")));
}

/** Tokens with their log-probs, as the OpenAI interface writes them. */
export function tokenLogprobs(drawn: readonly DrawnToken[], { decode }: WireState): object[] {
  const entry = (id: TokenId, logprob: number) => {
    const token = decode([id]);
    return { token, logprob, bytes: [...Buffer.from(token)] };
  };
  return drawn.map((each) => ({ ...entry(each.token, each.logprob), top_logprobs: candidatesOf(each, entry) }));
}
