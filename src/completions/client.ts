import { pause, signalWithin } from "../core/deadline.ts";
import { readText } from "../core/read-text.ts";
import { retryAfterMs } from "../core/retry-after.ts";
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
}

const longestWaitMs = 8000;
/** Limits are often by the minute. A server that asks for a longer wait is not waited for. */
const longestWishMs = 60_000;

type Outcome =
  | { readonly completion: Completion }
  | {
      readonly problem: string;
      readonly failure: CompletionFailure;
      readonly waitMs?: number | undefined;
      /** True if the connection was lost before the answer began. */
      readonly lost?: boolean;
    };

/**
 * Asks a server of the chat-completions protocol for one completion, again where that may help.
 * @param body the request, without what the settings say
 * @throws CompletionError if there is none; the signal's reason once it is aborted
 */
export async function complete(settings: EndpointSettings, body: object, signal?: AbortSignal): Promise<Completion> {
  const { baseUrl, apiKey, retries = 4, retryDelayMs = 500 } = settings;
  const url = `${baseUrl.replace(/\/+$/, "")}/chat/completions`;
  for (let attempt = 0, fresh = false; ; attempt++) {
    let outcome = await post(url, settings, body, signal);
    // A kept connection may be closed by the server while the request is on its way. Another one is tried at once: a completion changes nothing there.
    if (!("completion" in outcome) && outcome.lost === true && !fresh) {
      fresh = true;
      outcome = await post(url, settings, body, signal);
    }
    if ("completion" in outcome) return outcome.completion;
    const { problem, failure, waitMs = Math.min(retryDelayMs * 2 ** attempt, longestWaitMs) } = outcome;
    if (failure !== "unreachable" || attempt >= retries || waitMs > longestWishMs) {
      const said = apiKey === undefined || apiKey === "" ? problem : problem.replaceAll(apiKey, "[API key]");
      const asked = attempt === 0 ? "" : `It was asked ${attempt + 1} times. `;
      throw new CompletionError(`the answer of ${new URL(url).host}`, said, failure, {
        expected: "a chat completion",
        hint: asked + hints[failure],
      });
    }
    await pause(waitMs, signal);
  }
}

const hints: Readonly<Record<CompletionFailure, string>> = {
  settings: "Check the address, the key and the model's name.",
  refused: "The server does not take this request.",
  context: "The conversation is longer than the model's context.",
  unreachable: "Is the server running, and is the address right?",
};

async function post(url: string, settings: EndpointSettings, body: object, signal: AbortSignal | undefined): Promise<Outcome> {
  const { apiKey, timeoutMs = 120_000, maxBytes = 16 * 2 ** 20 } = settings;
  const limit = signalWithin(timeoutMs, signal);
  try {
    const response = await fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json", ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }) },
      body: JSON.stringify(body),
      // A request that is sent on by a redirect may lose its body, or tell its key to somebody else.
      redirect: "manual",
      signal: limit.signal,
    });
    const text = await readText(response, maxBytes, limit.signal);
    if (text === undefined) return { problem: `more than ${maxBytes} bytes`, failure: "settings" };
    if (!response.ok) return { ...refusal(response.status, text, response.headers), waitMs: retryAfterMs(response.headers) };
    const read = readCompletion(text);
    if ("completion" in read) return read;
    if (read.status !== undefined) return refusal(read.status, read.problem, response.headers);
    return { problem: read.problem, failure: "unreachable" };
  } catch (error) {
    signal?.throwIfAborted();
    if (limit.isLate()) return { problem: `nothing within ${timeoutMs} ms`, failure: "unreachable" };
    return { problem: messageOf(error), failure: "unreachable", lost: isLostConnection(error) };
  }
}

/** True for the errors of undici and Node that mean a connection which the other side has closed. */
function isLostConnection(error: unknown): boolean {
  const cause = error instanceof Error ? error.cause : undefined;
  return cause instanceof Error && "code" in cause && ["UND_ERR_SOCKET", "ECONNRESET", "EPIPE"].includes(String(cause.code));
}

const contextWords =
  /context[_ ](length|window|size)|maximum context|prompt is too long|too many tokens|exceeds? .{0,40}(context|n_ctx)/i;

/** Sorts an answer with an error status. */
function refusal(status: number, text: string, headers: Headers): { problem: string; failure: CompletionFailure } {
  const location = status >= 300 && status < 400 ? ` to ${headers.get("location") ?? "nowhere"}` : "";
  const problem = `${status}${location} ${text.slice(0, 300)}`.trim();
  if (status === 429 && text.includes("insufficient_quota")) return { problem, failure: "settings" };
  if ([408, 409, 425, 429].includes(status) || status >= 500) return { problem, failure: "unreachable" };
  if (contextWords.test(text)) return { problem, failure: "context" };
  return { problem, failure: [400, 413, 422].includes(status) ? "refused" : "settings" };
}

/** A failed fetch has its reason as cause. */
function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { cause } = error;
  const why = cause instanceof Error ? cause.message || ("code" in cause ? String(cause.code) : "") : "";
  return why === "" ? error.message : `${error.message}: ${why}`;
}
