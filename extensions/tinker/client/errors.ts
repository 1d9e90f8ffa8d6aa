import { type ErrorDetails, RetrogradeError } from "../../../src/core/errors.ts";

/** How a call to a Tinker server failed. */
export type TinkerErrorKind =
  | "address" // nothing answers there, or it is no Tinker server
  | "old-wire" // a server of an earlier protocol
  | "key" // the key is missing or wrong
  | "request" // the request is malformed: found before it was sent, or by the server
  | "not-found" // a model, checkpoint or session that the server does not know
  | "conflict" // a name or a sequence number that is taken
  | "failed" // the server accepted the request and could not execute it
  | "busy" // too many requests for longer than the client's patience
  | "timeout" // no result in time
  | "lost" // the connection broke, or the server forgot the request: nobody knows whether it was applied
  | "not-sent" // an earlier request of the model failed, so that this one stayed here
  | "answer" // the answer is not what was asked for: length, type, NaN
  | "cancelled"; // by the caller's signal

/**
 * The retry that is possible:
 * - `never`: the same call fails in the same way
 * - `later`: nothing was applied; the same call may succeed later
 * - `from-checkpoint`: the model's state is in doubt; open a new model and load its last checkpoint
 */
export type TinkerRetry = "never" | "later" | "from-checkpoint";

export interface TinkerErrorDetails extends ErrorDetails {
  readonly kind: TinkerErrorKind;
  readonly retry: TinkerRetry;
  /** The status of the answer, if there was one. */
  readonly status?: number;
}

/** A call to a Tinker server. The message holds no key and no body of a request. */
export class TinkerError extends RetrogradeError {
  readonly kind: TinkerErrorKind;
  readonly retry: TinkerRetry;
  readonly status: number | undefined;

  constructor(subject: string, value: unknown, { kind, retry, status, ...details }: TinkerErrorDetails) {
    super(subject, value, details);
    this.kind = kind;
    this.retry = retry;
    this.status = status;
  }
}
