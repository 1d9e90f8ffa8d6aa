import { RetrogradeError, reasonOf } from "../../src/core/errors.ts";

/** An error on its way from a thread: what a typed error is made of there. */
export interface Refused extends Pick<RetrogradeError, "subject" | "expected" | "hint"> {
  readonly value: string;
}

/** @param subject of an error that is not ours */
export function refusedBy(error: unknown, subject: string): Refused {
  if (!(error instanceof RetrogradeError)) return { subject, value: reasonOf(error), expected: undefined, hint: undefined };
  return { subject: error.subject, value: String(error.value), expected: error.expected, hint: error.hint };
}
