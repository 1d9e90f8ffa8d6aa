import { pause, signalWithin } from "../core/deadline.ts";
import { failureOf } from "../core/errors.ts";
import { readBytes } from "../core/read-body.ts";
import { retryAfterMs } from "../core/retry-after.ts";

/** Limits of a request to another server. */
export interface RequestLimits {
  /** The time of one attempt, its last byte included, in milliseconds. */
  readonly timeoutMs: number;
  /** Largest answer, in bytes. */
  readonly maxBytes: number;
}

/** How often a request is made again where that may help. */
export interface RepeatPolicy extends RequestLimits {
  /** Attempts after the first. */
  readonly retries: number;
  /** Before the first of them, doubled each time up to 8 seconds. A wait that the server asks for is taken instead, up to a minute. */
  readonly retryDelayMs: number;
}

/** The end of an attempt: an answer, whatever its status, or in words why there is none. */
export type Outcome =
  | { readonly response: Response; readonly bytes: Uint8Array; readonly text: string }
  | { readonly failure: "late" | "too large" | "unreachable"; readonly reason: string };

/** A caller's view of an outcome: a value, or an error, and whether the request is made `again`. */
export type Verdict<T> = { readonly value: T } | { readonly error: Error; readonly again: boolean };

const longestDelayMs = 8000;
/** Limits are often by the minute. A server that asks for a longer wait is not waited for. */
const longestWishMs = 60_000;

/** Makes a request once, within its limits. @throws the signal's reason once it is aborted */
export async function fetchOnce(
  url: string | URL,
  init: RequestInit,
  { timeoutMs, maxBytes }: RequestLimits,
  signal?: AbortSignal,
): Promise<Outcome & { readonly lost?: boolean }> {
  const limit = signalWithin(timeoutMs, signal);
  try {
    const response = await fetch(url, { ...init, signal: limit.signal });
    const bytes = await readBytes(response, maxBytes, limit.signal);
    if (bytes === undefined) return { failure: "too large", reason: `more than ${maxBytes} bytes` };
    return { response, bytes, text: new TextDecoder().decode(bytes) };
  } catch (error) {
    signal?.throwIfAborted();
    if (limit.isLate()) return { failure: "late", reason: `nothing within ${timeoutMs} ms` };
    return { failure: "unreachable", reason: failureOf(error), lost: isLostConnection(error) };
  }
}

/**
 * Makes a request, and again where that may help: only for what changes nothing on the server.
 * @param judge makes a value or an error of each outcome, given the number of attempts so far
 * @param before runs before each attempt, such as a wait for its turn
 * @throws the last verdict's error; the signal's reason once it is aborted
 */
export async function fetchPatiently<T>(
  url: string | URL,
  init: RequestInit,
  policy: RepeatPolicy,
  judge: (outcome: Outcome, attempts: number) => Verdict<T>,
  { signal, before = async () => {} }: { readonly signal?: AbortSignal; readonly before?: () => Promise<void> } = {},
): Promise<T> {
  for (let attempt = 0, fresh = false; ; attempt++) {
    await before();
    let outcome = await fetchOnce(url, init, policy, signal);
    // A kept connection may be closed by the server while the request is on its way. Another one is tried at once.
    if (outcome.lost === true && !fresh) {
      fresh = true;
      outcome = await fetchOnce(url, init, policy, signal);
    }
    const verdict = judge(outcome, attempt + 1);
    if ("value" in verdict) return verdict.value;
    const wish = "response" in outcome ? retryAfterMs(outcome.response.headers) : undefined;
    const waitMs = wish ?? Math.min(policy.retryDelayMs * 2 ** attempt, longestDelayMs);
    if (!verdict.again || attempt >= policy.retries || waitMs > longestWishMs) throw verdict.error;
    await pause(waitMs, signal);
  }
}

/** Whether an answer's status may pass: the server is busy, or broken. */
export function mayPass(status: number): boolean {
  return [408, 409, 425, 429].includes(status) || status >= 500;
}

/** True for the errors of undici and Node that mean a connection which the other side has closed. */
function isLostConnection(error: unknown): boolean {
  const cause = error instanceof Error ? error.cause : undefined;
  return cause instanceof Error && "code" in cause && ["UND_ERR_SOCKET", "ECONNRESET", "EPIPE"].includes(String(cause.code));
}
