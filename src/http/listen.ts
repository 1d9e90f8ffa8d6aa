import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { ConfigError, reasonOf } from "../core/errors.ts";
import { hasKey, isLoopback, type Reply, send, sendError } from "./http.ts";
import { Refusal } from "./refusal.ts";

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

/** @throws Refusal for requests of other pages' scripts, under foreign names, and without a key */
export function guard(request: IncomingMessage, { host, keys }: Access): void {
  const { origin, host: named = "" } = request.headers;
  if (origin !== undefined) throw new Refusal(403, "origin", origin, { expected: "a client, not a web page" });
  // A name that someone else pointed at this machine would let a web page reach it.
  if (isLoopback(host) && !isLoopback(named.replace(/:\d+$/, "").replace(/^\[|\]$/g, "")))
    throw new Refusal(421, "host", named, { expected: "localhost" });
  if (!hasKey(request, keys)) throw new Refusal(401, "X-API-Key", "[hidden]", { expected: "a key of this server" });
}

/**
 * Answers a request of somebody who may ask: with what `route` gives, or with its error.
 * @param route returns undefined if it has answered
 */
export async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  access: Access,
  route: () => Promise<Reply | undefined>,
): Promise<void> {
  try {
    guard(request, access);
    const reply = await route();
    if (reply !== undefined) send(response, reply);
  } catch (error) {
    if (!request.complete) response.setHeader("connection", "close");
    sendError(response, error);
    drain(request);
  }
}

/** @returns the address for clients. @throws ConfigError if the port is taken */
export async function listen(server: Server, host: string, port: number): Promise<string> {
  try {
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen(port, host, () => {
        server.off("error", reject);
        resolve();
      });
    });
  } catch (cause) {
    const reason = reasonOf(cause);
    throw new ConfigError("--port", port, { expected: "a free port", hint: reason, cause });
  }
  const address = server.address() as AddressInfo;
  const name = address.family === "IPv6" ? `[${address.address}]` : address.address;
  return `http://${name}:${address.port}`;
}

/** Longest that the rest of a body that is too large is read, so that the client sees why it was refused. */
const drainMs = 10_000;

/** Reads what is left of a body and forgets it, for a while. */
function drain(request: IncomingMessage): void {
  if (request.complete) return;
  const timer = setTimeout(() => request.destroy(), drainMs);
  request.on("close", () => clearTimeout(timer));
  request.resume();
}
