import type { IncomingMessage, ServerResponse } from "node:http";
import { ConfigError, RetrogradeError, RunError } from "../../../src/core/errors.ts";

/** Sent with everything: nothing but the page's own files runs, and no other page shows it in a frame. */
const headers = {
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; " +
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
} as const;

export function send(
  response: ServerResponse,
  status: number,
  type: string,
  body: string | Uint8Array,
  cache = "no-store",
): void {
  response.writeHead(status, { ...headers, "content-type": type, "cache-control": cache });
  response.end(body);
}

export function sendJson(response: ServerResponse, value: unknown, status = 200): void {
  send(response, status, "application/json; charset=utf-8", JSON.stringify(value));
}

/** Begins a stream of server-sent events. */
export function beginEvents(response: ServerResponse): (event: unknown) => void {
  response.writeHead(200, { ...headers, "content-type": "text/event-stream", "cache-control": "no-store" });
  return (event) => response.write(`data: ${JSON.stringify(event)}\n\n`);
}

/** A run's errors are of the folder or the question, and are shown; others are the server's own. */
export function sendError(response: ServerResponse, error: unknown): void {
  if (response.headersSent) {
    response.end();
    return;
  }
  const status = error instanceof NotFound ? 404 : error instanceof RunError || error instanceof ConfigError ? 422 : 500;
  const message =
    error instanceof RetrogradeError || error instanceof NotFound ? error.message : "The dashboard's server failed.";
  sendJson(response, { error: message }, status);
}

export class NotFound extends Error {}

const largestBody = 64 * 1024;

/** @throws RunError for a body that is no JSON, or too long */
export async function readJsonBody(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > largestBody) throw new RunError("the request", `longer than ${largestBody} bytes`);
    chunks.push(chunk);
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString("utf8"));
  } catch (cause) {
    throw new RunError("the request", "no JSON", { cause });
  }
}
