import { z } from "zod";
import type { Command } from "../../../src/cli/command-tools.ts";
import { wholeNumber } from "../../../src/cli/numbers.ts";
import { apiKeyFrom } from "../../../src/core/api-key.ts";
import { ConfigError } from "../../../src/core/errors.ts";
import { jsonOf } from "../../../src/core/json.ts";
import type { JudgeSettings } from "./judge.ts";

export interface JudgeFlags {
  /** Address of a server of the chat-completions protocol. */
  readonly judgeEndpoint?: string;
  readonly judgeModel?: string;
  /** Environment variable of its key. */
  readonly judgeKeyEnv?: string;
  readonly judgeConcurrency?: string;
  /** Fields of its requests, as JSON. */
  readonly judgeRequest?: string;
}

const flagNames = {
  judgeModel: "--judge-model",
  judgeKeyEnv: "--judge-key-env",
  judgeConcurrency: "--judge-concurrency",
  judgeRequest: "--judge-request",
} as const;

/** The judge of the flags; undefined if there is none. @throws ConfigError naming the flag that is missing or wrong */
export function judgeOf(flags: JudgeFlags, env: NodeJS.ProcessEnv): JudgeSettings | undefined {
  const { judgeEndpoint: baseUrl, judgeModel: model, judgeKeyEnv, judgeConcurrency } = flags;
  if (baseUrl === undefined) {
    const [unused] = Object.entries(flagNames).filter(([key]) => flags[key as keyof typeof flagNames] !== undefined);
    if (unused === undefined) return undefined;
    throw new ConfigError("--judge-endpoint", undefined, { expected: `the address of the server that ${unused[1]} belongs to` });
  }
  if (!/^https?:\/\//.test(baseUrl)) throw new ConfigError("--judge-endpoint", baseUrl, { expected: "an http or https URL" });
  if (model === undefined) throw new ConfigError("--judge-model", undefined, { expected: `the name of a model at ${baseUrl}` });
  const apiKey = judgeKeyEnv === undefined ? undefined : apiKeyFrom(env, judgeKeyEnv, baseUrl);
  const concurrency = wholeNumber("--judge-concurrency", judgeConcurrency ?? "8");
  const request = flags.judgeRequest === undefined ? {} : { request: fieldsOf(flags.judgeRequest) };
  return { baseUrl, model, concurrency, ...(apiKey ? { apiKey } : {}), ...request };
}

function fieldsOf(text: string): Record<string, unknown> {
  const fields = z.record(z.string(), z.unknown()).safeParse(jsonOf(text));
  if (fields.success) return fields.data;
  throw new ConfigError("--judge-request", text, { expected: 'an object of JSON, such as {"temperature": null}' });
}

/** Adds the options of commands that may ask a judge, for `judgeOf`. */
export function judged(command: Command): Command {
  return command
    .option(
      "--judge-endpoint <url>",
      "of questions: a server of the chat-completions protocol that decides which answers are right",
    )
    .option("--judge-model <name>", "the judge's model there")
    .option("--judge-key-env <variable>", "the environment variable with its API key")
    .option("--judge-concurrency <n>", "answers that it is asked about at a time (default: 8)")
    .option("--judge-request <json>", 'fields of its requests; null leaves one out: {"temperature": null}');
}
