import { setTimeout as sleep } from "node:timers/promises";
import OpenAI, { APIConnectionError, APIConnectionTimeoutError, APIError } from "openai";
import { z } from "zod";
import { reasonOf } from "../../core/errors.ts";
import type { RewardOf } from "../config.ts";
import { answerJsonSchema } from "./answer.ts";

export interface ChatMessage {
  readonly role: "system" | "user" | "assistant";
  readonly content: string;
}

export interface Completion {
  readonly text: string;
  readonly promptTokens: number;
  readonly completionTokens: number;
}

/** A question that got no answer at all. Messages never hold the key, whatever the server says. */
export class EndpointError extends Error {
  /** True where every other question would fail too: wrong key, no such model or address. */
  readonly misconfigured: boolean;
  constructor(message: string, misconfigured: boolean) {
    super(message);
    this.name = "EndpointError";
    this.misconfigured = misconfigured;
  }
}

export interface Endpoint {
  /** @throws EndpointError, or the signal's reason once it is aborted */
  ask(messages: readonly ChatMessage[], signal?: AbortSignal): Promise<Completion>;
}

/** As much of an answer as is needed; whatever is not as the protocol says counts as not there. */
const count = z.number().min(0).optional().catch(undefined);
const answerOfServer = z
  .object({
    choices: z.array(z.object({ message: z.object({ content: z.string().catch("") }) })).catch([]),
    usage: z.object({ prompt_tokens: count, completion_tokens: count }).catch({}),
  })
  .catch({ choices: [], usage: {} });

/** Waits between two requests: the first, and the longest that is not the server's wish. As the client of OpenAI has them. */
const [firstWaitMs, longestWaitMs] = [500, 8000];
/** Limits are often by the minute: a server that asks for a longer wait is not waited for. */
const longestWishMs = 60_000;

/**
 * A judge's model behind any server of the chat-completions protocol. The answer is asked for by a JSON schema; a server that refuses that
 * gets the question without, from then on.
 */
export function openEndpoint(config: RewardOf<"judge">, key: string | undefined, warn: (message: string) => void): Endpoint {
  const { model, baseUrl, temperature, timeoutMs, retries } = config;
  const client = new OpenAI({
    apiKey: key ?? "none",
    baseURL: baseUrl,
    // Others of its settings would come from the environment, and be told to whatever server this is.
    organization: null,
    project: null,
    ...(key === undefined ? { defaultHeaders: { Authorization: null } } : {}),
    logLevel: "off",
    timeout: timeoutMs,
    // Its waits know nothing of signals: an interrupted run would stay until they are over.
    maxRetries: 0,
  });
  let bySchema = true;

  const complete = async (messages: readonly ChatMessage[], withSchema: boolean, signal?: AbortSignal): Promise<Completion> => {
    const format = { type: "json_schema" as const, json_schema: { name: "scores", strict: true, schema: answerJsonSchema } };
    const completion = await client.chat.completions.create(
      { model, messages: [...messages], temperature, ...(withSchema ? { response_format: format } : {}) },
      { signal },
    );
    const { choices, usage } = answerOfServer.parse(completion);
    const text = withoutKey(choices[0]?.message.content ?? "", key);
    return {
      text,
      promptTokens: usage.prompt_tokens ?? estimated(messages.map(({ content }) => content).join("")),
      completionTokens: usage.completion_tokens ?? estimated(text),
    };
  };

  /** In time, its whole answer included: the client's own limit ends with the first byte. */
  const completeInTime = async (...[messages, withSchema, signal]: Parameters<typeof complete>): Promise<Completion> => {
    const deadline = AbortSignal.timeout(timeoutMs);
    const ends = signal === undefined ? deadline : AbortSignal.any([signal, deadline]);
    try {
      return await complete(messages, withSchema, ends);
    } catch (error) {
      signal?.throwIfAborted();
      throw deadline.aborted ? new APIConnectionTimeoutError() : error;
    }
  };

  const completeWithRetries = async (...args: Parameters<typeof complete>): Promise<Completion> => {
    for (let tried = 0; ; tried++) {
      try {
        return await completeInTime(...args);
      } catch (error) {
        const wait = tried < retries ? waitAfter(error, tried) : undefined;
        if (wait === undefined) throw error;
        await sleep(wait, undefined, { signal: args[2] });
      }
    }
  };

  return {
    async ask(messages, signal) {
      try {
        if (!bySchema) return await completeWithRetries(messages, false, signal);
        try {
          return await completeWithRetries(messages, true, signal);
        } catch (refusal) {
          if (!(refusal instanceof APIError) || (refusal.status !== 400 && refusal.status !== 422)) throw refusal;
          // The question itself may be at fault, as when it is too long: only one that is answered then tells of the schema.
          const completion = await completeWithRetries(messages, false, signal);
          if (bySchema) warn(`${baseUrl} does not take a JSON schema for answers of ${model}: asking without.`);
          bySchema = false;
          return completion;
        }
      } catch (error) {
        signal?.throwIfAborted();
        throw endpointError(error, baseUrl, key, timeoutMs);
      }
    },
  };
}

/** Milliseconds until a request is worth another try; undefined where it is not. */
function waitAfter(error: unknown, tried: number): number | undefined {
  const ownWait = Math.min(firstWaitMs * 2 ** tried, longestWaitMs);
  if (error instanceof APIConnectionError) return ownWait;
  if (!(error instanceof APIError) || error.status === undefined) return undefined;
  if (![408, 409, 429].includes(error.status) && error.status < 500) return undefined;
  const wish = wishedWait(error.headers) ?? ownWait;
  return wish <= longestWishMs ? wish : undefined;
}

/** Milliseconds, by the usual header (RFC 9110, §10.2.3: seconds or a date) or OpenAI's finer one. */
function wishedWait(headers: Headers | undefined): number | undefined {
  const milliseconds = headers?.get("retry-after-ms");
  const after = headers?.get("retry-after");
  const wish =
    typeof milliseconds === "string"
      ? Number(milliseconds)
      : typeof after === "string"
        ? /^\d/.test(after)
          ? Number(after) * 1000
          : Date.parse(after) - Date.now()
        : Number.NaN;
  return Number.isNaN(wish) ? undefined : Math.max(0, wish);
}

function endpointError(error: unknown, baseUrl: string, key: string | undefined, timeoutMs: number): EndpointError {
  const message = withoutKey(reasonOf(error), key).slice(0, 300);
  if (error instanceof APIConnectionError)
    return new EndpointError(
      error instanceof APIConnectionTimeoutError
        ? `${baseUrl} gave no answer within ${timeoutMs} ms`
        : `${baseUrl} cannot be reached (${message})`,
      false,
    );
  const status = error instanceof APIError ? error.status : undefined;
  return new EndpointError(`${baseUrl} answered ${message}`, status === 401 || status === 403 || status === 404);
}

function withoutKey(text: string, key: string | undefined): string {
  return key === undefined ? text : text.replaceAll(key, "[API key]");
}

function estimated(text: string): number {
  return Math.ceil(text.length / 4);
}
