import { pause } from "../../../src/core/deadline.ts";
import type { TinkerFetch } from "./bulk.ts";
import type { Answer, Call, Failure } from "./call.ts";
import { TinkerError } from "./errors.ts";
import { connectionFailure, detailOf, statusError } from "./failures.ts";
import type { Credential } from "./key.ts";

export interface TransportOptions {
  /** Without `/api/v1`. */
  readonly baseUrl: string;
  /** Sent in the header X-API-Key, and nowhere else. */
  readonly credential: Credential;
  readonly fetch: TinkerFetch;
  /** Longest that one HTTP request may take. */
  readonly requestTimeoutMs: number;
  /** Longest that a call is repeated while the server cannot be reached or answers 5xx. */
  readonly patienceMs: number;
  /** Longest that a call waits while the server says that it is busy (429, 503). */
  readonly busyPatienceMs: number;
  /** One line for each HTTP request. */
  readonly log: ((entry: TinkerLogEntry) => void) | undefined;
  /** Uniform in [0, 1): spreads repeats in time. */
  readonly random: () => number;
}

/** An HTTP request, for a log. It has neither headers nor bodies. */
export interface TinkerLogEntry {
  readonly method: "GET" | "POST" | "DELETE";
  readonly path: string;
  /** The status of the answer; undefined if there was none. */
  readonly status: number | undefined;
  /** A description of what broke, if there was no answer. */
  readonly failure: string | undefined;
  readonly ms: number;
  /** From 1. */
  readonly attempt: number;
  readonly sentBytes: number;
  readonly receivedBytes: number;
}

export interface TransportStats {
  readonly requests: number;
  readonly repeats: number;
  readonly sentBytes: number;
  readonly receivedBytes: number;
}

const firstDelayMs = 100;
const longestDelayMs = 5_000;

/** HTTP with repeats: a call is sent again if it cannot be applied twice by that, with growing pauses. */
export class Transport {
  readonly #options: TransportOptions;
  #stats = { requests: 0, repeats: 0, sentBytes: 0, receivedBytes: 0 };

  constructor(options: TransportOptions) {
    this.#options = options;
  }

  /** Since the last call. */
  takeStats(): TransportStats {
    const stats = this.#stats;
    this.#stats = { requests: 0, repeats: 0, sentBytes: 0, receivedBytes: 0 };
    return stats;
  }

  /** @throws TinkerError for every answer that is neither 2xx nor in `call.expected` */
  async send(call: Call): Promise<Answer> {
    const { patienceMs = this.#options.patienceMs, signal, expected = [] } = call;
    const start = performance.now();
    let repeated = false;
    for (let attempt = 1; ; attempt++) {
      const tried = await this.#attempt(call, attempt);
      const elapsed = performance.now() - start;
      if ("answer" in tried) {
        const { status } = tried.answer;
        if ((status >= 200 && status < 300) || expected.includes(status)) return { ...tried.answer, repeated };
        const busy = isBusy(status);
        const mayRepeat = busy || (status >= 500 && call.repeatable);
        const patience = busy ? this.#options.busyPatienceMs : patienceMs;
        if (!mayRepeat || elapsed > patience)
          throw statusError(call, tried.answer, { repeated, credential: this.#options.credential });
        if (!busy) repeated = true;
        await wait(Math.max(tried.retryAfterMs, this.#delay(attempt)), signal);
      } else {
        if (signal?.aborted) throw cancelled(call.path);
        const { failure } = tried;
        const mayRepeat = !failure.permanent && (!failure.maybeSent || call.repeatable);
        if (!mayRepeat || elapsed > patienceMs) throw connectionFailure(this.#options.baseUrl, call, failure, repeated);
        if (failure.maybeSent) repeated = true;
        await wait(this.#delay(attempt), signal);
      }
      this.#stats.repeats++;
    }
  }

  async #attempt(call: Call, attempt: number): Promise<{ answer: Answer; retryAfterMs: number } | { failure: Failure }> {
    const { baseUrl, fetch, log, requestTimeoutMs } = this.#options;
    const { method = "POST", path, signal } = call;
    const key = await this.#options.credential.value(path === exchangePath);
    const { body, headers } = message(call, key);
    const start = performance.now();
    const stop = new AbortController();
    let timedOut = false;
    const timer = setTimeout(() => {
      timedOut = true;
      stop.abort();
    }, call.timeoutMs ?? requestTimeoutMs);
    const cancel = () => stop.abort();
    if (signal?.aborted) cancel();
    signal?.addEventListener("abort", cancel);
    const sentBytes = body?.length ?? 0;
    const note = (status: number | undefined, failure: string | undefined, receivedBytes: number) => {
      this.#stats.requests++;
      this.#stats.sentBytes += sentBytes;
      this.#stats.receivedBytes += receivedBytes;
      log?.({ method, path, status, failure, ms: performance.now() - start, attempt, sentBytes, receivedBytes });
    };
    try {
      const response = await fetch(`${baseUrl}/api/v1/${path}`, { method, headers, body, signal: stop.signal });
      const bytes = new Uint8Array(await response.arrayBuffer());
      note(response.status, undefined, bytes.length);
      const protobuf = response.headers.get("content-type")?.startsWith(protobufType) ?? false;
      const retryAfter = Number(response.headers.get("retry-after") ?? 0);
      const retryAfterMs = Number.isFinite(retryAfter) ? Math.min(60, retryAfter) * 1000 : 0;
      return { answer: { status: response.status, protobuf, bytes, repeated: false }, retryAfterMs };
    } catch (cause) {
      const failure = failureOf(cause, timedOut);
      note(undefined, failure.code, 0);
      return { failure };
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", cancel);
    }
  }

  /** 0.1, 0.2, 0.4 … 5 s, up to a half more. */
  #delay(attempt: number): number {
    return Math.min(longestDelayMs, firstDelayMs * 2 ** (attempt - 1)) * (1 + this.#options.random() / 2);
  }
}

const protobufType = "application/x-protobuf";
/** The one call that is sent with the key itself where tokens are used. */
export const exchangePath = "auth/token";

function message(
  { body, acceptProtobuf }: Call,
  key: string | undefined,
): { body: Uint8Array<ArrayBuffer> | undefined; headers: Record<string, string> } {
  const headers: Record<string, string> = { accept: acceptProtobuf ? protobufType : "application/json" };
  if (key !== undefined) headers["x-api-key"] = key;
  if (body === undefined) return { body: undefined, headers };
  const binary = body instanceof Uint8Array;
  headers["content-type"] = binary ? protobufType : "application/json";
  return { body: binary ? new Uint8Array(body) : new TextEncoder().encode(JSON.stringify(body)), headers };
}

/** Codes of connections that never stood. */
const unsent = new Set(["ECONNREFUSED", "EAI_AGAIN", "ENOTFOUND", "EHOSTUNREACH", "ENETUNREACH", "UND_ERR_CONNECT_TIMEOUT"]);

function failureOf(cause: unknown, timedOut: boolean): Failure {
  const code = timedOut ? "timeout" : codeOf(cause);
  return { code, maybeSent: !unsent.has(code), permanent: code === "ENOTFOUND" || code === "ERR_INVALID_URL", timedOut, cause };
}

/** The innermost code of an error of `fetch`, or its message. */
function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if ("code" in error && typeof error.code === "string") return error.code;
  if (error instanceof AggregateError && error.errors.length > 0) return codeOf(error.errors[0]);
  return error.cause === undefined ? error.message : codeOf(error.cause);
}

/** Payment that pauses, rate, capacity: nothing was executed. */
function isBusy(status: number): boolean {
  return status === 402 || status === 429 || status === 503;
}

function cancelled(path: string): TinkerError {
  return new TinkerError(path, "cancelled", { kind: "cancelled", retry: "later", hint: "The caller's signal was aborted." });
}

/** @throws TinkerError if the signal is aborted meanwhile */
function wait(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return pause(ms, signal).catch(() => {
    throw cancelled("a repeat");
  });
}

/** The JSON of an answer. @throws TinkerError if it is none */
export function jsonOf(path: string, { bytes, status }: Answer): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch (cause) {
    const details = { kind: "answer", retry: "never", status, expected: "JSON", cause } as const;
    throw new TinkerError(`the answer to ${path}`, detailOf(bytes), details);
  }
}
