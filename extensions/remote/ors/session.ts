import type { z } from "zod";
import type { Message } from "../../../src/core/messages.ts";
import type { HttpAnswer, HttpClient } from "../shared/http.ts";
import { RemoteEnvError } from "../shared/problem.ts";
import { EventReader, type ServerEvent } from "./events.ts";
import {
  blocksSchema,
  blocksText,
  messagesOf,
  messagesSchema,
  type ToolList,
  type ToolOutput,
  toolOutputSchema,
  toolsSchema,
} from "./wire.ts";

/** Further attempts to read an answer whose stream broke. The server keeps it for a minute. */
const resumptions = 3;

export interface SessionRequest {
  /** The environment's name on the server. */
  readonly environment: string;
  readonly split: string;
  readonly index: number;
  /** By name. Empty if the environment needs none. */
  readonly secrets: Readonly<Record<string, string>>;
  readonly pingMs: number;
  /** Longest wait for the environment to be set up. */
  readonly setupMs: number;
}

/** Time between two questions whether an environment is set up. */
const setupPollMs = 1000;

/** One session of an ORS server. A timer keeps it alive until it is closed. */
export class OrsSession {
  readonly #http: HttpClient;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #path: string;
  readonly #setupMs: number;
  readonly #pings: NodeJS.Timeout;

  private constructor(http: HttpClient, id: string, { environment, pingMs, setupMs }: SessionRequest) {
    this.#http = http;
    this.#setupMs = setupMs;
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
      const body = { env_name: environment, split, index };
      // ors-sdk reads secrets in the body, openreward in a header.
      if (Object.keys(secrets).length === 0) await session.#post("/create", body);
      else if (http.serverVersion === undefined) await session.#post("/create", { ...body, secrets });
      else await session.#post("/create", body, { "x-secrets": secretsHeader(secrets) });
      return session;
    } catch (error) {
      await session.close();
      throw error;
    }
  }

  /** The first messages. Servers before openreward 0.1.157 know a prompt of the user alone. */
  async opening(): Promise<Message[]> {
    const messages = await this.#onceSetUp("messages");
    if (messages.status !== 404) return messagesOf(this.#read(messagesSchema, messages, "messages"));
    const prompt = this.#read(blocksSchema, await this.#onceSetUp("prompt"), "prompt");
    return [{ role: "user", content: blocksText(prompt) }];
  }

  /** Asks for what there is once the environment is set up: a server says "still starting" until then. */
  async #onceSetUp(route: string): Promise<HttpAnswer> {
    const until = performance.now() + this.#setupMs;
    for (;;) {
      const answer = await this.#http.ask({ path: `${this.#path}/${route}`, headers: this.#headers });
      if (answer.status !== 503 || !answer.text.includes("still starting")) return answer;
      if (performance.now() >= until)
        throw new RemoteEnvError("timeout", "the setup of the environment", `not done after ${this.#setupMs} ms`, {
          expected: "an environment that is set up within environment.settings.setupMs",
        });
      await new Promise((resolve) => setTimeout(resolve, setupPollMs));
    }
  }

  #read<T>(schema: z.ZodType<T>, answer: HttpAnswer, what: string): T {
    if (answer.status !== 200) throw this.#http.refusal(`GET ${what}`, answer);
    return this.#http.read(schema, answer.text, what);
  }

  /** The tools of the task, or those that all tasks share where the server knows no others. */
  async tools(): Promise<ToolList> {
    const answer = await this.#http.ask({ path: `${this.#path}/task_tools`, headers: this.#headers });
    if (answer.status !== 404) return this.#read(toolsSchema, answer, "task_tools");
    return this.#http.json(toolsSchema, { path: `${this.#path}/tools`, headers: this.#headers });
  }

  /**
   * Calls a tool. An answer whose stream breaks is asked for again; the call is not made again.
   * @param input as JSON text, so that numbers stay as the model wrote them
   * @throws ToolRaised if the environment raised an error
   */
  async call(name: string, input: string, signal?: AbortSignal): Promise<ToolOutput> {
    const what = `call of ${name}`;
    const fields = `"name":${JSON.stringify(name)},"input":${input}`;
    let task: string | undefined;
    for (let attempt = 0; ; attempt++) {
      let text = "";
      let ended = false;
      const body = `{${fields}${task === undefined ? "" : `,"task_id":${JSON.stringify(task)}`}}`;
      try {
        await events(this.#http, { path: `${this.#path}/call`, body, headers: this.#headers, signal }, ({ event, data }) => {
          if (event === "task_id") task = data.trim();
          else if (event === "chunk" || event === "end") text += data;
          else if (event === "error") throw new ToolRaised(what, data);
          ended = event === "end";
          return ended;
        });
      } catch (error) {
        const broke = error instanceof RemoteEnvError && error.problem === "unreachable";
        if (!broke || task === undefined || attempt >= resumptions) throw error;
        continue;
      }
      if (ended) return this.#http.read(toolOutputSchema, text, what);
      if (task === undefined || attempt >= resumptions)
        throw new RemoteEnvError("malformed", `the answer to the ${what}`, "a stream that ends early", {
          expected: "an event end",
        });
    }
  }

  /** Deletes the session on the server. It is over, so nothing is thrown. */
  async close(): Promise<void> {
    clearInterval(this.#pings);
    for (const path of ["/delete", "/delete_session"]) await this.#post(path, {}).catch(() => {});
  }

  async #post(path: string, body: object, headers: Readonly<Record<string, string>> = {}): Promise<void> {
    const answer = await this.#http.ask({ method: "POST", path, body, headers: { ...this.#headers, ...headers } });
    if (answer.status < 200 || answer.status >= 300) throw this.#http.refusal(`POST ${path}`, answer);
  }
}

/** An error that the environment raised while it answered a call. */
export class ToolRaised extends RemoteEnvError {
  constructor(what: string, message: string) {
    super("refused", `the environment's answer to the ${what}`, message, { expected: "no error" });
  }
}

/** Secrets as openreward reads them. No domains are allowed: the environment's own sandbox decides where they go. */
function secretsHeader(secrets: Readonly<Record<string, string>>): string {
  const entries = Object.entries(secrets).map(([name, value]) => [name, { value, allowed_domains: [] }]);
  return Buffer.from(JSON.stringify(Object.fromEntries(entries))).toString("base64");
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
