import OpenAI, { APIConnectionError, APIError, APIUserAbortError } from "openai";
import { z } from "zod";
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

/** The longest that the client itself waits before it repeats a request. A server that asks for more is not waited for. */
const longestBackoffMs = 8000;

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
    maxRetries: retries,
  });
  let bySchema = true;

  const complete = async (messages: readonly ChatMessage[], withSchema: boolean, signal: AbortSignal): Promise<Completion> => {
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

  return {
    async ask(messages, signal) {
      const deadline = AbortSignal.timeout((retries + 1) * (timeoutMs + longestBackoffMs));
      const ends = signal === undefined ? deadline : AbortSignal.any([signal, deadline]);
      const once = (withSchema: boolean) => unlessAborted(complete(messages, withSchema, ends), ends);
      try {
        if (!bySchema) return await once(false);
        try {
          return await once(true);
        } catch (refusal) {
          if (!(refusal instanceof APIError) || (refusal.status !== 400 && refusal.status !== 422)) throw refusal;
          // The question itself may be at fault, as when it is too long: only one that is answered then tells of the schema.
          const completion = await once(false);
          if (bySchema) warn(`${baseUrl} does not take a JSON schema for answers of ${model}: asking without.`);
          bySchema = false;
          return completion;
        }
      } catch (error) {
        signal?.throwIfAborted();
        if (deadline.aborted)
          throw new EndpointError(`${baseUrl} gave no answer in time, or wants to be asked again later`, false);
        throw endpointError(error, baseUrl, key, timeoutMs);
      }
    },
  };
}

/** The client's waits between two requests know nothing of signals. */
async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  let stop: () => void = () => {};
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(new APIUserAbortError());
    signal.addEventListener("abort", stop, { once: true });
    if (signal.aborted) stop();
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener("abort", stop);
  }
}

function endpointError(error: unknown, baseUrl: string, key: string | undefined, timeoutMs: number): EndpointError {
  const message = withoutKey(error instanceof Error ? error.message : String(error), key).slice(0, 300);
  if (error instanceof APIConnectionError)
    return new EndpointError(
      /timed out/i.test(message)
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
