import type { z } from "zod";
import type { Answer } from "./call.ts";
import { TinkerError, type TinkerRetry } from "./errors.ts";
import { detailOf } from "./failures.ts";
import type { Connection } from "./session.ts";
import { jsonOf, type Transport } from "./transport.ts";
import { acknowledgementSchema, failedSchema, metadataSchema, tryAgainSchema } from "./wire/json.ts";

/** Longest that one poll is held open: proxies close connections that are silent for a minute. */
const pollMs = 45_000;
/** Proxies of the hosted service answer 400 now and then, without the JSON that its servers write. */
const maxInvalid = 3;

export interface FutureOptions {
  /** The call whose result it is, for messages. */
  readonly of: string;
  /** Whether the result is binary. Default false. */
  readonly protobuf?: boolean;
  /** The meaning of a failed execution for the caller: a pass of training leaves the model in doubt, a sample does not. */
  readonly onFailure: TinkerRetry;
  readonly signal?: AbortSignal;
}

/** The id of a request that the server has accepted. @throws TinkerError if its answer has none */
export function requestIdOf(of: string, answer: Answer): string {
  return parseResult(of, answer, acknowledgementSchema).request_id;
}

/**
 * Polls until the result of a request is there.
 * @throws TinkerError if the request failed, the server forgot it, or nothing came in time
 */
export async function retrieve(connection: Connection, requestId: string, options: FutureOptions): Promise<Answer> {
  const { transport, resultTimeoutMs: timeoutMs, onQueue } = connection;
  const { of, protobuf = false, onFailure, signal } = options;
  const start = performance.now();
  let invalid = 0;
  for (;;) {
    const left = timeoutMs - (performance.now() - start);
    if (left <= 0) {
      const hint = "Raise resultTimeoutMs if the server is only slow.";
      throw new TinkerError(of, `no result within ${timeoutMs} ms`, { kind: "timeout", retry: onFailure, hint });
    }
    const answer = await poll(transport, requestId, { protobuf, signal, timeoutMs: Math.min(pollMs, left) });
    if (answer === "not yet") continue;
    const { status } = answer;
    if (status === 200 && answer.protobuf) return answer;
    if (status >= 200 && status < 300) {
      const body = jsonOf(`the result of ${of}`, answer);
      const waiting = tryAgainSchema.safeParse(body);
      if (waiting.success) onQueue?.(waiting.data.queue_state ?? "active");
      if (waiting.success || metadataSchema.safeParse(body).success) continue;
      const failed = failedSchema.safeParse(body);
      if (failed.success)
        throw executionError(of, failed.data.error, failed.data.category === "user" ? "never" : onFailure, status);
      return answer;
    }
    if (status === 400 && !isJson(answer) && ++invalid <= maxInvalid) continue;
    if (status === 404 || status === 410) {
      const hint = "The server was restarted, or dropped the result before it was fetched.";
      throw new TinkerError(of, `${status} ${detailOf(answer.bytes)}`, { kind: "lost", retry: onFailure, status, hint });
    }
    throw executionError(of, `${status} ${detailOf(answer.bytes)}`, status === 500 ? "from-checkpoint" : onFailure, status);
  }
}

/** Reads a JSON result. @throws TinkerError if it has another form */
export function parseResult<T>(of: string, answer: Answer, schema: z.ZodType<T>): T {
  const parsed = schema.safeParse(jsonOf(`the result of ${of}`, answer));
  if (parsed.success) return parsed.data;
  throw new TinkerError(`the result of ${of}`, detailOf(answer.bytes), {
    kind: "answer",
    retry: "from-checkpoint",
    cause: parsed.error,
  });
}

async function poll(
  transport: Transport,
  requestId: string,
  { protobuf, signal, timeoutMs }: { readonly protobuf: boolean; readonly signal?: AbortSignal; readonly timeoutMs: number },
): Promise<Answer | "not yet"> {
  try {
    const answer = await transport.send({
      path: "retrieve_future",
      body: { request_id: requestId },
      acceptProtobuf: protobuf,
      repeatable: true,
      timeoutMs,
      signal,
      expected: [400, 404, 408, 409, 410, 422, 500],
    });
    return answer.status === 408 ? "not yet" : answer;
  } catch (error) {
    if (error instanceof TinkerError && error.kind === "timeout") return "not yet";
    throw error;
  }
}

function executionError(of: string, said: string, retry: TinkerRetry, status: number): TinkerError {
  return new TinkerError(of, said, {
    kind: status === 409 ? "conflict" : "failed",
    retry,
    status,
    hint: status === 500 ? "The server could not encode the result, as SkyRL cannot where it holds NaN." : undefined,
  });
}

function isJson({ bytes }: Answer): boolean {
  return bytes[0] === "{".charCodeAt(0);
}
