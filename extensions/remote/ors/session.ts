import type { HttpClient } from "../shared/http.ts";
import { RemoteEnvError } from "../shared/problem.ts";
import { EventReader, type ServerEvent } from "./events.ts";
import { type Blocks, blocksSchema, type ToolOutput, toolOutputSchema, toolsSchema } from "./wire.ts";

/** Further attempts to read an answer whose stream broke. The server keeps it for a minute. */
const resumptions = 3;

export interface SessionRequest {
  /** The environment's name on the server. */
  readonly environment: string;
  readonly split: string;
  readonly index: number;
  readonly secrets?: Readonly<Record<string, string>>;
  readonly pingMs: number;
}

/** One session of an ORS server. A timer keeps it alive until it is closed. */
export class OrsSession {
  readonly #http: HttpClient;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #path: string;
  readonly #pings: NodeJS.Timeout;

  private constructor(http: HttpClient, id: string, { environment, pingMs }: SessionRequest) {
    this.#http = http;
    this.#headers = { "x-session-id": id };
    this.#path = `/${encodeURIComponent(environment)}`;
    // A session that died is found out by its next call.
    this.#pings = setInterval(() => this.#post("/ping", {}).catch(() => {}), pingMs);
    this.#pings.unref();
  }

  /** @throws RemoteEnvError if there is no session, or its task cannot be set up */
  static async open(http: HttpClient, request: SessionRequest): Promise<OrsSession> {
    let id: string | undefined;
    await events(http, { path: "/create_session", body: {} }, ({ event, data }) => {
      if (event === "task_id") id = data.trim();
      return event === "end";
    });
    if (id === undefined || id === "")
      throw new RemoteEnvError("malformed", "POST /create_session", "no session", { expected: "an event task_id" });
    const session = new OrsSession(http, id, request);
    try {
      const { environment, split, index, secrets } = request;
      await session.#post("/create", { env_name: environment, split, index, ...(secrets === undefined ? {} : { secrets }) });
      return session;
    } catch (error) {
      await session.close();
      throw error;
    }
  }

  prompt(): Promise<Blocks> {
    return this.#http.json(blocksSchema, { path: `${this.#path}/prompt`, headers: this.#headers });
  }

  /** The tools of the task, or those that all tasks share where the server knows no others. */
  async tools() {
    const answer = await this.#http.ask({ path: `${this.#path}/task_tools`, headers: this.#headers });
    if (answer.status !== 404) {
      if (answer.status !== 200) throw this.#http.refusal("GET task_tools", answer);
      return this.#http.read(toolsSchema, answer.text, "task_tools").tools;
    }
    return (await this.#http.json(toolsSchema, { path: `${this.#path}/tools`, headers: this.#headers })).tools;
  }

  /**
   * Calls a tool. An answer whose stream breaks is asked for again; the call is not made again.
   * @param input as JSON text, so that numbers stay as the model wrote them
   * @throws ToolRaised if the environment raised an error
   */
  async call(name: string, input: string, signal?: AbortSignal): Promise<ToolOutput> {
    let task: string | undefined;
    for (let attempt = 0; ; attempt++) {
      let text = "";
      let ended = false;
      const resumed = task === undefined ? "" : `,"task_id":${JSON.stringify(task)}`;
      const body = `{"name":${JSON.stringify(name)},"input":${input}${resumed}}`;
      try {
        await events(this.#http, { path: `${this.#path}/call`, body, headers: this.#headers, signal }, ({ event, data }) => {
          if (event === "task_id") task = data.trim();
          else if (event === "chunk" || event === "end") text += data;
          else if (event === "error") throw new ToolRaised(name, data);
          ended = event === "end";
          return ended;
        });
      } catch (error) {
        const broke = error instanceof RemoteEnvError && error.problem === "unreachable";
        if (!broke || task === undefined || attempt >= resumptions) throw error;
        continue;
      }
      if (ended) return this.#http.read(toolOutputSchema, text, `call of ${name}`);
      if (task === undefined || attempt >= resumptions)
        throw new RemoteEnvError("malformed", `the answer to the call of ${name}`, "a stream that ends early", {
          expected: "an event end",
        });
    }
  }

  /** Deletes the session on the server. It is over, so nothing is thrown. */
  async close(): Promise<void> {
    clearInterval(this.#pings);
    for (const path of ["/delete", "/delete_session"]) await this.#post(path, {}).catch(() => {});
  }

  async #post(path: string, body: object): Promise<void> {
    const answer = await this.#http.ask({ method: "POST", path, body, headers: this.#headers });
    if (answer.status < 200 || answer.status >= 300) throw this.#http.refusal(`POST ${path}`, answer);
  }
}

/** An error that the environment raised while it answered a call. */
export class ToolRaised extends RemoteEnvError {
  constructor(tool: string, message: string) {
    super("refused", `the environment's tool ${tool}`, message, { expected: "an answer" });
  }
}

interface EventRequest {
  readonly path: string;
  readonly body: string | object;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

/** Reads the events of an answer until `onEvent` returns true. */
async function events(http: HttpClient, request: EventRequest, onEvent: (event: ServerEvent) => boolean): Promise<void> {
  const reader = new EventReader();
  const refused: Uint8Array[] = [];
  const headers = { accept: "text/event-stream", ...request.headers };
  const { status } = await http.stream({ method: "POST", ...request, headers }, (part, status) => {
    if (status === 200) return reader.read(part).some(onEvent);
    return refused.push(part) < 0;
  });
  if (status !== 200) throw http.refusal(`POST ${request.path}`, { status, text: Buffer.concat(refused).toString("utf8") });
}
