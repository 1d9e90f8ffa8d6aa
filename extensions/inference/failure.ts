import { EpisodeStop } from "../../src/core/episode-stop.ts";
import { ModelError, reasonOf } from "../../src/core/errors.ts";
import { HttpError } from "../http/http-error.ts";
import type { Failure } from "./parsed-request.ts";

/**
 * Translates an error for a vendor's client. A request that would be refused again is 400: clients repeat 409, 429 and all from 500 on, and
 * hide the text of statuses that they do not know.
 */
export function failureOf(error: unknown): Failure {
  const failure = (status: number, code: string | null, param: string | null): Failure => ({
    ...{ status, code, param },
    message: reasonOf(error),
  });
  if (error instanceof EpisodeStop)
    return error.reason === "max-tokens"
      ? failure(400, "context_length_exceeded", "messages")
      : failure(400, error.reason.replaceAll("-", "_"), null);
  if (error instanceof ModelError) return failure(400, "unsupported_value", "messages");
  if (!(error instanceof HttpError)) return failure(500, null, null);
  const code = error.code ?? (error.status === 401 ? "invalid_api_key" : null);
  const isField = /^[a-z_][\w.[\]-]*$/.test(error.subject);
  return failure(error.status === 422 ? 400 : error.status, code, isField ? error.subject : null);
}
