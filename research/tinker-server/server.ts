import { guard } from "../../extensions/http/access.ts";
import { HttpError } from "../../extensions/http/http-error.ts";
import { type HttpRequest, type Reply, type RunningHttp, startHttp } from "../../extensions/http/server.ts";
import { deleteRoute, getRoute, postRoutes } from "./routes.ts";
import { Service, type ServiceOptions } from "./service.ts";

export interface ServerOptions extends ServiceOptions {
  /** 0 takes any free one. */
  readonly port: number;
}

/** Its `baseUrl` is the one that clients are given. */
export type RunningServer = RunningHttp;

const host = "127.0.0.1";
const maxBytes = 2 ** 26;

/** Serves Tinker's interface over the engines of `models`, to programs of this machine. */
export async function startTinkerServer(options: ServerOptions): Promise<RunningServer> {
  const service = new Service(options);
  const server = await startHttp({
    ...{ host, port: options.port, limits: { maxBytes }, keepAliveMs: 75_000 },
    guard: (request) => guard(request, { host, keys: [] }),
    route: (request) => route(service, request),
  });
  const close = async () => {
    await server.close();
    await service.close();
  };
  return { ...server, close };
}

async function route(service: Service, { method, path, parts, headers, body }: HttpRequest): Promise<Reply> {
  const [api, version, ...rest] = parts;
  const reply = api === "api" && version === "v1" ? await answer() : undefined;
  if (reply !== undefined) return reply;
  throw new HttpError(404, "route", `${method} ${path}`, { expected: "one of Tinker's interface" });

  async function answer(): Promise<Reply | undefined> {
    if (method === "GET") return getRoute(service, rest);
    if (method === "DELETE") return deleteRoute(service, rest);
    const name = rest.join("/");
    const post = method === "POST" && Object.hasOwn(postRoutes, name) ? postRoutes[name] : undefined;
    return post?.(service, { body: await body(), contentType: headers["content-type"] ?? "" });
  }
}
