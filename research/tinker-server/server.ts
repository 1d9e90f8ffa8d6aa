import { guard, requireKeys } from "../../extensions/http/access.ts";
import { HttpError } from "../../extensions/http/http-error.ts";
import {
  type HttpLimits,
  type HttpRequest,
  type HttpService,
  type Reply,
  type RunningHttp,
  startHttp,
} from "../../extensions/http/server.ts";
import { hasLength } from "../../src/core/present.ts";
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
  /** Limits of connections and requests. */
  readonly http?: Partial<HttpLimits>;
  /** Called for each request that was answered. */
  readonly log?: HttpService["log"];
}

/** Its `baseUrl` is the one that clients are given. */
export type RunningServer = RunningHttp;

/**
 * Serves Tinker's interface over the engines of `models`.
 * @throws ConfigError for a server that other machines reach without a key
 */
export async function startTinkerServer(options: ServerOptions): Promise<RunningServer> {
  const { host = "127.0.0.1", port, keys } = options;
  requireKeys({ host, keys }, "train and sample");
  const service = new Service(options);
  const server = await startHttp({
    ...{ host, port, log: options.log },
    limits: { maxBytes: 2 ** 26, ...options.http },
    keepAliveMs: 75_000,
    guard: (request) => guard(request, { host, keys }),
    route: (request) => route(service, request),
  }).catch(async (error: unknown) => {
    await service.close();
    throw error;
  });
  const close = async () => {
    await server.close();
    await service.close();
  };
  return { ...server, close };
}

async function route(service: Service, { method, path, parts: whole, headers, body }: HttpRequest): Promise<Reply> {
  const [api, version, ...parts] = whole;
  const unknown = () => new HttpError(404, "route", `${method} ${path}`, { expected: "one of Tinker's interface" });
  if (api !== "api" || version !== "v1") throw unknown();
  if (method === "GET") {
    const reply = await read(service, parts);
    if (reply !== undefined) return reply;
  }
  if (method === "DELETE") {
    const reply = await remove(service, parts);
    if (reply !== undefined) return reply;
  }
  if (method === "POST" && hasLength(parts, 3) && parts[0] === "sessions" && parts[2] === "finish") {
    service.sessions.find(parts[1]);
    await service.sessions.end(parts[1]);
    return { json: {} };
  }
  const name = parts.join("/");
  const post = method === "POST" && Object.hasOwn(postRoutes, name) ? postRoutes[name] : undefined;
  if (post === undefined) throw unknown();
  return post(service, { body: await body(), contentType: headers["content-type"] ?? "" });
}
