import {
  Client,
  ProtocolError,
  SdkHttpError,
  SseError,
  StreamableHTTPClientTransport,
  type Transport,
} from "@modelcontextprotocol/client";
import { DeadlineError, withinTime } from "../../../src/core/deadline.ts";
import { ToolError } from "../../../src/core/errors.ts";
import { longestTimer } from "../../../src/core/timer.ts";
import { cut } from "../../../src/tools/cut.ts";
import { startGroup } from "../../processes/group.ts";
import { withoutCredentials } from "../credentials.ts";
import { redact } from "../redact.ts";
import { pipesTo, type RemoteServer, type StartedServer, sseTo, streamableHttpTo } from "./transports.ts";

export type McpServer = StartedServer | RemoteServer;

/** Characters of a server's error stream that a model reads. */
const shownOfStderr = 500;
/** Characters of it that are kept, for who starts it: what is missing is said above a stack. */
const keptOfStderr = 2000;
/** Characters of a reason: some servers answer with a whole page. */
const keptOfReason = 4000;
/** The time that a server is given to answer when it seems to be gone, and to end a session. */
const pingMs = 2000;
/** How a server refuses the first message of a protocol that it does not speak yet (specification of 2025-03-26, backwards compatibility). */
const refusals: readonly (number | undefined)[] = [400, 404, 405];

/** A client that is connected again, and its server started again, where it is found gone. */
export class Connection {
  readonly #name: string;
  readonly #server: McpServer;
  readonly #startMs: number;
  readonly #startProgram: typeof startGroup;
  readonly #secrets: readonly string[];
  readonly #pings = new WeakMap<Client, Promise<void>>();
  /** The client, or the attempt to connect one. */
  #current: Promise<Client> | undefined;
  #connected: Client | undefined;
  #stderr = "";
  #broken = "";
  #closed = false;

  constructor(name: string, server: McpServer, startMs: number, startProgram = startGroup) {
    this.#name = name;
    this.#startProgram = startProgram;
    this.#server = server;
    this.#startMs = startMs;
    const values = "url" in server ? secretsOf(server) : Object.values(server.env ?? {});
    // A short value is a switch rather than a key, and would be found in every message.
    this.#secrets = values.filter((value) => value.length >= 8);
  }

  /** Hides keys, and adds what a started server wrote to its error stream, and what broke the connection. */
  explain(error: unknown, shown = shownOfStderr): string {
    const message = error instanceof Error ? causesOf(error).join(": ") : String(error);
    const said = this.#stderr.trim().slice(-shown);
    const because = this.#broken === "" || message.includes(this.#broken) ? "" : `: ${this.#broken}`;
    return redact(`${message}${because}${said === "" ? "" : ` (it wrote: ${said})`}`, this.#secrets);
  }

  /** Why the server cannot be used. */
  notThere(expected: string, error: unknown): ToolError {
    const hint = cut(this.explain(error, keptOfStderr), keptOfReason);
    const isLate = error instanceof DeadlineError;
    return new ToolError(`MCP server ${this.#name}`, "not there", {
      expected,
      hint: isLate ? `${hint}. npx and uvx install before they start it: startMs gives it longer.` : hint,
    });
  }

  /** @throws ToolError where the server does not start or answer */
  client(): Promise<Client> {
    if (this.#closed)
      return Promise.reject(new ToolError(`MCP server ${this.#name}`, "closed", { expected: "an open connection" }));
    if (this.#current !== undefined) return this.#current;
    const attempt = this.#connect();
    this.#current = attempt;
    attempt.then(
      (client) => {
        this.#connected = client;
      },
      () => {
        if (this.#current === attempt) this.#current = undefined;
      },
    );
    return attempt;
  }

  /** Ends this client, where it is still the present one. The next call makes another. */
  async drop(client: Client): Promise<void> {
    this.#forget(client);
    await end(client);
  }

  /** Ends this client where its server answers nothing at all; a slow call is no reason to end a server that others wait for. */
  dropIfSilent(client: Client): Promise<void> {
    const pending = this.#pings.get(client);
    if (pending !== undefined) return pending;
    const answer = client
      .ping({ timeout: pingMs })
      .catch((error) => {
        // A server that does not know the question is there.
        if (!(error instanceof ProtocolError)) return this.drop(client);
      })
      .then(() => {})
      .finally(() => this.#pings.delete(client));
    this.#pings.set(client, answer);
    return answer;
  }

  async close(): Promise<void> {
    this.#closed = true;
    const client = await this.#current?.catch(() => undefined);
    if (client !== undefined) await end(client);
  }

  async #connect(): Promise<Client> {
    const server = this.#server;
    const note = (text: string) => {
      this.#stderr = (this.#stderr + text).slice(-keptOfStderr);
    };
    try {
      if (!("url" in server)) return await this.#open(() => pipesTo(server, note, this.#startProgram));
      const bySse = () => this.#open((client) => sseTo(server, this.#flooded(client)));
      // As FastMCP's client distinguishes them: a few such servers take the other protocol's first message, and never answer it.
      if (/\/sse\/?$/.test(new URL(server.url).pathname)) return await bySse();
      return await this.#open((client) => streamableHttpTo(server, this.#flooded(client))).catch((error) => {
        if (!(error instanceof SdkHttpError && refusals.includes(error.status))) throw error;
        return bySse().catch(() => Promise.reject(error));
      });
    } catch (error) {
      throw this.notThere("a server that starts and answers", error);
    }
  }

  async #open(transportFor: (client: Client) => Transport): Promise<Client> {
    this.#stderr = "";
    this.#broken = "";
    const client = new Client({ name: "retrograde-rl", version: "1" });
    // A server that ends is noticed at once, and started again by the next call.
    client.onclose = () => this.#forget(client);
    try {
      const transport = transportFor(client);
      await withinTime(() => client.connect(transport, { timeout: longestTimer }), this.#startMs);
      client.onerror = (error) => this.#noticed(client, error);
      takeUntyped(transport);
      return client;
    } catch (error) {
      await end(client);
      throw error;
    }
  }

  #flooded(client: Client): (error: Error) => void {
    return (error) => {
      this.#broken = error.message;
      void this.drop(client);
    };
  }

  #noticed(client: Client, error: Error): void {
    // Lines on a server's output that are no messages are of no account.
    if (error.name !== "ZodError") this.#broken = error.message;
    // Pipes that break end the client. A stream that does leaves its call waiting: where the server is gone with it, the call is ended.
    if (!("url" in this.#server)) return;
    // With SSE the stream is the session: another stream would be a session that was never begun.
    void (error instanceof SseError ? this.drop(client) : this.dropIfSilent(client));
  }

  #forget(client: Client): void {
    if (this.#connected !== client) return;
    this.#connected = undefined;
    this.#current = undefined;
  }
}

/**
 * Takes a tool whose schema has no type as one with an object of arguments, which every call has. The protocol demands the type, and its SDK refuses
 * the whole list for one tool that lacks it.
 */
function takeUntyped(transport: Transport): void {
  const receive = transport.onmessage;
  transport.onmessage = (message, extra) => {
    const { tools } = ("result" in message ? message.result : {}) as { readonly tools?: unknown };
    for (const tool of Array.isArray(tools) ? tools : [])
      if (typeof tool === "object" && tool !== null) tool.inputSchema = { type: "object", ...tool.inputSchema };
    receive?.(message, extra);
  };
}

/** Ends a client, and its session where the server keeps one. */
async function end(client: Client): Promise<void> {
  client.onerror = undefined;
  const { transport } = client;
  if (transport instanceof StreamableHTTPClientTransport)
    await withinTime(() => transport.terminateSession(), pingMs).catch(() => {});
  await client.close().catch(() => {});
}

function secretsOf({ url, headers = {} }: RemoteServer): string[] {
  const { secrets, url: bare } = withoutCredentials(url);
  return [...Object.values(headers), ...secrets, ...bare.searchParams.values()];
}

/** fetch() hides why it failed in its error's cause. */
function causesOf(error: Error): string[] {
  return [error.message, ...(error.cause instanceof Error ? causesOf(error.cause) : [])];
}
