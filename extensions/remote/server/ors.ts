import { randomUUID } from "node:crypto";
import { z } from "zod";
import { door } from "../../../src/core/door.ts";
import { EnvError, reasonOf } from "../../../src/core/errors.ts";
import { splitWithTasks } from "../../../src/environments/environment.ts";
import { guard, requireKeys } from "../../http/access.ts";
import { parseBody } from "../../http/body.ts";
import { HttpError } from "../../http/http-error.ts";
import { type HttpRequest, type Reply, startHttp } from "../../http/server.ts";
import { messageBlockTypes, wireMessages } from "../ors/wire.ts";
import { HostedEpisode, type Outcome, type ShownTool, taskAt, toolList } from "./hosted.ts";
import { eventText, OrsCalls } from "./ors-calls.ts";
import { Sessions } from "./sessions.ts";
import type { EnvironmentServerOptions, RunningEnvironmentServer } from "./settings.ts";
import { taskRoute } from "./tasks.ts";

/**
 * Serves an environment over ORS, as ors-sdk 0.1 and openreward 0.1.167 speak it.
 * @throws ConfigError if the port is taken, or other machines reach it without a key
 */
export async function serveOrs(options: EnvironmentServerOptions): Promise<RunningEnvironmentServer> {
  requireKeys(options, "play its episodes");
  const host = new OrsHost(options);
  const server = await startHttp({
    ...{ host: options.host, port: options.port, limits: options },
    // As ORS's own server: clients reuse a connection for as long.
    keepAliveMs: 60_000,
    guard: (request) => guard(request, options),
    route: (request) => host.route(request),
  });
  return {
    baseUrl: server.baseUrl,
    sessions: () => host.sessions.size,
    close: async () => {
      await server.close();
      await host.sessions.close();
    },
  };
}

interface OrsServerSession {
  readonly episode: Promise<HostedEpisode>;
  /** When the client was last heard, in milliseconds of `performance.now()`. */
  heardAt: number;
  /** Calls are made one after the other. */
  queue: Promise<unknown>;
}

/** The id says the same as the two others. */
const specSchema = door("a task sent to us in ORS", { split: z.string(), index: z.int().min(0) }, { ignores: ["id"] });
const createSchema = door(
  "a session asked of us in ORS",
  {
    env_name: z.string().nullish(),
    task_spec: specSchema.nullish(),
    split: z.string().nullish(),
    index: z.int().min(0).nullish(),
    toolset_name: z.string().nullish(),
  },
  { neutral: { secrets: {} } }, // an environment here has no use for a client's
);
const callSchema = door("a call asked of us in ORS", {
  ...{ name: z.string(), input: z.record(z.string(), z.unknown()), task_id: z.string().nullish() },
});

/** The version of openreward whose documents are served; those of ors-sdk 0.1 are among them. */
const wireVersion = "0.1.167";

class OrsHost {
  readonly #options: EnvironmentServerOptions;
  readonly #name: string;
  readonly sessions: Sessions<OrsServerSession>;
  readonly #calls = new OrsCalls();

  constructor(options: EnvironmentServerOptions) {
    this.#options = options;
    this.#name = options.environment.name.toLowerCase().replaceAll("/", "_");
    this.sessions = new Sessions(options.sessionMs, async (_, { episode, queue }) => {
      const started = await episode.catch(() => undefined);
      await queue;
      await started?.close();
    });
  }

  /** Routes of the server itself, by method and first part of the path. */
  readonly #ownRoutes: Routes = {
    "GET health": () => ({ json: { status: "ok" } }),
    "GET version": () => ({ json: { version: wireVersion, build_sha: null } }),
    "GET list_environments": () => ({ json: [this.#name] }),
    "POST create_session": () => ({ events: async (write) => write(eventText("task_id", randomUUID()) + eventText("end", "")) }),
    "POST ping": (request) => {
      this.#heard(request);
      return { json: { status: "ok" } };
    },
    "POST create": async (request) => ({
      json: await this.#create(idOf(request), parseBody(await request.body(), createSchema)),
    }),
    "POST delete": async (request) => {
      await this.sessions.remove(idOf(request));
      return { json: { sid: idOf(request) } };
    },
    "POST delete_session": (request) => ({ json: { sid: idOf(request) } }),
  };

  /** Routes of the environment, by method and name. */
  readonly #environmentRoutes: Routes = {
    "GET tools": async () => ({ json: listed(await this.#anyTools()) }),
    "GET task_tools": async (request) => ({ json: listed((await this.#heard(request).episode).tools) }),
    "GET prompt": async (request) => {
      const { opening } = await this.#heard(request).episode;
      return { json: opening.map(({ content }) => ({ type: "text", text: content, detail: null })) };
    },
    "GET messages": async (request) => ({ json: wireMessages((await this.#heard(request).episode).opening) }),
    "POST call": async (request) => this.#call(request, parseBody(await request.body(), callSchema)),
  };

  async route(request: HttpRequest): Promise<Reply> {
    const { method, path, parts } = request;
    const [first = "", second] = parts;
    const own = routeOf(this.#ownRoutes, method, first);
    if (own !== undefined) return own(request);
    // Without a name in the path the first environment answers, which is the only one.
    const route = first.toLowerCase() === this.#name ? second : second === undefined ? first : undefined;
    const reply =
      route === undefined
        ? undefined
        : await (routeOf(this.#environmentRoutes, method, route)?.(request) ??
            taskRoute(this.#options.environment, this.#name, route, request));
    if (reply !== undefined) return reply;
    throw new HttpError(404, "route", `${method} ${path}`, {
      expected: `one of ORS's interface; the environment is ${this.#name}`,
    });
  }

  async #create(id: string, requested: z.output<typeof createSchema>): Promise<object> {
    const { environment, sessions, seed } = this.#options;
    if (this.sessions.has(id)) throw new HttpError(400, "session", id, { expected: "a new one: Session already exists" });
    if (this.sessions.size >= sessions)
      throw new HttpError(503, "sessions", `${this.sessions.size} are open`, { expected: `at most ${sessions}`, retryAfter: 1 });
    const { env_name: name, task_spec: spec, split, index, toolset_name: toolset } = requested;
    if (typeof toolset === "string")
      throw new HttpError(400, "toolset_name", toolset, { expected: "none: no toolsets are served" });
    if (typeof name === "string" && name.toLowerCase() !== this.#name)
      throw new HttpError(404, "environment", name, { expected: [this.#name] });
    const place = spec ?? specSchema.safeParse({ split, index }).data;
    if (place === undefined) throw new HttpError(422, "task", requested, { expected: "task_spec, or split and index" });
    const task = await taskAt(environment, place).catch((error: unknown) => {
      throw error instanceof EnvError ? new HttpError(400, "task", reasonOf(error)) : error;
    });
    // Episodes of a task begin alike: the client's groups are compared with themselves.
    const episode = HostedEpisode.start(environment, task, seed, this.#options);
    episode.catch(() => {});
    this.sessions.set(id, { episode, heardAt: performance.now(), queue: Promise.resolve() });
    return { sid: id };
  }

  #call(request: HttpRequest, { name, input, task_id: id }: z.output<typeof callSchema>): Reply {
    const session = this.#heard(request);
    return this.#calls.reply(id ?? undefined, () => {
      const done = session.queue.then(async () => {
        const episode = await session.episode;
        return JSON.stringify(episode.done ? over : output(await episode.call(name, input)));
      });
      session.queue = done.catch(() => {});
      return done;
    });
  }

  /** The tools of the first task, for clients that ask before they have a session. */
  async #anyTools(): Promise<readonly ShownTool[]> {
    const { environment, seed } = this.#options;
    const split = await splitWithTasks(environment, "train");
    const episode = await HostedEpisode.start(environment, await taskAt(environment, { split, index: 0 }), seed, this.#options);
    await episode.close();
    return episode.tools;
  }

  /** The session of a request, whose client was heard now. */
  #heard(request: HttpRequest): OrsServerSession {
    const id = idOf(request);
    const session = this.sessions.get(id);
    if (session === undefined)
      throw new HttpError(404, "session", id, { expected: "an open session: Active environment not found" });
    session.heardAt = performance.now();
    return session;
  }
}

type Routes = Readonly<Record<string, (request: HttpRequest) => Reply | Promise<Reply>>>;

function routeOf(routes: Routes, method: string, name: string): Routes[string] | undefined {
  const key = `${method} ${name}`;
  return Object.hasOwn(routes, key) ? routes[key] : undefined;
}

function idOf({ headers }: HttpRequest): string {
  const id = headers["x-session-id"];
  if (typeof id === "string" && id.trim() !== "") return id.trim();
  throw new HttpError(400, "X-Session-ID", undefined, { expected: "the header of a session" });
}

/** No message ends an episode by itself, as replies may follow, and no group is compared: there is neither a terminal tool nor scores of groups. */
function listed(tools: readonly ShownTool[]): object {
  return {
    tools: toolList(tools),
    terminal_tool: null,
    supports_score_group: false,
    message_block_types: messageBlockTypes,
  };
}

/** An outcome as ORS has it: what did not reach the tool is an error, what the tool said is its output. */
function output({ text, reward, done, error, scores }: Outcome): object {
  if ((error === "unknown-tool" || error === "invalid") && !done && reward === undefined)
    return { ok: false, error: text, reason: error === "invalid" ? "input_validation" : "not_found" };
  const blocks = [{ type: "text", text, detail: null }];
  return { ok: true, output: { blocks, metadata: scores ?? null, reward: reward ?? null, finished: done } };
}

const over = { ok: false, error: "the episode has finished: no further calls are made", reason: "episode_finished" };
