import { ConfigError, RetrogradeError, RunError } from "../../../src/core/errors.ts";

import { HttpError } from "../../http/http-error.ts";

/** Sent with everything: nothing but the page's own files runs, and no other page shows it in a frame. */
export const pageHeaders = {
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; " +
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  "x-frame-options": "DENY",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "cache-control": "no-store",
} as const;

/** A request that is refused, with a reason for the person at the page. */
export class Refused extends Error {
  readonly status: number;

  constructor(status: number, reason: string) {
    super(reason);
    this.status = status;
  }
}

export class NotFound extends Refused {
  constructor(reason: string) {
    super(404, reason);
  }
}

/** A run's errors are of the folder or the question, and are shown; others are the server's own. */
export function problem(error: unknown): { readonly status: number; readonly json: object } {
  if (error instanceof Refused || error instanceof HttpError) return { status: error.status, json: { error: error.message } };
  const status = error instanceof RunError || error instanceof ConfigError ? 422 : 500;
  return { status, json: { error: error instanceof RetrogradeError ? error.message : "The dashboard's server failed." } };
}
