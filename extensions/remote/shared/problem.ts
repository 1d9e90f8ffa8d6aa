import { EnvError, type ErrorDetails } from "../../../src/core/errors.ts";

/** How a server of environments failed. */
export type RemoteProblem =
  /** No connection, or one that broke. */
  | "unreachable"
  /** No answer in time. */
  | "timeout"
  /** The session is gone: closed, deleted or expired. */
  | "expired"
  /** The server has no place for another session. */
  | "capacity"
  /** An answer above the limit of bytes. */
  | "too-large"
  /** An answer that is not of the protocol. */
  | "malformed"
  /** The server refused the request, or its environment raised an error. */
  | "refused";

/** A server of environments that failed. Its episode ends as a fault of the environment, which no update is trained on. */
export class RemoteEnvError extends EnvError {
  readonly problem: RemoteProblem;

  constructor(problem: RemoteProblem, subject: string, value: unknown, details: ErrorDetails = {}) {
    super(subject, value, details);
    this.problem = problem;
  }
}
