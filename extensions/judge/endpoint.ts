import { complete, type EndpointSettings } from "../../src/completions/client.ts";
import { CompletionError } from "../../src/completions/errors.ts";
import { answerJsonSchema } from "./answer.ts";
import type { JudgeReward } from "./settings.ts";

export interface ChatMessage {
  readonly role: "system" | "user" | "assistant";
  readonly content: string;
}

export interface JudgeReply {
  readonly text: string;
  /** True for an answer that a limit of tokens cut off. */
  readonly truncated: boolean;
  /** As the server counted them; a quarter of the characters if it does not say. */
  readonly promptTokens: number;
  readonly completionTokens: number;
}

/** @throws CompletionError, or the signal's reason once it is aborted */
export type Ask = (messages: readonly ChatMessage[], signal?: AbortSignal) => Promise<JudgeReply>;

/**
 * Opens a judge's model behind any server of the chat-completions protocol. The answer is asked for by a JSON schema; a server that refuses that
 * gets the question without, from then on.
 */
export function openEndpoint(config: JudgeReward, key: string | undefined, warn: (message: string) => void): Ask {
  const { model, baseUrl, temperature, timeoutMs, retries } = config;
  const settings: EndpointSettings = { baseUrl, timeoutMs, retries, apiKey: key };
  const schema = { type: "json_schema", json_schema: { name: "scores", strict: true, schema: answerJsonSchema } };
  let bySchema = true;

  const reply = async (messages: readonly ChatMessage[], withSchema: boolean, signal?: AbortSignal): Promise<JudgeReply> => {
    const request = { model, messages, temperature, ...(withSchema ? { response_format: schema } : {}) };
    const { content, finish, usage } = await complete(settings, request, signal);
    const text = key === undefined ? content : content.replaceAll(key, "[API key]");
    return {
      text,
      truncated: finish === "length",
      promptTokens: usage?.promptTokens ?? estimated(messages.map((message) => message.content).join("")),
      completionTokens: usage?.completionTokens ?? estimated(text),
    };
  };

  return async (messages, signal) => {
    if (!bySchema) return reply(messages, false, signal);
    try {
      return await reply(messages, true, signal);
    } catch (refusal) {
      if (!(refusal instanceof CompletionError) || refusal.failure !== "refused") throw refusal;
      // The question itself may be at fault: only one that is answered then shows that it was the schema.
      const answer = await reply(messages, false, signal);
      if (bySchema) warn(`${baseUrl} does not take a JSON schema for answers of ${model}: asking without.`);
      bySchema = false;
      return answer;
    }
  };
}

function estimated(text: string): number {
  return Math.ceil(text.length / 4);
}
