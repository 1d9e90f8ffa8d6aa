import type { IncomingMessage } from "node:http";
import { promisify } from "node:util";
import { gunzip } from "node:zlib";
import type { z } from "zod";
import { nearestIssue } from "../../src/core/door.ts";
import { jsonOf } from "../../src/core/json.ts";
import { HttpError } from "./http-error.ts";

/** Reads a body, and stops at a limit. @throws HttpError (413) beyond it, (422) for an unknown or a broken compression */
export async function readBody(request: IncomingMessage, limit: number): Promise<Buffer> {
  const tooLarge = (size: number) => new HttpError(413, "body of the request", size, { expected: `at most ${limit} bytes` });
  const announced = Number(request.headers["content-length"]);
  if (announced > limit) throw tooLarge(announced);
  const parts: Buffer[] = [];
  let size = 0;
  // The connection stays open for the answer.
  for await (const part of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    size += part.length;
    if (size > limit) throw tooLarge(size);
    parts.push(part);
  }
  const body = Buffer.concat(parts);
  const encoding = request.headers["content-encoding"] ?? "identity";
  if (encoding === "identity") return body;
  if (encoding !== "gzip") throw new HttpError(422, "content-encoding", encoding, { expected: ["identity", "gzip"] });
  return promisify(gunzip)(body, { maxOutputLength: limit }).catch((cause: unknown) => {
    throw new HttpError(422, "body of the request", "not gzip, or too large", { cause });
  });
}

const parsedBodies = new WeakMap<Buffer, { readonly value: unknown }>();

/** The body's JSON, parsed once; undefined if it is not JSON. */
export function jsonOfBody(body: Buffer): unknown {
  const { value } = parsedBodies.get(body) ?? { value: body.length === 0 ? {} : jsonOf(body.toString("utf8")) };
  parsedBodies.set(body, { value });
  return value;
}

/** @throws HttpError (422) for what is no JSON, or has another form */
export function parseBody<T>(body: Buffer, schema: z.ZodType<T>): T {
  const value = jsonOfBody(body);
  if (value === undefined) throw new HttpError(422, "body of the request", "malformed", { expected: "JSON" });
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const { message, path } = nearestIssue(parsed.error.issues);
  throw new HttpError(422, path.length === 0 ? "body of the request" : path.join("."), "not accepted", { expected: message });
}
