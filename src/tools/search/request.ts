import { setTimeout as sleep } from "node:timers/promises";
import { signalWithin } from "../../core/deadline.ts";
import { failureOf, ToolError } from "../../core/errors.ts";
import { readText } from "../../core/read-text.ts";
import { retryAfterMs } from "../../core/retry-after.ts";
import { redact } from "../redact.ts";

export interface RequestLimits {
  /** For one attempt. */
  readonly timeoutMs: number;
  /** Attempts after the first, where the server says 429 or 5xx or cannot be reached. */
  readonly retries: number;
  /** Before the first retry; doubled each time. A server's Retry-After is waited for instead, up to a minute. */
  readonly retryDelayMs: number;
  readonly requestsPerSecond: number;
}

const maxResponseBytes = 5 * 2 ** 20;
const maxRetryAfterMs = 60_000;

/** Sends one service's requests. Answers with the parsed JSON. */
export type Send = (url: URL, init: RequestInit, signal?: AbortSignal) => Promise<unknown>;

/**
 * One service's requests: spaced in time, tried again, ended in time.
 * @param secrets replaced in every message, wherever they come from
 */
export function createSender(service: string, secrets: readonly string[], limits: RequestLimits): Send {
  const failed = (value: unknown, expected: string, hint?: string) =>
    new ToolError(service, redact(String(value), secrets), { expected, hint });
  let nextStart = 0;

  const turn = async (signal: AbortSignal | undefined) => {
    const now = Date.now();
    const start = Math.max(now, nextStart);
    nextStart = start + 1000 / limits.requestsPerSecond;
    if (start > now) await sleep(start - now, undefined, { signal });
  };

  const attempt = async (url: URL, init: RequestInit, signal: AbortSignal | undefined): Promise<Attempt> => {
    await turn(signal);
    const limit = signalWithin(limits.timeoutMs, signal);
    try {
      const response = await fetch(url, {
        ...init,
        redirect: "error",
        signal: limit.signal,
      });
      const text = await readText(response, maxResponseBytes, limit.signal);
      if (text === undefined) throw new ToolError("the answer", "too large", { expected: `at most ${maxResponseBytes} bytes` });
      if (response.ok) return { text };
      const again = response.status === 429 || response.status >= 500;
      const hint = again ? undefined : text.replace(/\s+/g, " ").slice(0, 200);
      const error = failed(`answering ${response.status} ${response.statusText}`.trim(), "results", redact(hint ?? "", secrets));
      return { error, again, waitMs: retryAfterMs(response.headers) };
    } catch (error) {
      signal?.throwIfAborted();
      if (limit.isLate()) return { error: failed("silent", `an answer within ${limits.timeoutMs} ms`), again: true };
      if (error instanceof ToolError) return { error, again: false };
      return { error: failed("out of reach", "an answer", redact(failureOf(error), secrets)), again: true };
    }
  };

  return async (url, init, signal) => {
    for (let tried = 0; ; tried++) {
      const outcome = await attempt(url, init, signal);
      if ("text" in outcome) return parse(outcome.text, failed);
      const { error, again, waitMs } = outcome;
      const pause = waitMs ?? limits.retryDelayMs * 2 ** tried;
      if (!again || tried >= limits.retries || pause > maxRetryAfterMs) throw error;
      // The service asked for a pause: it is one for all requests.
      if (waitMs !== undefined) nextStart = Math.max(nextStart, Date.now() + waitMs);
      else await sleep(pause, undefined, { signal });
    }
  };
}

type Attempt = { readonly text: string } | { readonly error: ToolError; readonly again: boolean; readonly waitMs?: number };

function parse(text: string, failed: (value: unknown, expected: string) => ToolError): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw failed(`answering ${JSON.stringify(text.slice(0, 100))}`, "JSON");
  }
}
