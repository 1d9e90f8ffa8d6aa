import { type ErrorDetails, RetrogradeError } from "../../src/core/errors.ts";

export interface HttpErrorDetails extends ErrorDetails {
  /** Seconds after which the same request may succeed. */
  readonly retryAfter?: number;
  /** A name of the reason that clients know, such as `context_length_exceeded`. */
  readonly code?: string;
}

/**
 * A request that is not carried out, with its HTTP status. What is wrong with a request is 422: the official SDK takes 400 for a fault of a
 * proxy, and 409 for a lock, and sends such requests again for five minutes.
 */
export class HttpError extends RetrogradeError {
  readonly status: number;
  readonly retryAfter: number | undefined;
  readonly code: string | undefined;

  constructor(status: number, subject: string, value: unknown, { retryAfter, code, ...details }: HttpErrorDetails = {}) {
    super(subject, value, details);
    this.status = status;
    this.retryAfter = retryAfter;
    this.code = code;
  }
}

/** Whose fault a failure is: the request's, or the server's. */
export function isUserError(error: unknown): boolean {
  return error instanceof RetrogradeError;
}
