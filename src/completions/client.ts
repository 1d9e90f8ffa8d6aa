import { fetchPatiently, mayPass, type Verdict } from "../http/client.ts";
import { type Completion, readCompletion } from "./answer.ts";
import { CompletionError, type CompletionFailure } from "./errors.ts";

export interface EndpointSettings {
  /** Up to, and without, `/chat/completions`: such as `https://api.openai.com/v1`. */
  readonly baseUrl: string;
  readonly apiKey?: string;
  /** The time limit of one answer, its last byte included. Default 120,000. */
  readonly timeoutMs?: number;
  /** Further attempts where the server is busy, broken, unreachable, or answers nonsense. Default 4. */
  readonly retries?: number;
  /** Before the first of them, doubled each time up to 8 seconds. A wait that the server asks for (Retry-After) is taken instead. Default 500. */
  readonly retryDelayMs?: number;
  /** Largest answer in bytes. Default 16 MiB. */
  readonly maxBytes?: number;
  /** Further fields of the request, such as `reasoning_effort`. null leaves a field out that is sent otherwise, such as `seed`. */
  readonly request?: Readonly<Record<string, unknown>>;
}

/**
 * Asks a server of the chat-completions protocol for one completion, again where that may help.
 * @param body the request, without what the settings say
 * @throws CompletionError if there is none; the signal's reason once it is aborted
 */
export async function complete(settings: EndpointSettings, body: object, signal?: AbortSignal): Promise<Completion> {
  const { baseUrl, apiKey = "", timeoutMs = 120_000, retries = 4, retryDelayMs = 500, maxBytes = 16 * 2 ** 20 } = settings;
  const url = `${baseUrl.replace(/\/+$/, "")}/chat/completions`;
  const request = {
    method: "POST",
    headers: {
      "content-type": "application/json",
      ...(settings.apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
    },
    body: JSON.stringify(
      Object.fromEntries(Object.entries({ ...body, ...settings.request }).filter(([, value]) => value !== null)),
    ),
    // A request that is sent on by a redirect may lose its body, or tell its key to somebody else.
    redirect: "manual",
  } as const;
  const failed = (attempts: number, problem: string, failure: CompletionFailure, hint = hints[failure]): Verdict<Completion> => {
    const tried = attempts === 1 ? "" : `It was asked ${attempts} times. `;
    const said = apiKey === "" ? problem : problem.replaceAll(apiKey, "[API key]");
    const details = { expected: "a chat completion", hint: tried + hint };
    const error = new CompletionError(`the answer of ${new URL(url).host}`, said, failure, details);
    return { error, again: failure === "unreachable" };
  };
  const policy = { timeoutMs, maxBytes, retries, retryDelayMs };
  return fetchPatiently(
    url,
    request,
    policy,
    (outcome, attempts) => {
      if ("failure" in outcome)
        return failed(attempts, outcome.reason, outcome.failure === "too large" ? "settings" : "unreachable");
      const { response, text } = outcome;
      if (!response.ok) return failed(attempts, ...refusal(response.status, text, response.headers));
      const read = readCompletion(text);
      if ("completion" in read) return { value: read.completion };
      if (read.status !== undefined) return failed(attempts, ...refusal(read.status, read.problem, response.headers));
      return failed(attempts, read.problem, "unreachable");
    },
    { signal },
  );
}

const hints: Readonly<Record<CompletionFailure, string>> = {
  settings: "Check the address, the key and the model's name.",
  refused:
    "The server does not take this request. A setting `request` (evaluation.player.request, a judge's) leaves out or adds fields.",
  withheld: "A filter of the server does not let this conversation through.",
  context: "The conversation is longer than the model's context.",
  unreachable: "Is the server running, and is the address right?",
};

/** A context that is too short, in words of OpenAI, Anthropic, vLLM, SGLang, llama.cpp; Gemini; TGI; xAI; Cerebras; Bedrock. */
const contextWords =
  /context[_ ]?(length|window|size|limit)|maximum context|prompt is too long|too many tokens|exceeds? .{0,40}(context|n_ctx)|exceeds the maximum number of tokens|max_new_tokens. must be|maximum prompt length|current length is .{0,20}while limit is|input is too long for|input tokens exceed/i;
/** A filter, in words of Azure and OpenAI; LiteLLM; OpenRouter. */
const filterWords = /content_filter|content[ _]?policy|content management policy|flagged_input/i;

/** Sorts an answer with an error status. */
function refusal(status: number, text: string, headers: Headers): [problem: string, failure: CompletionFailure, hint?: string] {
  const location = status >= 300 && status < 400 ? ` to ${headers.get("location") ?? "nowhere"}` : "";
  const problem = `${status}${location} ${text.slice(0, 300)}`.trim();
  if (status === 429 && text.includes("insufficient_quota")) return [problem, "settings"];
  if (mayPass(status)) return [problem, "unreachable", "The server is busy or broken: ask it again later."];
  if (contextWords.test(text)) return [problem, "context"];
  if (filterWords.test(text)) return [problem, "withheld"];
  return [problem, [400, 413, 422].includes(status) ? "refused" : "settings"];
}
