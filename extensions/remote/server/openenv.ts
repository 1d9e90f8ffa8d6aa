import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { type WebSocket, WebSocketServer } from "ws";
import { z } from "zod";
import { reasonOf } from "../../../src/core/errors.ts";
import { type Reply, readBody } from "../../../src/http/http.ts";
import { answer, guard, listen, requireKeys } from "../../../src/http/listen.ts";
import { Refusal } from "../../../src/http/refusal.ts";
import { OpenenvServerSession } from "./openenv-session.ts";
import { failure, rpcError, rpcResult, rpcSchema, schemas } from "./openenv-wire.ts";
import type { EnvironmentServerOptions, RunningEnvironmentServer } from "./settings.ts";
import { taskRoute } from "./tasks.ts";

/**
 * Serves an environment over OpenEnv 0.10: the WebSocket `/ws` for episodes, MCP over HTTP with sessions, and the routes that describe it.
 * @throws ConfigError if the port is taken, or other machines reach it without a key
 */
export async function serveOpenenv(options: EnvironmentServerOptions): Promise<RunningEnvironmentServer> {
  requireKeys(options, "play its episodes");
  const host = new OpenenvHost(options);
  const server = createServer((request, response) => void host.answer(request, response));
  const sockets = new WebSocketServer({ noServer: true, maxPayload: options.maxBytes, perMessageDeflate: false });
  server.on("upgrade", (request, socket, head) => {
    try {
      guard(request, options);
    } catch (error) {
      const { status } = error as Refusal;
      return void socket.end(`HTTP/1.1 ${status} ${reasonOf(error)}\r\nconnection: close\r\n\r\n`);
    }
    if (new URL(request.url ?? "/", "http://x").pathname !== "/ws") return void socket.end("HTTP/1.1 404 Not Found\r\n\r\n");
    sockets.handleUpgrade(request, socket, head, (webSocket) => void host.talk(webSocket, request));
  });
  const baseUrl = await listen(server, options.host, options.port);
  return {
    baseUrl,
    sessions: () => host.size,
    close: async () => {
      for (const socket of sockets.clients) socket.terminate();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await host.close();
    },
  };
}

const environmentName = (name: string) => name.replaceAll("/", "_");

class OpenenvHost {
  readonly #options: EnvironmentServerOptions;
  readonly #sessions = new Map<string, OpenenvServerSession>();
  readonly #attached = new Set<string>();
  readonly #reaper: NodeJS.Timeout;

  constructor(options: EnvironmentServerOptions) {
    this.#options = options;
    this.#reaper = setInterval(() => this.#reap(), Math.max(50, options.sessionMs / 4));
    this.#reaper.unref();
  }

  get size(): number {
    return this.#sessions.size;
  }

  /** Plays the session of one WebSocket: its own, or one that was made over HTTP. */
  async talk(socket: WebSocket, request: IncomingMessage): Promise<void> {
    const write = (message: object) => socket.send(JSON.stringify(message));
    const asked = new URL(request.url ?? "/", "http://x").searchParams.get("session_id");
    const session = asked === null ? this.#create() : this.#sessions.get(asked);
    if (session === undefined || (asked !== null && this.#attached.has(asked))) {
      const { sessions: most } = this.#options;
      const text = `${this.size} of ${most} sessions are open`;
      write(
        asked === null
          ? failure("CAPACITY_REACHED", text, { active_sessions: this.size, max_sessions: most })
          : failure(
              "SESSION_ERROR",
              session === undefined ? `Unknown session_id: ${asked}` : `Session ${asked} already has a WebSocket`,
            ),
      );
      return socket.close();
    }
    if (asked !== null) this.#attached.add(asked);
    socket.on("message", async (data) => {
      const answer = await session.answer(String(data));
      if (answer === undefined) socket.close();
      else if (socket.readyState === socket.OPEN) write(answer);
      if (!this.#sessions.has(session.id)) socket.close();
    });
    // A message that is too large closes the socket; its error has been told to the client.
    socket.on("error", () => {});
    socket.on("close", () => {
      if (asked === null) void this.#remove(session);
      else this.#attached.delete(asked);
    });
    this.#closers.set(session.id, () => socket.close(1001, "idle session"));
  }

  readonly #closers = new Map<string, () => void>();

  answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    return answer(request, response, this.#options, () => this.#route(request));
  }

  async close(): Promise<void> {
    clearInterval(this.#reaper);
    await Promise.all([...this.#sessions.values()].map((session) => this.#remove(session)));
  }

  async #route(request: IncomingMessage): Promise<Reply> {
    const { environment } = this.#options;
    const method = request.method ?? "GET";
    const path = decodeURIComponent((request.url ?? "/").split("?")[0]);
    const body = () => readBody(request, this.#options.maxBytes);
    const name = environmentName(environment.name);
    if (method === "GET") {
      if (path === "/health") return { json: { status: "healthy" } };
      if (path === "/schema") return { json: schemas };
      if (path === "/list_environments") return { json: [name] };
      if (path === "/metadata")
        return { json: { name, description: `The environment ${environment.name} of Retrograde.`, version: "1" } };
      if (path === "/state") return { json: { episode_id: null, step_count: 0 } };
    }
    if (method === "POST" && path === "/mcp") return { json: await this.#mcp(await body()) };
    if (method === "POST" && (path === "/reset" || path === "/step")) return { json: await this.#once(path, await body()) };
    const [, first, route] = path.split("/");
    if (first?.toLowerCase() === name.toLowerCase() && route !== undefined) {
      const reply = await taskRoute(environment, name, method, route, body);
      if (reply !== undefined) return reply;
    }
    throw new Refusal(404, "route", `${method} ${path}`, { expected: "one of OpenEnv's interface" });
  }

  /** The stateless routes: an episode for one request, which is what OpenEnv's own server does. */
  async #once(path: string, body: Buffer): Promise<object> {
    const given = bodySchema.safeParse(body.length === 0 ? {} : JSON.parse(body.toString("utf8")));
    if (!given.success) throw new Refusal(422, "body", "not accepted", { expected: z.prettifyError(given.error) });
    const session = new OpenenvServerSession(randomUUID(), this.#options);
    try {
      const message = path === "/reset" ? { type: "reset", data: given.data } : { type: "step", data: given.data.action ?? {} };
      const answer = (await session.answer(JSON.stringify(message))) as {
        type: string;
        data: { message?: string; code?: string };
      };
      if (answer.type !== "error") return answer.data;
      throw new Refusal(answer.data.code === "VALIDATION_ERROR" ? 422 : 500, path, answer.data.message);
    } finally {
      await session.close();
    }
  }

  async #mcp(body: Buffer): Promise<object> {
    let value: unknown;
    try {
      value = JSON.parse(body.toString("utf8"));
    } catch (error) {
      return rpcError({ id: null }, "parse", reasonOf(error));
    }
    const parsed = rpcSchema.safeParse(value);
    if (!parsed.success) return rpcError({ id: null }, "request", z.prettifyError(parsed.error));
    const rpc = parsed.data;
    const id = rpc.params.session_id;
    if (rpc.method === "openenv/session/create") {
      const session = this.#create();
      if (session === undefined) return rpcError(rpc, "server", `${this.size} of ${this.#options.sessions} sessions are open`);
      return rpcResult(rpc, { session_id: session.id });
    }
    const session = typeof id === "string" ? this.#sessions.get(id) : undefined;
    if (typeof id === "string" && session === undefined) return rpcError(rpc, "params", `Unknown session_id: ${id}`);
    if (rpc.method === "openenv/session/close") {
      if (session === undefined) return rpcError(rpc, "params", "Invalid params - 'session_id' is required");
      await this.#remove(session);
      return rpcResult(rpc, { session_id: session.id, closed: true });
    }
    if (session !== undefined) return session.rpc(rpc);
    const once = new OpenenvServerSession(randomUUID(), this.#options);
    try {
      return await once.rpc(rpc);
    } finally {
      await once.close();
    }
  }

  /** @returns undefined if there is no place */
  #create(): OpenenvServerSession | undefined {
    if (this.size >= this.#options.sessions) return undefined;
    const session = new OpenenvServerSession(randomUUID(), this.#options);
    this.#sessions.set(session.id, session);
    return session;
  }

  async #remove(session: OpenenvServerSession): Promise<void> {
    if (!this.#sessions.delete(session.id)) return;
    this.#closers.get(session.id)?.();
    this.#closers.delete(session.id);
    await session.close();
  }

  #reap(): void {
    const limit = performance.now() - this.#options.sessionMs;
    for (const session of this.#sessions.values()) if (session.heardAt < limit) void this.#remove(session);
  }
}

const bodySchema = z.looseObject({ action: z.record(z.string(), z.unknown()).optional() });
