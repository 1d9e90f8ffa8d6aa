import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { ConfigError } from "../../core/errors.ts";
import { hasKey, isLoopback, readBody, send, sendError } from "./http.ts";
import { read, remove } from "./reads.ts";
import { Refusal } from "./refusal.ts";
import { postRoutes } from "./routes.ts";
import { Service, type ServiceOptions } from "./service.ts";

export interface ServerOptions extends ServiceOptions {
  /** Default 127.0.0.1: only this machine. */
  readonly host?: string;
  /** 0 takes any free one. */
  readonly port: number;
  /** Keys of clients. Without one everybody who reaches the server may ask, so that is refused beyond this machine. */
  readonly keys: readonly string[];
  /** Called for each request that was answered. */
  readonly log?: (entry: {
    readonly method: string;
    readonly path: string;
    readonly status: number;
    readonly ms: number;
  }) => void;
}

export interface RunningServer {
  /** What clients are given as their base URL. */
  readonly baseUrl: string;
  close(): Promise<void>;
}

/** Longest that the rest of a body that is too large is read, so that the client sees why it was refused. */
const drainMs = 10_000;

/**
 * Serves Tinker's interface over the engines of `models`.
 * @throws ConfigError for a server that other machines reach without a key
 */
export async function startTinkerServer(options: ServerOptions): Promise<RunningServer> {
  const { host = "127.0.0.1", port, keys } = options;
  if (keys.length === 0 && !isLoopback(host)) {
    const hint = "Give --key, or set RETROGRADE_SERVER_KEY: whoever reaches the server could train and sample.";
    throw new ConfigError("keys of the server", "none", {
      expected: `one, because ${host} is reached from other machines`,
      hint,
    });
  }
  const service = new Service(options);
  const server = createServer((request, response) => void answer(service, options, request, response));
  server.keepAliveTimeout = 75_000;
  try {
    await listen(server, host, port);
  } catch (cause) {
    await service.close();
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new ConfigError("--port", port, { expected: "a free port", hint: reason, cause });
  }
  const address = server.address() as AddressInfo;
  const name = address.family === "IPv6" ? `[${address.address}]` : address.address;
  return {
    baseUrl: `http://${name}:${address.port}`,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await service.close();
    },
  };
}

async function answer(
  service: Service,
  options: ServerOptions,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const start = performance.now();
  const path = (request.url ?? "/").split("?")[0];
  response.on("close", () => {
    options.log?.({ method: request.method ?? "", path, status: response.statusCode, ms: performance.now() - start });
  });
  try {
    guard(request, options);
    send(response, await route(service, options, request, path));
  } catch (error) {
    if (!request.complete) response.setHeader("connection", "close");
    sendError(response, error);
    drain(request);
  }
}

/** @throws Refusal for requests of other pages' scripts, under foreign names, and without a key */
function guard(request: IncomingMessage, { host = "127.0.0.1", keys }: ServerOptions): void {
  const { origin, host: named = "" } = request.headers;
  if (origin !== undefined) throw new Refusal(403, "origin", origin, { expected: "a client, not a web page" });
  // A name that someone else pointed at this machine would let a web page reach it.
  if (isLoopback(host) && !isLoopback(named.replace(/:\d+$/, "").replace(/^\[|\]$/g, "")))
    throw new Refusal(421, "host", named, { expected: "localhost" });
  if (!hasKey(request, keys)) throw new Refusal(401, "X-API-Key", "[hidden]", { expected: "a key of this server" });
}

async function route(service: Service, options: ServerOptions, request: IncomingMessage, path: string) {
  const prefix = "/api/v1/";
  const inside = path.startsWith(prefix) ? path.slice(prefix.length) : undefined;
  const unknown = new Refusal(404, "route", `${request.method} ${path}`, { expected: "one of Tinker's interface" });
  if (inside === undefined) throw unknown;
  const parts = inside.split("/").map(decodePart);
  if (request.method === "GET") {
    const reply = await read(service, parts);
    if (reply !== undefined) return reply;
  }
  if (request.method === "DELETE") {
    const reply = await remove(service, parts);
    if (reply !== undefined) return reply;
  }
  if (request.method === "POST" && parts.length === 3 && parts[0] === "sessions" && parts[2] === "finish") {
    service.sessions.find(parts[1]);
    await service.sessions.end(parts[1]);
    return { json: {} };
  }
  const post = request.method === "POST" && Object.hasOwn(postRoutes, inside) ? postRoutes[inside] : undefined;
  if (post === undefined) throw unknown;
  const body = await readBody(request, options.limits.body);
  return post(service, { body, contentType: request.headers["content-type"] ?? "" });
}

function decodePart(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch (cause) {
    throw new Refusal(422, "address", part, { cause });
  }
}

/** Reads what is left of a body and forgets it, for a while. */
function drain(request: IncomingMessage): void {
  if (request.complete) return;
  const timer = setTimeout(() => request.destroy(), drainMs);
  request.on("close", () => clearTimeout(timer));
  request.resume();
}

function listen(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, () => {
      server.off("error", reject);
      resolve();
    });
  });
}
