import { z } from "zod";
import { apiKeyFrom } from "../core/api-key.ts";
import { ConfigError } from "../core/errors.ts";
import { jsonOf } from "../core/json.ts";
import type { PricedJudge } from "../sdk/evaluate.ts";
import type { Prices } from "../training/evaluation/cost.ts";

export interface JudgeFlags {
  /** Address of a server of the chat-completions protocol. */
  readonly judgeEndpoint?: string;
  readonly judgeModel?: string;
  /** Environment variable of its key. */
  readonly judgeKeyEnv?: string;
  readonly judgeConcurrency?: string;
  /** Fields of its requests, as JSON. */
  readonly judgeRequest?: string;
  /** "input,output" or "input,output,currency", for a million tokens. */
  readonly judgePrices?: string;
}

const flagNames = {
  judgeModel: "--judge-model",
  judgeKeyEnv: "--judge-key-env",
  judgeConcurrency: "--judge-concurrency",
  judgeRequest: "--judge-request",
  judgePrices: "--judge-prices",
} as const;

/** The judge of the flags; undefined if there is none. @throws ConfigError naming the flag that is missing or wrong */
export function judgeOf(flags: JudgeFlags, env: NodeJS.ProcessEnv): PricedJudge | undefined {
  const { judgeEndpoint: baseUrl, judgeModel: model, judgeKeyEnv, judgeConcurrency } = flags;
  if (baseUrl === undefined) {
    const [unused] = Object.entries(flagNames).filter(([key]) => flags[key as keyof typeof flagNames] !== undefined);
    if (unused === undefined) return undefined;
    throw new ConfigError("--judge-endpoint", undefined, { expected: `the address of the server that ${unused[1]} belongs to` });
  }
  if (!/^https?:\/\//.test(baseUrl)) throw new ConfigError("--judge-endpoint", baseUrl, { expected: "an http or https URL" });
  if (model === undefined) throw new ConfigError("--judge-model", undefined, { expected: `the name of a model at ${baseUrl}` });
  const apiKey = judgeKeyEnv === undefined ? undefined : apiKeyFrom(env, judgeKeyEnv, baseUrl);
  const concurrency = Number(judgeConcurrency ?? 8);
  if (!Number.isInteger(concurrency) || concurrency < 1)
    throw new ConfigError("--judge-concurrency", judgeConcurrency, { expected: "a whole number from 1 on" });
  const prices = flags.judgePrices === undefined ? {} : { prices: pricesOf(flags.judgePrices, "--judge-prices") };
  const request = flags.judgeRequest === undefined ? {} : { request: fieldsOf(flags.judgeRequest) };
  return { baseUrl, model, concurrency, ...(apiKey ? { apiKey } : {}), ...request, ...prices };
}

function fieldsOf(text: string): Record<string, unknown> {
  const fields = z.record(z.string(), z.unknown()).safeParse(jsonOf(text));
  if (fields.success) return fields.data;
  throw new ConfigError("--judge-request", text, { expected: 'an object of JSON, such as {"temperature": null}' });
}

/** Prices of a flag. @throws ConfigError for another text */
export function pricesOf(text: string, flag: string): Prices {
  const [input, output, currency = "USD", ...more] = text.split(",").map((part) => part.trim());
  const price = (part: string | undefined) => (part !== undefined && /^\d+(\.\d+)?$/.test(part) ? Number(part) : undefined);
  const [ofInput, ofOutput] = [price(input), price(output)];
  if (ofInput === undefined || ofOutput === undefined || currency === "" || more.length > 0)
    throw new ConfigError(flag, text, {
      expected: 'the prices of a million prompt and completion tokens, such as "0.4,1.6" or "0.4,1.6,EUR"',
    });
  return { input: ofInput, output: ofOutput, currency };
}
