import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from "node:http";
import { request as httpsRequest } from "node:https";
import type { AddressInfo } from "node:net";
import { reasonOf } from "../../src/core/errors.ts";
import { jsonOf } from "../../src/core/json.ts";
import { isRecord } from "../../src/core/record.ts";
import { isFaultOfServer } from "./blame.ts";
import { type Heard, Hearing } from "./heard.ts";
import { newKey } from "./new-key.ts";
import type { AgentEndpoint } from "./served-agent-model.ts";

/** A way to the server of a model on which each attempt has a key of its own: its answers show whose fault the end of the attempt is. */
export interface Relay {
  /** With the path of the server's own address. */
  readonly baseUrl: string;
  open(): RelayedAttempt;
  close(): Promise<void>;
}

export interface RelayedAttempt {
  readonly apiKey: string;
  /** Why the server is at fault: its last answer was an error of its own, or there was none at all. Undefined if it is not. */
  fault(): string | undefined;
  /** Requests that were answered, in the order in which their answers began. */
  exchanges(): readonly Heard[];
  /** Closes the way: what comes later is refused. */
  end(): void;
}

interface Seen {
  waiting: number;
  answered: number;
  fault: string | undefined;
  /** Bodies, which are read when somebody wants to: a streaming client may be through before its answer has ended. */
  readonly bodies: { readonly url: string; readonly request: () => string; readonly answer: () => string }[];
}

/** Characters of an answer that are read for an error. */
const shown = 2048;
/** A longer request or answer is passed on, and not shown in the episode. */
const maxHeard = 4 * 2 ** 20;

/** The server of a model, with its own key, which no agent sees. */
type Server = Pick<AgentEndpoint, "baseUrl" | "apiKey" | "name">;

/** Opens a relay on this machine. Where the server's model has a name, it is asked for that one, whatever name the agent has for it. */
export async function openRelay(server: Server): Promise<Relay> {
  const target = new URL(server.baseUrl);
  const attempts = new Map<string, Seen>();
  const relay = createServer((request, response) => {
    response.on("error", () => {});
    const key = keyOf(request);
    const seen = key === undefined ? undefined : attempts.get(key);
    if (seen === undefined) return answer(response, 401, "The key is of no attempt that is running.");
    forward(request, response, target, server, seen);
  });
  await new Promise<void>((resolve, reject) => relay.once("error", reject).listen(0, "127.0.0.1", resolve));
  return {
    baseUrl: `http://127.0.0.1:${(relay.address() as AddressInfo).port}${target.pathname.replace(/\/$/, "")}`,
    open: () => {
      const apiKey = newKey();
      const seen: Seen = { waiting: 0, answered: 0, fault: undefined, bodies: [] };
      attempts.set(apiKey, seen);
      const fault = () => seen.fault ?? (seen.waiting > 0 && seen.answered === 0 ? "no answer to its first request" : undefined);
      return {
        apiKey,
        exchanges: () => {
          const hearing = new Hearing();
          return seen.bodies.flatMap(({ url, request, answer }) => hearing.exchange(url, request(), answer()) ?? []);
        },
        fault: () => (fault() === undefined ? undefined : `the server at ${server.baseUrl}: ${fault()}`),
        end: () => attempts.delete(apiKey),
      };
    },
    close: async () => {
      relay.closeAllConnections();
      await new Promise((resolve) => relay.close(resolve));
    },
  };
}

/** The headers in which clients of OpenAI, Anthropic and Google send their key. */
const keyHeaders = ["authorization", "x-api-key", "x-goog-api-key"] as const;

function keyOf({ headers }: IncomingMessage): string | undefined {
  const given = keyHeaders.map((name) => headers[name]).find((value) => typeof value === "string");
  return typeof given === "string" ? given.replace(/^Bearer\s+/i, "") : undefined;
}

/** The request's body, for the model that is measured. */
function renamed(body: Buffer, model: string | undefined): Buffer {
  const asked = model === undefined ? undefined : jsonOf(body.toString("utf8"));
  const isNamed = isRecord(asked) && typeof asked.model === "string" && asked.model !== model;
  return isNamed ? Buffer.from(JSON.stringify({ ...asked, model })) : body;
}

function forward(
  request: IncomingMessage,
  response: ServerResponse,
  target: URL,
  { apiKey, name: model }: Server,
  seen: Seen,
): void {
  const {
    host: _,
    connection: __,
    "accept-encoding": ___,
    "content-length": ____,
    "transfer-encoding": _____,
    ...headers
  } = request.headers;
  for (const name of keyHeaders) if (name in headers) headers[name] = name === "authorization" ? `Bearer ${apiKey}` : apiKey;
  let ended = false;
  const end = (fault: string | undefined) => {
    if (ended) return;
    ended = true;
    seen.waiting--;
    seen.answered++;
    seen.fault = fault;
  };
  seen.waiting++;
  const said = bounded(request);
  const send = target.protocol === "https:" ? httpsRequest : httpRequest;
  const path = (request.url ?? "/").replace(/(\/models\/)[^/:]+(?=:)/, (whole, before) =>
    model === undefined ? whole : `${before}${model}`,
  );
  const outgoing = send(new URL(path, target.origin), { method: request.method, headers }, (given) => {
    const status = given.statusCode ?? 502;
    const answered = bounded(given);
    if (status < 300) seen.bodies.push({ url: request.url ?? "", request: said, answer: answered });
    given.on("end", () => end(faultIn(status, answered().slice(0, shown))));
    given.on("error", (error) => {
      end(`its answer broke off: ${reasonOf(error)}`);
      response.destroy();
    });
    response.writeHead(status, given.headers);
    given.pipe(response);
  });
  outgoing.on("error", (error) => {
    end(reasonOf(error));
    if (response.headersSent) response.destroy();
    else answer(response, 502, `The model's server cannot be reached: ${reasonOf(error)}`);
  });
  // An agent that waits no longer is no fault of the server.
  response.on("close", () => {
    if (!ended && response.writableFinished === false) {
      ended = true;
      seen.waiting--;
    }
    outgoing.destroy();
  });
  const parts: Buffer[] = [];
  request.on("data", (part: Buffer) => parts.push(part)).on("end", () => outgoing.end(renamed(Buffer.concat(parts), model)));
}

/** A body's text so far, as it passes; of a long one the beginning. */
function bounded(stream: IncomingMessage): () => string {
  const parts: Buffer[] = [];
  let length = 0;
  stream.on("data", (part: Buffer) => {
    if (length < maxHeard) parts.push(part);
    length += part.length;
  });
  return () => Buffer.concat(parts).toString("utf8");
}

/** Reads an answer's error. Gateways write one under the status 200. */
function faultIn(status: number, start: string): string | undefined {
  const isError = isFaultOfServer(status) || (status < 300 && /^\s*\{\s*"error"\s*:\s*[{"]/.test(start));
  return isError ? `it answered ${status} ${start.trim().slice(0, 200)}`.trim() : undefined;
}

function answer(response: ServerResponse, status: number, message: string): void {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify({ error: { message, type: "retrograde_relay" } }));
}
