import { createHash, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { isIP } from "node:net";

/** Who may ask what. */
export interface Guard {
  /** Where the server listens, as it was asked for. */
  readonly host: string;
  /** Known once it listens. */
  readonly port: number;
  /** Required of every request where the server can be reached from other machines. */
  readonly token: string | undefined;
}

/** Why a request is refused, with the status. */
export interface Refusal {
  readonly status: number;
  readonly reason: string;
}

const loopbackNames = ["localhost", "127.0.0.1", "[::1]"];

/**
 * Decides whether a request is answered.
 *
 * - Its `Host` must be a name of this server: a name that an attacker has pointed at this machine (DNS rebinding) is not.
 * - No other page may ask: `Sec-Fetch-Site` and `Origin`, where a browser sends them, must be of the dashboard itself.
 * - What changes something must be a POST of JSON with a header that no form and no plain fetch of another page can send.
 * - Where a token is required it must be in the cookie, or in the address of the first page.
 */
export function refusal(request: IncomingMessage, guard: Guard): Refusal | undefined {
  const { method = "GET", headers } = request;
  const host = headers.host ?? "";
  if (!isOwnHost(host, guard)) return { status: 421, reason: `This server does not answer to the name "${host.slice(0, 80)}".` };
  const site = headers["sec-fetch-site"];
  const navigates = headers["sec-fetch-mode"] === "navigate" && method === "GET";
  if (site !== undefined && site !== "same-origin" && site !== "none" && !(navigates && !isApi(request)))
    return { status: 403, reason: "Other pages may not ask the dashboard." };
  if (headers.origin !== undefined && headers.origin !== `http://${host}`)
    return { status: 403, reason: "Other origins may not ask the dashboard." };
  if (method !== "GET" && method !== "POST") return { status: 405, reason: "Only GET and POST are known." };
  if (method === "POST" && (headers["x-retrograde"] === undefined || headers["content-type"] !== "application/json"))
    return { status: 403, reason: "Writes are JSON with the header x-retrograde." };
  if (guard.token !== undefined && !hasToken(request, guard.token))
    return {
      status: 401,
      reason: "This dashboard needs the token that was printed where it was started: open the address with ?token=.",
    };
  return undefined;
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
  const query = new URL(request.url ?? "/", "http://x").searchParams.get("token");
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
