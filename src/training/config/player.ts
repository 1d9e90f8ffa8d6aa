import { z } from "zod";
import { acts } from "../../core/acts.ts";
import { longestTimer } from "../../core/timer.ts";

const price = z.number().min(0);

/** A model behind a server of the chat-completions protocol: messages without tokens. It is evaluated, and never trained. */
export const playerSchema = z.strictObject({
  baseUrl: acts
    .address(z.url({ protocol: /^https?$/, error: "an http or https URL" }), (url) =>
      new URL(url).host === "api.openai.com" ? "OPENAI_API_KEY" : undefined,
    )
    .describe(
      "the chat-completions endpoint that answers in `eval` instead of the model ([evaluation.md](evaluation.md#chat-endpoints)): up to, and without, `/chat/completions`; `eval --endpoint URL`",
    ),
  model: z.string().min(1).optional().describe("name of the model there; the setting `model` if left out"),
  apiKeyEnv: acts
    .variable(z.string().regex(/^[A-Z_][A-Z0-9_]*$/, "the name of an environment variable, in capitals"))
    .nullable()
    .optional()
    .describe(
      "the environment variable with the API key; `null` sends none. If left out, `OPENAI_API_KEY` for api.openai.com and none for others",
    ),
  timeoutMs: z.int().min(1).max(longestTimer).default(120_000).describe("of one answer, its last byte included"),
  retries: z
    .int()
    .min(0)
    .default(4)
    .describe("further attempts after 408, 409, 425, 429, a 5xx, nonsense or a broken connection"),
  retryDelayMs: z
    .int()
    .min(0)
    .max(longestTimer)
    .default(500)
    .describe(
      "before the first of them, doubled each time up to 8 seconds. A wait of up to a minute that the server asks for is taken instead",
    ),
  maxTokensField: z
    .enum(["max_tokens", "max_completion_tokens"])
    .default("max_tokens")
    .describe("the request's limit of tokens; newer models of OpenAI take `max_completion_tokens` alone"),
  growing: z
    .enum(["messages", "prefill"])
    .default("messages")
    .describe(
      "how a text protocol of one growing message continues: results as `messages` of the user, or `prefill` (`continue_final_message` of vLLM and SGLang; llama.cpp too)",
    ),
  request: z
    .record(z.string(), z.unknown())
    .default({})
    .describe("further fields of each request; `null` leaves out a field that is sent otherwise, such as `seed`"),
  prices: z
    .strictObject({ input: price, output: price, currency: z.string().min(1).default("USD") })
    .optional()
    .describe('`{ input, output, currency: "USD" }` for a million tokens: reports then have the cost'),
});

export type PlayerSettings = z.output<typeof playerSchema>;
