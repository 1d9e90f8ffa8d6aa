import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { getDefaultEnvironment, StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { ToolError } from "../../core/errors.ts";
import { fetchFromOrigin } from "../../core/same-origin.ts";
import { withoutCredentials } from "../credentials.ts";
import { redact } from "../redact.ts";

/** A server that is started here and spoken to by its standard streams, or one that is reached by streamable HTTP. */
export type McpServer =
  | {
      readonly command: string;
      readonly args?: readonly string[];
      /** Added to the few variables that every server is given (PATH, HOME, …); others of this process are not passed on. */
      readonly env?: Readonly<Record<string, string>>;
      readonly cwd?: string;
    }
  | {
      readonly url: string;
      /** Keys go here. They are in no message, and neither are a name and password or the parameters of the address. */
      readonly headers?: Readonly<Record<string, string>>;
    };

/** A client that is connected again, and its server started again, where it is found gone. */
export interface Connection {
  /** @throws ToolError where the server does not start or answer */
  client(): Promise<Client>;
  /** Ends this client, where it is still the present one. The next call makes another. */
  drop(client: Client): Promise<void>;
  /** Ends this client where its server answers nothing at all; a slow call is no reason to end a server that others wait for. */
  dropIfSilent(client: Client): Promise<void>;
  /** Hides keys, and adds what a started server wrote to its error stream. */
  explain(error: unknown): string;
  close(): Promise<void>;
}

/** Characters of a server's error stream that are kept for messages. */
const keptOfStderr = 500;
/** The time that a server is given to answer when it seems to be gone. */
const pingMs = 2000;

export function createConnection(name: string, server: McpServer, startMs: number): Connection {
  const values = "url" in server ? secretsOf(server) : Object.values(server.env ?? {});
  // A short value is a switch rather than a key, and would be found in every message.
  const secrets = values.filter((value) => value.length >= 8);
  let current: Promise<Client> | undefined;
  let stderr = "";
  let closed = false;

  const explain = (error: unknown) => {
    const message = error instanceof Error ? causesOf(error).join(": ") : String(error);
    const said = stderr.trim();
    return redact(said === "" ? message : `${message} (it wrote: ${said})`, secrets);
  };

  const connect = async (): Promise<Client> => {
    stderr = "";
    const client = new Client({ name: "retrograde-rl", version: "1" });
    // A server that ends is noticed at once, and started again by the next call.
    client.onclose = () => forget(client);
    // A broken stream leaves its call waiting: where the server is gone with it, the call is ended.
    client.onerror = () => void dropIfSilent(client);
    try {
      await client.connect(
        transportOf(server, (text) => (stderr = (stderr + text).slice(-keptOfStderr))),
        { timeout: startMs },
      );
      return client;
    } catch (error) {
      await client.close().catch(() => {});
      throw new ToolError(`MCP server ${name}`, "not there", {
        expected: "a server that starts and answers",
        hint: explain(error),
      });
    }
  };

  const drop = async (client: Client) => {
    forget(client);
    await client.close().catch(() => {});
  };
  const asked = new WeakMap<Client, Promise<void>>();
  const dropIfSilent = (client: Client): Promise<void> => {
    const pending = asked.get(client);
    if (pending !== undefined) return pending;
    const answer = client
      .ping({ timeout: pingMs })
      .then(
        () => {},
        () => drop(client),
      )
      .finally(() => asked.delete(client));
    asked.set(client, answer);
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
      await client?.close().catch(() => {});
    },
  };
}

function transportOf(server: McpServer, onStderr: (text: string) => void): StdioClientTransport | StreamableHTTPClientTransport {
  if ("url" in server) {
    const { url, headers } = withoutCredentials(server.url);
    return new StreamableHTTPClientTransport(url, {
      fetch: fetchFromOrigin,
      requestInit: { headers: { ...headers, ...server.headers } },
      // A stream that breaks off is a call that failed: the model learns of it, rather than waits.
      reconnectionOptions: {
        maxRetries: 0,
        initialReconnectionDelay: 1000,
        maxReconnectionDelay: 1000,
        reconnectionDelayGrowFactor: 1,
      },
    });
  }
  const { command, args = [], env = {}, cwd } = server;
  const transport = new StdioClientTransport({
    command,
    args: [...args],
    env: { ...getDefaultEnvironment(), ...env },
    cwd,
    stderr: "pipe",
  });
  transport.stderr?.on("data", (chunk: Buffer) => onStderr(chunk.toString("utf8")));
  return transport;
}

function secretsOf({
  url,
  headers = {},
}: {
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
}): string[] {
  const { secrets, url: bare } = withoutCredentials(url);
  return [...Object.values(headers), ...secrets, ...bare.searchParams.values()];
}

/** fetch() hides why it failed in its error's cause. */
function causesOf(error: Error): string[] {
  return [error.message, ...(error.cause instanceof Error ? causesOf(error.cause) : [])];
}
