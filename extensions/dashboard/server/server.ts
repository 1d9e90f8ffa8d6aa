import { randomBytes } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { extname, join } from "node:path";
import { ConfigError } from "../../../src/core/errors.ts";
import { packageFolder } from "../../../src/files/package-folder.ts";
import { isLoopback } from "../../http/access.ts";
import { type HttpRequest, type Reply, startHttp } from "../../http/server.ts";
import { type Guard, requireOwn, tokenCookie } from "./guard.ts";
import { NotFound, pageHeaders, problem } from "./http.ts";
import { runEvents } from "./live-events.ts";
import { routes, runOf } from "./routes.ts";
import { RunSources } from "./run-source.ts";

export interface DashboardOptions {
  /** A folder of runs, or the folder of one. */
  readonly runs: string;
  /** Default 127.0.0.1. Any other than this machine's own makes a token necessary. */
  readonly host?: string;
  /** Default 4747. 0 for any that is free. */
  readonly port?: number;
}

export interface Dashboard {
  /** To be opened, with the token where one is needed. */
  readonly url: string;
  close(): Promise<void>;
}

export const defaultPort = 4747;

/**
 * Starts the dashboard's server. It reads runs and leaves requests for their trainers; it trains nothing.
 * @throws ConfigError where the port is taken, or the page was not built
 */
export async function startDashboard({ runs, host = "127.0.0.1", port = defaultPort }: DashboardOptions): Promise<Dashboard> {
  const page = readPage();
  const sources = new RunSources(runs);
  const token = isLoopback(host) ? undefined : randomBytes(24).toString("base64url");
  let guard: Guard = { host, port, token };
  const server = await startHttp({
    ...{ host, port, headers: pageHeaders, problem, limits: { maxBytes: largestBody } },
    guard: (request) => requireOwn(request, guard),
    route: (request) => route(request, guard, sources, page),
  });
  const listening = Number(new URL(server.baseUrl).port);
  guard = { ...guard, port: listening };
  const shown = host.includes(":") ? `[${host}]` : host;
  return { url: `http://${shown}:${listening}/${token === undefined ? "" : `?token=${token}`}`, close: server.close };
}

/** The largest body of a question, in bytes: the page sends small ones. */
const largestBody = 64 * 1024;

async function route(
  request: HttpRequest,
  { token }: Guard,
  runs: RunSources,
  page: ReadonlyMap<string, Uint8Array>,
): Promise<Reply> {
  const reply = await replyOf(request, runs, page);
  if (token === undefined || request.query.get("token") !== token) return reply;
  const cookie = `${tokenCookie}=${token}; HttpOnly; SameSite=Strict; Path=/`;
  return { ...reply, headers: { ...reply.headers, "set-cookie": cookie } };
}

async function replyOf(request: HttpRequest, runs: RunSources, page: ReadonlyMap<string, Uint8Array>): Promise<Reply> {
  const { method, path, query } = request;
  if (path === "/api/run/events") return runEvents(runOf(runs, query), Number(query.get("steps")) || 0, request.signal);
  const answer = routes[`${method} ${path}`];
  if (answer !== undefined) return { json: await answer(runs, query, request) };
  const name = path === "/" ? "index.html" : path.slice(1);
  const bytes = page.get(name);
  if (bytes === undefined || method !== "GET") throw new NotFound("There is nothing here.");
  const type = types[extname(name)] ?? "application/octet-stream";
  return { bytes, type, ...(name.startsWith("assets/") && { headers: { "cache-control": "max-age=31536000, immutable" } }) };
}

const types: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".woff2": "font/woff2",
};

/** The page's files, by their names: a request is looked up among them and never becomes a path. */
function readPage(): ReadonlyMap<string, Uint8Array> {
  const folder = join(packageFolder, "dist/dashboard");
  if (!existsSync(join(folder, "index.html")))
    throw new ConfigError("dashboard", "not built", { expected: folder, hint: "Build it: npm run build" });
  return new Map(
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .map((path) => [path.slice(folder.length + 1).replaceAll("\\", "/"), readFileSync(path)]),
  );
}
