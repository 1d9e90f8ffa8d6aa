import { timingSafeEqual } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { promisify } from "node:util";
import { gunzip } from "node:zlib";
import type { z } from "zod";
import { reasonOf } from "../core/errors.ts";
import { Refusal } from "./refusal.ts";

/** The answer of a route. */
export type Reply =
  | { readonly status?: number; readonly json: object }
  | { readonly bytes: Uint8Array; readonly type: string; readonly fileName?: string }
  | { readonly location: string }
  | { readonly status: 204 };

export function send(response: ServerResponse, reply: Reply): void {
  const write = (status: number, headers: Record<string, string>, body?: string | Uint8Array) => {
    response.writeHead(status, { "x-content-type-options": "nosniff", ...headers });
    response.end(body);
  };
  if ("json" in reply) write(reply.status ?? 200, { "content-type": "application/json" }, JSON.stringify(reply.json));
  else if ("location" in reply) write(302, { location: reply.location });
  else if ("bytes" in reply) {
    const named: Record<string, string> =
      reply.fileName === undefined ? {} : { "content-disposition": `attachment; filename="${reply.fileName}"` };
    write(200, { "content-type": reply.type, ...named }, reply.bytes);
  } else write(reply.status, {});
}

/** An error as Tinker's servers write it: `{"detail"}`. What is no refusal is the server's own fault. */
export function sendError(response: ServerResponse, error: unknown): void {
  if (response.headersSent) return void response.end();
  const refusal = error instanceof Refusal ? error : undefined;
  if (refusal?.retryAfter !== undefined) response.setHeader("retry-after", String(refusal.retryAfter));
  const detail = refusal?.message ?? reasonOf(error);
  send(response, { status: refusal?.status ?? 500, json: { detail } });
}

/** Reads a body, and stops at a limit. @throws Refusal (413) beyond it, (422) for an unknown or a broken compression */
export async function readBody(request: IncomingMessage, limit: number): Promise<Buffer> {
  const tooLarge = (size: number) => new Refusal(413, "body of the request", size, { expected: `at most ${limit} bytes` });
  const announced = Number(request.headers["content-length"] ?? 0);
  if (announced > limit) throw tooLarge(announced);
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of request as AsyncIterable<Buffer>) {
    size += part.length;
    if (size > limit) throw tooLarge(size);
    parts.push(part);
  }
  const body = Buffer.concat(parts);
  const encoding = request.headers["content-encoding"] ?? "identity";
  if (encoding === "identity") return body;
  if (encoding !== "gzip") throw new Refusal(422, "content-encoding", encoding, { expected: ["identity", "gzip"] });
  return promisify(gunzip)(body, { maxOutputLength: limit }).catch((cause: unknown) => {
    throw new Refusal(422, "body of the request", "not gzip, or too large", { cause });
  });
}

/** @throws Refusal (422) for what is no JSON, or has another form */
export function parseBody<T>(body: Buffer, schema: z.ZodType<T>): T {
  let value: unknown;
  try {
    value = body.length === 0 ? {} : JSON.parse(body.toString("utf8"));
  } catch (cause) {
    throw new Refusal(422, "body of the request", "malformed", { expected: "JSON", cause });
  }
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const { message, path } = parsed.error.issues[0];
  throw new Refusal(422, path.length === 0 ? "body of the request" : path.join("."), "not accepted", { expected: message });
}

/** Whether a request has one of the keys, in X-API-Key or as a bearer token. Without keys, everyone may ask. */
export function hasKey({ headers }: IncomingMessage, keys: readonly string[]): boolean {
  if (keys.length === 0) return true;
  const given = headers["x-api-key"] ?? headers.authorization?.replace(/^Bearer /, "") ?? "";
  const text = Buffer.from(Array.isArray(given) ? given[0] : given);
  return keys.map((key) => Buffer.from(key)).some((key) => key.length === text.length && timingSafeEqual(key, text));
}

/** True for an address that only this machine reaches. A name such as 127.0.0.1.example.com is none. */
export function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || /^127\.\d+\.\d+\.\d+$/.test(host);
}
