import { z } from "zod";
import { jsonOf } from "../core/json.ts";

/** Tokens of a request, as the server counted them. */
export interface CompletionUsage {
  readonly promptTokens: number;
  readonly completionTokens: number;
}

export interface CompletionCall {
  readonly id: string | undefined;
  readonly name: string;
  /** As the model wrote them: JSON, if it is well-formed. */
  readonly arguments: string;
}

/** One answer of a model. */
export interface Completion {
  readonly content: string;
  readonly reasoning: string | undefined;
  readonly calls: readonly CompletionCall[];
  /** "stop", "length", "tool_calls", … */
  readonly finish: string;
  /** The stop string that ended it, where the server says so (vLLM, SGLang). Servers remove it from the content. */
  readonly stoppedBy: string | undefined;
  /** undefined if the server reports none. */
  readonly usage: CompletionUsage | undefined;
}

/** Some servers write the content as parts, and arguments as an object. */
const text = z.union([
  z.string(),
  z.array(z.object({ text: z.string().catch("") })).transform((parts) => parts.map((part) => part.text).join("")),
]);
const argumentsText = z.union([z.string(), z.record(z.string(), z.unknown()).transform((value) => JSON.stringify(value))]);
const call = z.object({
  id: z.string().min(1).nullish().catch(undefined),
  function: z.object({ name: z.string(), arguments: argumentsText.nullish() }),
});
const message = z.object({
  content: text.nullish(),
  /** The words of a model of OpenAI that declines. */
  refusal: z.string().nullish().catch(undefined),
  reasoning_content: z.string().nullish().catch(undefined),
  reasoning: z.string().nullish().catch(undefined),
  tool_calls: z.array(call).nullish(),
});
const choice = z.object({
  message,
  finish_reason: z.string().nullish(),
  stop_reason: z.unknown().optional(),
  matched_stop: z.unknown().optional(),
});
const answerSchema = z.object({
  choices: z.tuple([choice], z.unknown()),
  // Every prompt has tokens: a server that says 0 has not counted.
  usage: z
    .object({ prompt_tokens: z.number().positive(), completion_tokens: z.number().min(0) })
    .nullish()
    .catch(undefined),
});
const reported = z.object({
  error: z.union([
    z.object({ message: z.string().catch(""), code: z.union([z.string(), z.number()]).nullish().catch(undefined) }),
    // LM Studio's
    z
      .string()
      .min(1)
      .transform((message) => ({ message, code: undefined })),
  ]),
});
/** An error in the body. OpenRouter has that of the server behind it in the choice. */
const errorSchema = reported.or(z.object({ choices: z.tuple([reported], z.unknown()) }).transform(({ choices }) => choices[0]));

/** Finish reasons of failed answers, from OpenRouter, vLLM, SGLang and DeepSeek. */
const unfinished = ["error", "abort", "insufficient_system_resource"];
/** "length", as Mistral and Cohere say it. */
const lengths = ["length", "model_length", "max_tokens", "MAX_TOKENS"];

export type Read =
  | { readonly completion: Completion }
  /**
   * A gateway reports the failure of the server behind it in a body of status 200. `status` is the real one, if it is given; 200 for an answer that
   * a filter kept back.
   */
  | { readonly problem: string; readonly status: number | undefined };

/** Reads the body of an answer with status 200. */
export function readCompletion(body: string): Read {
  const json = jsonOf(body);
  if (json === undefined) return { problem: `an answer that is not JSON: ${body.slice(0, 200)}`, status: undefined };
  const failed = errorSchema.safeParse(json);
  if (failed.success) {
    const { message: said, code } = failed.data.error;
    const status = Number(code);
    return { problem: `an error: ${said.slice(0, 300)}`, status: status >= 300 && status < 600 ? status : undefined };
  }
  const parsed = answerSchema.safeParse(json);
  if (!parsed.success)
    return { problem: `no chat completion: ${z.prettifyError(parsed.error).slice(0, 300)}`, status: undefined };
  const { choices, usage } = parsed.data;
  const [{ message: said, finish_reason, stop_reason, matched_stop }] = choices;
  const finish = finish_reason ?? "stop";
  const kept = finish.includes("content_filter");
  if (kept || unfinished.includes(finish))
    return { problem: `no whole answer: its finish_reason is ${finish}`, status: kept ? 200 : undefined };
  const stoppedBy = [stop_reason, matched_stop].find((reason) => typeof reason === "string");
  return {
    completion: {
      content: said.content || (said.refusal ?? ""),
      reasoning: said.reasoning_content ?? said.reasoning ?? undefined,
      calls: (said.tool_calls ?? []).map(({ id, function: { name, arguments: args } }) => ({
        ...{ id: id ?? undefined, name, arguments: args ?? "" },
      })),
      finish: lengths.includes(finish) ? "length" : finish,
      stoppedBy,
      usage: usage ? { promptTokens: usage.prompt_tokens, completionTokens: usage.completion_tokens } : undefined,
    },
  };
}
