import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { readBody } from "../../../src/http/http.ts";
import { answer, listen, requireKeys } from "../../../src/http/listen.ts";
import { Refusal } from "../../../src/http/refusal.ts";
import { read, remove } from "./reads.ts";
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
  /** The base URL that clients are given. */
  readonly baseUrl: string;
  close(): Promise<void>;
}

/**
 * Serves Tinker's interface over the engines of `models`.
 * @throws ConfigError for a server that other machines reach without a key
 */
export async function startTinkerServer(options: ServerOptions): Promise<RunningServer> {
  const { host = "127.0.0.1", port, keys } = options;
  requireKeys({ host, keys }, "train and sample");
  const service = new Service(options);
  const server = createServer((request, response) => void answerLogged(service, options, request, response));
  server.keepAliveTimeout = 75_000;
  const baseUrl = await listen(server, host, port).catch(async (error: unknown) => {
    await service.close();
    throw error;
  });
  return {
    baseUrl,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await service.close();
    },
  };
}

async function answerLogged(
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
  const access = { host: options.host ?? "127.0.0.1", keys: options.keys };
  await answer(request, response, access, () => route(service, options, request, path));
}

async function route(service: Service, options: ServerOptions, request: IncomingMessage, path: string) {
  const prefix = "/api/v1/";
  const inside = path.startsWith(prefix) ? path.slice(prefix.length) : undefined;
  const unknown = () => new Refusal(404, "route", `${request.method} ${path}`, { expected: "one of Tinker's interface" });
  if (inside === undefined) throw unknown();
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
  if (post === undefined) throw unknown();
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
