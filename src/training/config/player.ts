import { z } from "zod";
import { acts } from "../../core/acts.ts";
import { longestTimer } from "../../core/timer.ts";

/** A model behind a server of the chat-completions protocol: messages without tokens. It is evaluated, and never trained. */
export const playerSchema = z.strictObject({
  baseUrl: acts
    .address(z.url({ protocol: /^https?$/, error: "an http or https URL" }), (url) =>
      new URL(url).host === "api.openai.com" ? "OPENAI_API_KEY" : undefined,
    )
    .describe(
      "a chat-completions server that answers in `eval` instead of the model ([evaluation.md](evaluation.md#chat-endpoints)), without `/chat/completions`; `eval --endpoint URL`",
    ),
  model: z.string().min(1).optional().describe("its name for the model; the setting `model` if omitted"),
  apiKeyEnv: acts
    .variable(z.string().regex(/^[A-Z_][A-Z0-9_]*$/, "the name of an environment variable, in capitals"))
    .nullable()
    .optional()
    .describe("environment variable with the key; `null`: none. If omitted, `OPENAI_API_KEY` for api.openai.com, else none"),
  timeoutMs: z.int().min(1).max(longestTimer).default(120_000).describe("for one answer"),
  retries: z.int().min(0).default(4).describe("after 408, 409, 425, 429, 5xx, malformed answers and broken connections"),
  retryDelayMs: z
    .int()
    .min(0)
    .max(longestTimer)
    .default(500)
    .describe("before the first retry; doubles up to 8 s. `Retry-After` up to a minute is respected"),
  maxTokensField: z
    .enum(["max_tokens", "max_completion_tokens"])
    .default("max_tokens")
    .describe("name of the token limit in requests; newer OpenAI models need `max_completion_tokens`"),
  growing: z
    .enum(["messages", "prefill"])
    .default("messages")
    .describe("how a growing message continues: results as user `messages`, or `prefill` (vLLM, SGLang, llama.cpp)"),
  request: z
    .record(z.string(), z.unknown())
    .default({})
    .describe("further fields of each request; `null` removes one, such as `seed`"),
});

export type PlayerSettings = z.output<typeof playerSchema>;
