import type { Answer, Call, Failure } from "./call.ts";
import { TinkerError, type TinkerErrorDetails, type TinkerErrorKind, type TinkerRetry } from "./errors.ts";
import type { Credential } from "./key.ts";

/** From what went wrong in HTTP to the error that a caller sees. */

const kinds: Readonly<Record<number, TinkerErrorKind>> = {
  401: "key",
  402: "busy",
  403: "key",
  404: "not-found",
  408: "timeout",
  409: "conflict",
  410: "lost",
  429: "busy",
  503: "busy",
};

const hints: Partial<Readonly<Record<TinkerErrorKind, string>>> = {
  key: "Set TINKER_API_KEY, or the option apiKey, to a key of this server.",
  busy: "The server had no capacity for longer than the client waits: lower the number in flight, or come back later.",
};

/** The error of an answer that is not 2xx. `repeated`: whether an earlier attempt may have arrived. */
export function statusError(
  call: Call,
  { status, bytes }: Answer,
  { repeated, credential }: { readonly repeated: boolean; readonly credential: Credential },
): TinkerError {
  const kind = kinds[status] ?? (status >= 500 ? "lost" : "request");
  const details: TinkerErrorDetails = { kind, retry: retryOf(kind, repeated), status, hint: hints[kind] };
  return new TinkerError(call.path, credential.redact(`${status} ${detailOf(bytes)}`), details);
}

/** The error of a call that got no answer. */
export function connectionFailure(baseUrl: string, call: Call, failure: Failure, repeated: boolean): TinkerError {
  const doubtful = repeated || failure.maybeSent;
  const kind = failure.timedOut ? "timeout" : doubtful ? "lost" : "address";
  return new TinkerError(call.path, `${failure.code} at ${baseUrl}`, {
    kind,
    retry: kind === "address" ? "later" : isRead(call) ? "later" : "from-checkpoint",
    expected: "an answer",
    hint:
      kind === "address"
        ? "Is the server running there? Check the address, and start the server."
        : "The connection broke while the server may have been working on the request.",
    cause: failure.cause,
  });
}

/** A sentence of an answer's body, short. Bodies of 422 repeat the request's content, of which only the messages are kept. */
export function detailOf(bytes: Uint8Array): string {
  const text = new TextDecoder().decode(bytes.subarray(0, 20_000)).trim();
  const detail = detailIn(text);
  return detail.length > 300 ? `${detail.slice(0, 300)}…` : detail;
}

function detailIn(text: string): string {
  try {
    const { detail, error } = JSON.parse(text) as { detail?: unknown; error?: unknown };
    if (typeof detail === "string") return detail;
    if (typeof error === "string") return error;
    if (Array.isArray(detail)) {
      return (detail as { loc?: unknown[]; msg?: unknown }[])
        .map(({ loc, msg }) => `${(loc ?? []).join(".")}: ${String(msg)}`)
        .join("; ");
    }
  } catch {}
  return text;
}

function retryOf(kind: TinkerErrorKind, repeated: boolean): TinkerRetry {
  if (kind === "busy") return repeated ? "from-checkpoint" : "later";
  return kind === "lost" || kind === "timeout" ? "from-checkpoint" : "never";
}

/** Calls that change nothing. */
function isRead({ method, path }: Call): boolean {
  return method === "GET" || path === "asample" || path === "session_heartbeat" || path === "weights_info";
}
