import { timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { ConfigError } from "../../src/core/errors.ts";
import { present } from "../../src/core/present.ts";
import { HttpError } from "./http-error.ts";

/** Who may ask a server. */
export interface Access {
  readonly host: string;
  /** Keys of clients. Without one everybody who reaches the server may ask, so that is refused beyond this machine. */
  readonly keys: readonly string[];
}

/** @param could what whoever reaches the server could do. @throws ConfigError for a server that other machines reach without a key */
export function requireKeys({ host, keys }: Access, could: string): void {
  if (keys.length > 0 || isLoopback(host)) return;
  throw new ConfigError("keys of the server", "none", {
    expected: `one, because ${host} is reached from other machines`,
    hint: `Give --key, or set RETROGRADE_SERVER_KEY: whoever reaches the server could ${could}.`,
  });
}

/** @throws HttpError for requests of other pages' scripts, under foreign names, and without a key */
export function guard(request: IncomingMessage, { host, keys }: Access): void {
  const { origin, host: named = "" } = request.headers;
  if (origin !== undefined) throw new HttpError(403, "origin", origin, { expected: "a client, not a web page" });
  // A name that someone else pointed at this machine would let a web page reach it.
  if (isLoopback(host) && !isLoopback(named.replace(/:\d+$/, "").replace(/^\[|\]$/g, "")))
    throw new HttpError(421, "host", named, { expected: "localhost" });
  if (hasKey(request, keys)) return;
  const given = keyOf(request) === "" ? "missing" : "unknown";
  throw new HttpError(401, "key of the request", given, { expected: "a key of this server, in X-API-Key or as a bearer token" });
}

/** Whether a request has one of the keys. Without keys, everyone may ask. */
function hasKey(request: Keyed, keys: readonly string[]): boolean {
  if (keys.length === 0) return true;
  const text = Buffer.from(keyOf(request));
  return keys.map((key) => Buffer.from(key)).some((key) => key.length === text.length && timingSafeEqual(key, text));
}

type Keyed = Pick<IncomingMessage, "headers" | "url">;

/**
 * The key of a request, "" if it has none: in X-API-Key, as a bearer token, or as clients of Gemini send theirs, in X-Goog-API-Key or as `key` in
 * the address.
 */
export function keyOf({ headers, url }: Keyed): string {
  const given =
    headers["x-api-key"] ??
    headers.authorization?.replace(/^Bearer /, "") ??
    headers["x-goog-api-key"] ??
    new URLSearchParams(url?.split("?", 2)[1]).get("key") ??
    "";
  return Array.isArray(given) ? present(given[0], "a key") : given;
}

/** True for an address that only this machine reaches. A name such as 127.0.0.1.example.com does not count. */
export function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || /^127\.\d+\.\d+\.\d+$/.test(host);
}
