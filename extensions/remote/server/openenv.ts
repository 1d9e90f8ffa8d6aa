import { randomUUID } from "node:crypto";
import type { WebSocket } from "ws";
import { z } from "zod";
import { door } from "../../../src/core/door.ts";
import { reasonOf } from "../../../src/core/errors.ts";
import { withPackage } from "../../../src/core/optional-package.ts";
import { guard, requireKeys } from "../../http/access.ts";
import { parseBody } from "../../http/body.ts";
import { HttpError } from "../../http/http-error.ts";
import { type HttpRequest, type Reply, startHttp } from "../../http/server.ts";
import { OpenenvServerSession } from "./openenv-session.ts";
import { failure, openapi, readRpc, rpcError, rpcResult, schemas } from "./openenv-wire.ts";
import { Sessions } from "./sessions.ts";
import type { EnvironmentServerOptions, RunningEnvironmentServer } from "./settings.ts";
import { taskRoute } from "./tasks.ts";

/**
 * Serves an environment over OpenEnv 0.10: the WebSocket `/ws` for episodes, MCP over HTTP with sessions, and the routes that describe it.
 * @throws ConfigError if the port is taken, or other machines reach it without a key, or `ws` is not installed
 */
export async function serveOpenenv(options: EnvironmentServerOptions): Promise<RunningEnvironmentServer> {
  requireKeys(options, "play its episodes");
  const { WebSocketServer } = await withPackage("ws", "environments served over OpenEnv", () => import("ws"));
  const host = new OpenenvHost(options);
  const sockets = new WebSocketServer({ noServer: true, maxPayload: options.maxBytes, perMessageDeflate: false });
  const server = await startHttp({
    ...{ host: options.host, port: options.port, limits: options },
    guard: (request) => guard(request, options),
    route: (request) => host.route(request),
    upgrade: (request, { path, query }, socket, head) => {
      if (path !== "/ws") throw new HttpError(404, "route", path, { expected: "/ws" });
      sockets.handleUpgrade(request, socket, head, (webSocket) => host.talk(webSocket, query.get("session_id")));
    },
  });
  return {
    baseUrl: server.baseUrl,
    sessions: () => host.sessions.size,
    close: async () => {
      for (const socket of sockets.clients) socket.terminate();
      await server.close();
      await host.sessions.close();
    },
  };
}

const environmentName = (name: string) => name.replaceAll("/", "_");

/** Messages of one WebSocket that wait for their answers. */
const maxUnanswered = 16;

class OpenenvHost {
  readonly #options: EnvironmentServerOptions;
  readonly sessions: Sessions<OpenenvServerSession>;
  readonly #attached = new Set<string>();
  readonly #closers = new Map<string, () => void>();

  constructor(options: EnvironmentServerOptions) {
    this.#options = options;
    this.sessions = new Sessions(options.sessionMs, (id, session) => {
      this.#closers.get(id)?.();
      this.#closers.delete(id);
      return session.close();
    });
  }

  /** Plays the session of one WebSocket: its own, or one that was made over HTTP and is asked for by its id. */
  talk(socket: WebSocket, sessionId: string | null): void {
    // A frame that is malformed or too large closes the socket; its error has been sent to the client.
    socket.on("error", () => {});
    const write = (message: object) => socket.send(JSON.stringify(message));
    const session = sessionId === null ? this.#create() : this.sessions.get(sessionId);
    if (session === undefined || (sessionId !== null && this.#attached.has(sessionId))) {
      const { sessions: most } = this.#options;
      const text = `${this.sessions.size} of ${most} sessions are open`;
      write(
        sessionId === null
          ? failure("CAPACITY_REACHED", text, { active_sessions: this.sessions.size, max_sessions: most })
          : failure(
              "SESSION_ERROR",
              session === undefined ? `Unknown session_id: ${sessionId}` : `Session ${sessionId} already has a WebSocket`,
            ),
      );
      socket.close();
      return;
    }
    if (sessionId !== null) this.#attached.add(sessionId);
    let unanswered = 0;
    socket.on("message", async (data) => {
      // Who sends faster than it is answered, or reads no answers, waits: nothing is read from it meanwhile.
      if (++unanswered === maxUnanswered) socket.pause();
      const answer = await session.answer(String(data));
      if (answer === undefined) socket.close();
      else if (socket.readyState === socket.OPEN) await new Promise((sent) => socket.send(JSON.stringify(answer), sent));
      if (--unanswered < maxUnanswered) socket.resume();
      if (!this.sessions.has(session.id)) socket.close();
    });
    socket.on("close", () => {
      if (sessionId === null) void this.sessions.remove(session.id);
      else this.#attached.delete(sessionId);
    });
    this.#closers.set(session.id, () => socket.close(1001, "idle session"));
  }

  async route(request: HttpRequest): Promise<Reply> {
    const { environment } = this.#options;
    const { method, path, parts, body } = request;
    const name = environmentName(environment.name);
    if (method === "GET") {
      if (path === "/health") return { json: { status: "healthy" } };
      if (path === "/schema") return { json: schemas };
      if (path === "/openapi.json") return { json: openapi(name) };
      if (path === "/list_environments") return { json: [name] };
      if (path === "/metadata")
        return { json: { name, description: `The environment ${environment.name} of Retrograde.`, version: "1" } };
      if (path === "/state") return { json: { episode_id: null, step_count: 0 } };
    }
    if (method === "POST" && path === "/mcp") return { json: await this.#mcp(await body()) };
    if (method === "POST" && (path === "/reset" || path === "/step")) return { json: await this.#once(path, await body()) };
    const [first, route] = parts;
    if (first?.toLowerCase() === name.toLowerCase() && route !== undefined) {
      const reply = await taskRoute(environment, name, route, request);
      if (reply !== undefined) return reply;
    }
    throw new HttpError(404, "route", `${method} ${path}`, { expected: "one of OpenEnv's interface" });
  }

  /** The stateless routes: an episode for one request, which is what OpenEnv's own server does. */
  async #once(path: string, body: Buffer): Promise<object> {
    const session = new OpenenvServerSession(randomUUID(), this.#options);
    try {
      const message =
        path === "/reset"
          ? { type: "reset", data: parseBody(body, z.record(z.string(), z.unknown())) }
          : { type: "step", data: parseBody(body, stepSchema).action };
      const answer = (await session.answer(JSON.stringify(message))) as {
        type: string;
        data: { message?: string; code?: string };
      };
      if (answer.type !== "error") return answer.data;
      throw new HttpError(answer.data.code === "VALIDATION_ERROR" ? 422 : 500, path, answer.data.message);
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
    const read = readRpc(value);
    if ("refusal" in read) return read.refusal;
    const { rpc } = read;
    const id = rpc.params.session_id;
    if (rpc.method === "openenv/session/create") {
      const session = this.#create();
      if (session === undefined)
        return rpcError(rpc, "server", `${this.sessions.size} of ${this.#options.sessions} sessions are open`);
      return rpcResult(rpc, { session_id: session.id });
    }
    const session = typeof id === "string" ? this.sessions.get(id) : undefined;
    if (typeof id === "string" && session === undefined) return rpcError(rpc, "params", `Unknown session_id: ${id}`);
    if (rpc.method === "openenv/session/close") {
      if (session === undefined) return rpcError(rpc, "params", "Invalid params - 'session_id' is required");
      await this.sessions.remove(session.id);
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
    if (this.sessions.size >= this.#options.sessions) return undefined;
    const session = new OpenenvServerSession(randomUUID(), this.#options);
    this.sessions.set(session.id, session);
    return session;
  }
}

/** A reset's body is read behind it. Times of steps are limited here as elsewhere. */
const stepSchema = door(
  "a step by HTTP asked of us in OpenEnv",
  { action: z.record(z.string(), z.unknown()).default({}) },
  { ignores: ["timeout_s", "request_id"] },
);
