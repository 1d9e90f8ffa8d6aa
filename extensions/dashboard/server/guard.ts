import { createHash, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { isIP } from "node:net";
import { Refused } from "./http.ts";

/** Who may ask what. */
export interface Guard {
  /** Where the server listens, as it was asked for. */
  readonly host: string;
  /** Known once it listens. */
  readonly port: number;
  /** Required of every request where the server can be reached from other machines. */
  readonly token: string | undefined;
}

const loopbackNames = ["localhost", "127.0.0.1", "[::1]"];

/**
 * Refuses requests that the dashboard does not answer.
 *
 * - Its `Host` must be a name of this server: a name that an attacker has pointed at this machine (DNS rebinding) is not.
 * - No other page may ask: `Sec-Fetch-Site` and `Origin`, where a browser sends them, must be of the dashboard itself.
 * - What changes something must be a POST of JSON with a header that no form and no plain fetch of another page can send.
 * - Where a token is required it must be in the cookie, or in the address of the first page.
 * @throws Refused
 */
export function requireOwn(request: IncomingMessage, guard: Guard): void {
  const { method = "GET", headers } = request;
  const host = headers.host ?? "";
  if (!isOwnHost(host, guard)) throw new Refused(421, `This server does not answer to the name "${host.slice(0, 80)}".`);
  const site = headers["sec-fetch-site"];
  const navigates = headers["sec-fetch-mode"] === "navigate" && method === "GET";
  if (site !== undefined && site !== "same-origin" && site !== "none" && !(navigates && !isApi(request)))
    throw new Refused(403, "Other pages may not ask the dashboard.");
  if (headers.origin !== undefined && headers.origin !== `http://${host}`)
    throw new Refused(403, "Other origins may not ask the dashboard.");
  if (method !== "GET" && method !== "POST") throw new Refused(405, "Only GET and POST are known.");
  if (method === "POST" && (headers["x-retrograde"] === undefined || headers["content-type"] !== "application/json"))
    throw new Refused(403, "Writes are JSON with the header x-retrograde.");
  if (guard.token !== undefined && !hasToken(request, guard.token))
    throw new Refused(
      401,
      "This dashboard needs the token that was printed where it was started: open the address with ?token=.",
    );
}

function isApi({ url = "/" }: IncomingMessage): boolean {
  return url.startsWith("/api/");
}

function isOwnHost(header: string, { host, port, token }: Guard): boolean {
  const name = header.replace(/:\d+$/, "");
  const givenPort = /:(\d+)$/.exec(header)?.[1] ?? "80";
  if (Number(givenPort) !== port) return false;
  if (loopbackNames.includes(name)) return true;
  // Reachable from elsewhere: addresses are no names that could be re-pointed, and the token is required beside.
  return token !== undefined && (name === host || isIP(name.replace(/^\[|\]$/g, "")) !== 0);
}

export const tokenCookie = "retrograde-token";

function hasToken(request: IncomingMessage, token: string): boolean {
  const query = new URLSearchParams(request.url?.replace(/^[^?]*/, "")).get("token");
  const cookie = (request.headers.cookie ?? "")
    .split(";")
    .map((part) => part.trim().split("="))
    .find(([name]) => name === tokenCookie)?.[1];
  return [query, cookie].some((given) => given !== undefined && given !== null && same(given, token));
}

function same(a: string, b: string): boolean {
  const digest = (text: string) => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(a), digest(b));
}
