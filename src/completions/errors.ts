import { EngineError, type ErrorDetails } from "../core/errors.ts";

/**
 * Why a server gave no completion.
 *  - settings: address, key, model or request are wrong, so every other question fails too
 *  - refused: the server does not take this request; others may be fine
 *  - withheld: a filter of the server kept back this answer, or did not let the request through; others may be fine
 *  - context: the conversation is longer than the model's context
 *  - unreachable: no usable answer, although it was asked several times
 */
export type CompletionFailure = "settings" | "refused" | "withheld" | "context" | "unreachable";

/** A chat endpoint that gave no completion. Its message never contains the key. */
export class CompletionError extends EngineError {
  readonly failure: CompletionFailure;
  constructor(subject: string, value: unknown, failure: CompletionFailure, details: ErrorDetails) {
    super(subject, value, details);
    this.failure = failure;
  }
}
