import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import {
  ReadBuffer,
  SSEClientTransport,
  STDIO_DEFAULT_MAX_BUFFER_SIZE,
  StreamableHTTPClientTransport,
  serializeMessage,
  type Transport,
} from "@modelcontextprotocol/client";
import { getDefaultEnvironment } from "@modelcontextprotocol/client/stdio";
import { fetchFromOrigin } from "../../../src/core/same-origin.ts";
import { type Group, startGroup } from "../../processes/group.ts";
import { withoutCredentials } from "../credentials.ts";

/** A server that is started here and spoken to by its standard streams. */
export interface StartedServer {
  readonly command: string;
  readonly args?: readonly string[];
  /** Added to the few variables that every server is given (PATH, HOME, …); others of this process are not passed on. */
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
}

/** A server that is reached by streamable HTTP, or by the protocol's older HTTP with SSE. */
export interface RemoteServer {
  readonly url: string;
  /** Keys go here. They are in no message, and neither are a name and password or the parameters of the address. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** The time that a server has to end by itself once its input ends, and again after SIGTERM. */
const patienceMs = 2000;

/** Pipes to a server's process, which is started by it. The SDK's own ends the process alone, and not what `npx` or a shell started for it. */
export function pipesTo(
  { command, args = [], env = {}, cwd }: StartedServer,
  onStderr: (text: string) => void,
  startProgram = startGroup,
): Transport {
  let group: Group | undefined;
  const transport: Transport = {
    start: () =>
      new Promise((resolve, reject) => {
        const started = startProgram(command, args, { env: { ...getDefaultEnvironment(), ...env }, cwd, stdio: "pipe" });
        group = started;
        const { child } = started;
        const fail = (error: Error) => transport.onerror?.(error);
        const received = new ReadBuffer();
        child.on("error", (error) => {
          reject(error);
          fail(error);
        });
        child.on("spawn", resolve);
        child.on("close", () => transport.onclose?.());
        for (const stream of [child.stdin, child.stdout, child.stderr]) stream?.on("error", fail);
        child.stderr?.on("data", (chunk: Buffer) => onStderr(chunk.toString("utf8")));
        child.stdout?.on("data", (chunk: Buffer) => {
          try {
            received.append(chunk);
          } catch (error) {
            fail(error as Error);
            void transport.close();
          }
          readAll(received, transport);
        });
      }),
    send: (message) =>
      new Promise((resolve, reject) => {
        const input = group?.child.stdin;
        if (!input?.writable) return reject(new Error("the server has ended"));
        input.write(serializeMessage(message), (error) => (error ? reject(error) : resolve()));
      }),
    close: async () => {
      if (group === undefined) return;
      const { child } = group;
      child.stdin?.end();
      if (isRunning(child)) {
        const timer = new AbortController();
        const { signal } = timer;
        await Promise.race([once(child, "exit", { signal }), sleep(patienceMs, undefined, { signal })]).catch(() => {});
        timer.abort();
      }
      await group.end(patienceMs);
    },
  };
  return transport;
}

function isRunning({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode === null && signalCode === null;
}

/** Forwards whole messages. Malformed messages are errors; lines that are not JSON are skipped. */
function readAll(received: ReadBuffer, transport: Transport): void {
  for (;;) {
    try {
      const message = received.readMessage();
      if (message === null) return;
      transport.onmessage?.(message);
    } catch (error) {
      transport.onerror?.(error as Error);
    }
  }
}

/** @param onFlood called when a message is larger than any that is read */
export function streamableHttpTo(server: RemoteServer, onFlood: (error: Error) => void): StreamableHTTPClientTransport {
  const { url, options } = requestsTo(server, onFlood);
  return new StreamableHTTPClientTransport(url, {
    ...options,
    // A stream that breaks off is a call that failed: the model learns of it, rather than waits.
    reconnectionOptions: {
      maxRetries: 0,
      initialReconnectionDelay: 1000,
      maxReconnectionDelay: 1000,
      reconnectionDelayGrowFactor: 1,
    },
  });
}

/** The transport of servers before 2025-03-26. @param onFlood called when a message is larger than any that is read */
export function sseTo(server: RemoteServer, onFlood: (error: Error) => void): SSEClientTransport {
  const { url, options } = requestsTo(server, onFlood);
  return new SSEClientTransport(url, options);
}

function requestsTo(server: RemoteServer, onFlood: (error: Error) => void) {
  const { url, headers } = withoutCredentials(server.url);
  return { url, options: { fetch: boundedFetch(onFlood), requestInit: { headers: { ...headers, ...server.headers } } } };
}

/** `fetch`, whose answer breaks off where one message is larger than the SDK reads of a started server. */
export function boundedFetch(onFlood: (error: Error) => void, mostBytes = STDIO_DEFAULT_MAX_BUFFER_SIZE): typeof fetchFromOrigin {
  return async (address, init) => {
    const response = await fetchFromOrigin(address, init);
    if (response.body === null) return response;
    const isStream = response.headers.get("content-type")?.startsWith("text/event-stream") === true;
    let bytes = 0;
    const counted = new TransformStream<Uint8Array, Uint8Array>({
      transform: (chunk, controller) => {
        bytes += chunk.length;
        if (bytes > mostBytes) {
          const error = new Error(`a message of more than ${mostBytes} bytes`);
          onFlood(error);
          return controller.error(error);
        }
        const end = isStream ? endOfEvent(chunk) : 0;
        if (end > 0) bytes = chunk.length - end;
        controller.enqueue(chunk);
      },
    });
    return new Response(response.body.pipeThrough(counted), response);
  };
}

/** Where the last message that ends in a part of a stream does so, at an empty line. 0 if none does. */
function endOfEvent(part: Uint8Array): number {
  const bytes = Buffer.from(part.buffer, part.byteOffset, part.byteLength);
  const ends = ["\n\n", "\n\r\n"].map((empty) => {
    const at = bytes.lastIndexOf(empty);
    return at === -1 ? 0 : at + empty.length;
  });
  return Math.max(...ends);
}
