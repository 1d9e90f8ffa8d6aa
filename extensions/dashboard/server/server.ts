import { randomBytes } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { dirname, extname, join, resolve } from "node:path";
import { ConfigError } from "../../../src/core/errors.ts";
import { packageFolder } from "../../../src/files/package-folder.ts";
import { isLoopback } from "../../../src/http/http.ts";
import { layout } from "../../../src/runs/layout.ts";
import { type Guard, refusal, tokenCookie } from "./guard.ts";
import { NotFound, send, sendError, sendJson } from "./http.ts";
import { streamRun } from "./live-events.ts";
import { Reports } from "./reports.ts";
import { type Api, routes } from "./routes.ts";
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
  const api: Api = {
    sources: new RunSources(runs),
    reports: new Reports(join(packageFolder, "docs"), besideRuns(resolve(runs))),
  };
  const token = isLoopback(host) ? undefined : randomBytes(24).toString("base64url");
  let guard: Guard = { host, port, token };
  const server = createServer((request, response) => {
    answer(request, response, guard, api, page).catch((error: unknown) => sendError(response, error));
  });
  await new Promise<void>((listening, failed) => {
    server.once("error", (cause) => failed(portError(port, host, cause)));
    server.listen(port, host, listening);
  });
  const address = server.address();
  guard = { ...guard, port: typeof address === "object" && address !== null ? address.port : port };
  const shown = host.includes(":") ? `[${host}]` : host;
  return {
    url: `http://${shown}:${guard.port}/${token === undefined ? "" : `?token=${token}`}`,
    close: () =>
      new Promise((closed) => {
        server.close(() => closed());
        server.closeAllConnections();
      }),
  };
}

/** The folder in which the folder of runs is. @param runs a folder of runs, or the folder of one */
function besideRuns(runs: string): string {
  return dirname(existsSync(layout.run(runs)) ? dirname(runs) : runs);
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  guard: Guard,
  api: Api,
  page: ReadonlyMap<string, Uint8Array>,
): Promise<void> {
  const refused = refusal(request, guard);
  if (refused !== undefined) {
    request.resume();
    return sendJson(response, { error: refused.reason }, refused.status);
  }
  const { pathname, searchParams } = new URL(request.url ?? "/", "http://dashboard");
  if (guard.token !== undefined && searchParams.get("token") === guard.token)
    response.setHeader("set-cookie", `${tokenCookie}=${guard.token}; HttpOnly; SameSite=Strict; Path=/`);
  if (pathname === "/api/run/events")
    return streamRun(response, runOf(api, searchParams), Number(searchParams.get("steps") ?? 0) || 0);
  if (pathname === "/api/report-picture") {
    const picture = api.reports.picture(searchParams.get("path") ?? "");
    if (picture === undefined) throw new NotFound("There is no such picture.");
    return send(response, 200, picture.type, picture.bytes);
  }
  const route = routes[`${request.method} ${pathname}`];
  if (route !== undefined) return sendJson(response, await route(api, searchParams, request));
  const name = pathname === "/" ? "index.html" : pathname.slice(1);
  const file = page.get(name);
  if (file === undefined || request.method !== "GET") throw new NotFound("There is nothing here.");
  const cache = name.startsWith("assets/") ? "max-age=31536000, immutable" : "no-store";
  send(response, 200, types[extname(name)] ?? "application/octet-stream", file, cache);
}

function runOf({ sources }: Api, query: URLSearchParams) {
  const source = sources.find(query.get("run") ?? "");
  if (source === undefined) throw new NotFound("There is no such run.");
  return source;
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

function portError(port: number, host: string, cause: NodeJS.ErrnoException): ConfigError {
  return cause.code === "EADDRINUSE"
    ? new ConfigError("--port", port, { expected: "a free port", hint: "Choose another one, or 0 for any.", cause })
    : new ConfigError("--host", host, { expected: "an address of this machine", cause });
}
