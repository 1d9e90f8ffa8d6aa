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
import { withoutCredentials } from "../credentials.ts";
import { redact } from "../redact.ts";
import { pipesTo, type RemoteServer, type StartedServer, sseTo, streamableHttpTo } from "./transports.ts";

export type McpServer = StartedServer | RemoteServer;

/** A client that is connected again, and its server started again, where it is found gone. */
export interface Connection {
  /** @throws ToolError where the server does not start or answer */
  client(): Promise<Client>;
  /** Ends this client, where it is still the present one. The next call makes another. */
  drop(client: Client): Promise<void>;
  /** Ends this client where its server answers nothing at all; a slow call is no reason to end a server that others wait for. */
  dropIfSilent(client: Client): Promise<void>;
  /** Hides keys, and adds what a started server wrote to its error stream, and what broke the connection. */
  explain(error: unknown): string;
  /** Why the server cannot be used. */
  notThere(expected: string, error: unknown): ToolError;
  close(): Promise<void>;
}

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

export function createConnection(name: string, server: McpServer, startMs: number): Connection {
  const values = "url" in server ? secretsOf(server) : Object.values(server.env ?? {});
  // A short value is a switch rather than a key, and would be found in every message.
  const secrets = values.filter((value) => value.length >= 8);
  let current: Promise<Client> | undefined;
  let stderr = "";
  let broken = "";
  let closed = false;

  const explain = (error: unknown, shown = shownOfStderr) => {
    const message = error instanceof Error ? causesOf(error).join(": ") : String(error);
    const said = stderr.trim().slice(-shown);
    const because = broken === "" || message.includes(broken) ? "" : `: ${broken}`;
    return redact(`${message}${because}${said === "" ? "" : ` (it wrote: ${said})`}`, secrets);
  };
  const notThere = (expected: string, error: unknown) => {
    const hint = cut(explain(error, keptOfStderr), keptOfReason);
    const isLate = error instanceof DeadlineError;
    return new ToolError(`MCP server ${name}`, "not there", {
      expected,
      hint: isLate ? `${hint}. npx and uvx install before they start it: startMs gives it longer.` : hint,
    });
  };

  const open = async (transportFor: (client: Client) => Transport): Promise<Client> => {
    stderr = "";
    broken = "";
    const client = new Client({ name: "retrograde-rl", version: "1" });
    // A server that ends is noticed at once, and started again by the next call.
    client.onclose = () => forget(client);
    try {
      const transport = transportFor(client);
      await withinTime(() => client.connect(transport, { timeout: longestTimer }), startMs);
      client.onerror = (error) => noticed(client, error);
      takeUntyped(transport);
      return client;
    } catch (error) {
      await end(client);
      throw error;
    }
  };
  const flooded = (client: Client) => (error: Error) => {
    broken = error.message;
    void drop(client);
  };
  const connect = async (): Promise<Client> => {
    try {
      if (!("url" in server)) return await open(() => pipesTo(server, (text) => (stderr = (stderr + text).slice(-keptOfStderr))));
      const bySse = () => open((client) => sseTo(server, flooded(client)));
      // As FastMCP's client distinguishes them: a few such servers take the other protocol's first message, and never answer it.
      if (/\/sse\/?$/.test(new URL(server.url).pathname)) return await bySse();
      return await open((client) => streamableHttpTo(server, flooded(client))).catch((error) => {
        if (!(error instanceof SdkHttpError && refusals.includes(error.status))) throw error;
        return bySse().catch(() => Promise.reject(error));
      });
    } catch (error) {
      throw notThere("a server that starts and answers", error);
    }
  };

  const noticed = (client: Client, error: Error) => {
    // Lines on a server's output that are no messages are of no account.
    if (error.name !== "ZodError") broken = error.message;
    // Pipes that break end the client. A stream that does leaves its call waiting: where the server is gone with it, the call is ended.
    if (!("url" in server)) return;
    // With SSE the stream is the session: another stream would be a session that was never begun.
    void (error instanceof SseError ? drop(client) : dropIfSilent(client));
  };

  const drop = async (client: Client) => {
    forget(client);
    await end(client);
  };
  const pings = new WeakMap<Client, Promise<void>>();
  const dropIfSilent = (client: Client): Promise<void> => {
    const pending = pings.get(client);
    if (pending !== undefined) return pending;
    const answer = client
      .ping({ timeout: pingMs })
      .catch((error) => {
        // A server that does not know the question is there.
        if (!(error instanceof ProtocolError)) return drop(client);
      })
      .then(() => {})
      .finally(() => pings.delete(client));
    pings.set(client, answer);
    return answer;
  };

  let connected: Client | undefined;
  const forget = (client: Client) => {
    if (connected !== client) return;
    connected = undefined;
    current = undefined;
  };

  return {
    explain,
    notThere,
    client: () => {
      if (closed) return Promise.reject(new ToolError(`MCP server ${name}`, "closed", { expected: "an open connection" }));
      if (current !== undefined) return current;
      const attempt = connect();
      current = attempt;
      attempt.then(
        (client) => {
          connected = client;
        },
        () => {
          if (current === attempt) current = undefined;
        },
      );
      return attempt;
    },
    drop,
    dropIfSilent,
    close: async () => {
      closed = true;
      const client = await current?.catch(() => undefined);
      if (client !== undefined) await end(client);
    },
  };
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
