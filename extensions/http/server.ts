import { createServer, type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex, Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { ConfigError, reasonOf } from "../../src/core/errors.ts";
import { present } from "../../src/core/present.ts";
import { isLoopback } from "./access.ts";
import { readBody } from "./body.ts";
import { HttpError } from "./http-error.ts";
import { Places } from "./places.ts";

/** Limits that every server of the package has. */
export interface HttpLimits {
  /** Open connections. A further one gets the place of one without a request in work, and is closed at once if there is none. */
  readonly connections: number;
  /** Time in which a request must have arrived, in milliseconds. */
  readonly requestMs: number;
  /** Largest body of a request, in bytes. */
  readonly maxBytes: number;
}

/** Time in which the head of a request from another machine must have arrived, and between two looks at it. */
const [headMs, lookMs] = [10_000, 1000];

/**
 * Time for the head of a request. On this machine that of the request: an agent may share the server's process, and where it keeps it busy for long,
 * as tokenizers that are built do, heads that have arrived are looked at too late.
 */
export function headLimit(host: string, requestMs: number): number {
  return isLoopback(host) ? requestMs : Math.min(headMs, requestMs);
}

export const httpDefaults = {
  connections: 1024,
  requestMs: 300_000,
  maxBytes: 16 * 2 ** 20,
} as const satisfies HttpLimits;

/** A request, as routes see it. */
export interface HttpRequest {
  readonly method: string;
  /** As it was sent. */
  readonly url: string;
  /** Its path without the query, each part decoded. "/a/b" has the parts "a" and "b". */
  readonly path: string;
  readonly parts: readonly string[];
  readonly query: URLSearchParams;
  readonly headers: IncomingMessage["headers"];
  /** Aborted when nobody waits for the answer any more. */
  readonly signal: AbortSignal;
  /** @throws HttpError beyond `HttpLimits.maxBytes` */
  body(): Promise<Buffer>;
}

type Headers = Readonly<Record<string, string>>;

/** The answer of a route. */
export type Reply = { readonly headers?: Headers } & (
  | { readonly status?: number; readonly json: unknown }
  | { readonly bytes: Uint8Array; readonly type: string }
  | { readonly location: string }
  | { readonly status: 204 }
  /** The answer of another server, as it comes. */
  | { readonly status: number; readonly stream: Readable }
  /** Server-sent events, as `write` is given their text. The stream ends with the promise. */
  | { readonly events: (write: (text: string) => void) => Promise<void> }
);

export interface HttpService {
  readonly host: string;
  /** 0 takes any free one. */
  readonly port: number;
  /** Default `httpDefaults`. */
  readonly limits?: Partial<HttpLimits>;
  /** How long a connection without a request is kept, in milliseconds. Default Node's. */
  readonly keepAliveMs?: number;
  /** True for a server that does not keep the process alive. */
  readonly background?: boolean;
  readonly headers?: Headers;
  /** @throws HttpError for a request that may not be made. It holds for upgrades too. */
  guard(request: IncomingMessage): void;
  route(request: HttpRequest): Reply | Promise<Reply>;
  /** Answers a request to speak another protocol. Without it such a request is like any other. @throws HttpError */
  upgrade?(request: IncomingMessage, target: Target, socket: Duplex, head: Buffer): void;
  /** The body of an error's answer to a request for a path. Default Tinker's: `{ detail }`. */
  problem?(error: unknown, path: string): { readonly status: number; readonly json: object };
  log?(entry: { readonly method: string; readonly path: string; readonly status: number; readonly ms: number }): void;
}

export interface RunningHttp {
  readonly baseUrl: string;
  close(): Promise<void>;
}

type Target = Pick<HttpRequest, "path" | "parts" | "query">;

/** A request that a server got, in which Node sets both. */
type Arrived = IncomingMessage & { readonly method: string; readonly url: string };

/**
 * Starts a server. No request, upgrade or broken connection can end its process: what `guard`, `route` and `upgrade` throw is an answer, and
 * the errors of all sockets are handled here.
 * @throws ConfigError if the port is taken
 */
export async function startHttp(service: HttpService): Promise<RunningHttp> {
  const { host, port, limits = {}, keepAliveMs, background = false, upgrade } = service;
  const { connections = httpDefaults.connections, requestMs: requestTimeout = httpDefaults.requestMs } = limits;
  const timeouts = { requestTimeout, headersTimeout: headLimit(host, requestTimeout), connectionsCheckingInterval: lookMs };
  const server = createServer(timeouts, (request, response) => void answer(service, places, request as Arrived, response));
  const places = new Places(server, connections);
  if (keepAliveMs !== undefined) server.keepAliveTimeout = keepAliveMs;
  if (upgrade !== undefined)
    server.on("upgrade", (request, socket, head) => {
      socket.on("error", () => socket.destroy());
      try {
        service.guard(request);
        places.letIn(request);
        places.begin(request);
        upgrade(request, targetOf(request as Arrived), socket, head);
      } catch (error) {
        const { status } = (service.problem ?? problemOf)(error, pathOf(request as Arrived));
        const head = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`;
        socket.end(head, () => socket.destroy());
      }
    });
  if (background) server.on("connection", (socket) => socket.unref());
  const baseUrl = await listen(server, host, port);
  if (background) server.unref();
  return {
    baseUrl,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function answer(service: HttpService, places: Places, request: Arrived, response: ServerResponse): Promise<void> {
  const { limits = {}, headers: always, log, problem = problemOf } = service;
  const start = performance.now();
  const gone = new AbortController();
  const { method, url, headers } = request;
  let end = () => {};
  response.on("close", () => {
    gone.abort();
    end();
    log?.({ method, path: pathOf(request), status: response.statusCode, ms: performance.now() - start });
  });
  response.on("error", () => {}); // the client is gone
  try {
    service.guard(request);
    places.letIn(request);
    const begin = () => {
      end = places.begin(request);
    };
    if (hasBody(request)) request.once("end", begin);
    else begin();
    const body = () => readBody(request, limits.maxBytes ?? httpDefaults.maxBytes);
    const incoming = { method, url, ...targetOf(request), headers, signal: gone.signal, body };
    await send(response, await service.route(incoming), always);
  } catch (error) {
    if (response.headersSent) response.end();
    else {
      const { retryAfter } = error instanceof HttpError ? error : {};
      if (retryAfter !== undefined) response.setHeader("retry-after", String(retryAfter));
      await send(response, problem(error, pathOf(request)), always);
    }
    drain(request);
  }
}

async function send(response: ServerResponse, reply: Reply, always: Headers = {}): Promise<void> {
  const begin = (status: number, own: Headers = {}) =>
    response.writeHead(status, { "x-content-type-options": "nosniff", ...always, ...own, ...reply.headers });
  if ("json" in reply) begin(reply.status ?? 200, { "content-type": "application/json" }).end(JSON.stringify(reply.json));
  else if ("location" in reply) begin(302, { location: reply.location }).end();
  else if ("bytes" in reply) begin(200, { "content-type": reply.type }).end(reply.bytes);
  else if ("events" in reply) {
    begin(200, { "content-type": "text/event-stream", "cache-control": "no-cache", "x-accel-buffering": "no" });
    await reply.events((text) => void response.write(text));
    response.end();
  } else if ("stream" in reply) await pipeline(reply.stream, begin(reply.status));
  else begin(reply.status).end();
}

/** An error as Tinker's servers write it. What is no refusal is the server's own fault. */
function problemOf(error: unknown): { readonly status: number; readonly json: object } {
  return error instanceof HttpError
    ? { status: error.status, json: { detail: error.message } }
    : { status: 500, json: { detail: reasonOf(error) } };
}

/** A body that is still arriving takes no place. */
function hasBody({ headers }: IncomingMessage): boolean {
  return headers["transfer-encoding"] !== undefined || Number(headers["content-length"]) > 0;
}

function pathOf({ url }: Pick<Arrived, "url">): string {
  return present(url.split("?", 1)[0], "a path");
}

/** @throws HttpError (400) for a path that is not in UTF-8 */
function targetOf({ url }: Arrived): Target {
  const [path, query] = [pathOf({ url }), url.slice(url.indexOf("?") + 1 || url.length)];
  try {
    const parts = path.split("/").slice(1).map(decodeURIComponent);
    return { path: `/${parts.join("/")}`, parts, query: new URLSearchParams(query) };
  } catch (cause) {
    throw new HttpError(400, "path of the request", path, { expected: "percent-encoded UTF-8", cause });
  }
}

/** @returns the address for clients. @throws ConfigError if the port is taken */
async function listen(server: Server, host: string, port: number): Promise<string> {
  try {
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen(port, host, () => {
        server.off("error", reject);
        resolve();
      });
    });
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    throw ["EADDRNOTAVAIL", "ENOTFOUND", "EAI_AGAIN"].includes(code ?? "")
      ? new ConfigError("--host", host, { expected: "an address of this machine", cause })
      : new ConfigError("--port", port, { expected: "a free port", hint: reasonOf(cause), cause });
  }
  server.on("error", () => {}); // a connection that could not be accepted, as without free descriptors
  const address = server.address() as AddressInfo;
  const name = address.family === "IPv6" ? `[${address.address}]` : address.address;
  return `http://${name}:${address.port}`;
}

/** Longest that the rest of a body that is too large is read, so that the client sees why it was refused. */
const drainMs = 10_000;

/** Reads what is left of a body and forgets it, for a while. A connection that were closed at once would take the answer with it. */
function drain(request: IncomingMessage): void {
  if (request.complete) return;
  const timer = setTimeout(() => request.destroy(), drainMs);
  request.on("close", () => clearTimeout(timer));
  request.resume();
}
