import type { IncomingMessage } from "node:http";
import { reasonOf } from "../../src/core/errors.ts";
import { jsonOf } from "../../src/core/json.ts";
import { isRecord } from "../../src/core/record.ts";
import { keyOf } from "../http/access.ts";
import { HttpError } from "../http/http-error.ts";
import { type HttpRequest, type Reply, startHttp } from "../http/server.ts";
import { inferenceProblem } from "../inference/server.ts";
import { isFaultOfServer } from "./blame.ts";
import { addressAt, forward, passedBack } from "./forward.ts";
import { type Heard, Hearing } from "./heard.ts";
import { newKey } from "./keys.ts";
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
  readonly waiting: Set<HttpRequest>;
  answered: number;
  fault: string | undefined;
  /** Bodies, which are read when somebody wants to: a streaming client may be through before its answer has ended. */
  readonly bodies: { readonly url: string; readonly request: Buffer; readonly answer: () => string }[];
}

/** Characters of an answer that are read for an error. */
const shown = 2048;
/** Bytes of a request or an answer: what is longer is passed on, and not shown in the episode. */
const maxHeard = 4 * 2 ** 20;

/** The server of a model, with its own key, which no agent sees. */
type Server = Pick<AgentEndpoint, "baseUrl" | "apiKey" | "name">;

/** Opens a relay on this machine. Where the server's model has a name, it is asked for that one, whatever name the agent has for it. */
export async function openRelay(server: Server): Promise<Relay> {
  const target = new URL(server.baseUrl);
  const attempts = new Map<string, Seen>();
  const relay = await startHttp({
    ...{ host: "127.0.0.1", port: 0, limits: { maxBytes: Number.POSITIVE_INFINITY }, keepAliveMs: 75_000 },
    guard: () => {}, // the key decides
    route: (request) => {
      const seen = attempts.get(keyOf(request));
      if (seen !== undefined) return passOn(request, target.origin, server, seen);
      throw new HttpError(401, "the key of the request", "unknown", { expected: "that of an attempt which is running" });
    },
    problem: inferenceProblem,
  });
  return {
    baseUrl: `${relay.baseUrl}${target.pathname.replace(/\/$/, "")}`,
    open: () => {
      const apiKey = newKey();
      const seen: Seen = { waiting: new Set(), answered: 0, fault: undefined, bodies: [] };
      attempts.set(apiKey, seen);
      const fault = () =>
        seen.fault ?? (seen.waiting.size > 0 && seen.answered === 0 ? "no answer to its first request" : undefined);
      return {
        apiKey,
        exchanges: () => {
          const hearing = new Hearing();
          return seen.bodies.flatMap(({ url, request, answer }) => hearing.exchange(url, String(request), answer()) ?? []);
        },
        fault: () => (fault() === undefined ? undefined : `the server at ${server.baseUrl}: ${fault()}`),
        end: () => attempts.delete(apiKey),
      };
    },
    close: () => relay.close(),
  };
}

async function passOn(request: HttpRequest, origin: string, { apiKey, name: model }: Server, seen: Seen): Promise<Reply> {
  const { url, signal } = request;
  const body = await request.body();
  const path = url.replace(/(\/models\/)[^/:]+(?=:)/, (whole, before) => (model === undefined ? whole : `${before}${model}`));
  const address = addressAt(origin, path);
  seen.waiting.add(request);
  const end = (fault: string | undefined) => {
    if (!seen.waiting.delete(request)) return;
    seen.answered++;
    seen.fault = fault;
  };
  // An agent that waits no longer is no fault of the server.
  signal.addEventListener("abort", () => seen.waiting.delete(request));
  const answer = await forward(request, address, apiKey, renamed(body, model)).catch((error: HttpError) => {
    end(reasonOf(error.cause));
    throw error;
  });
  const { statusCode: status } = answer;
  const answered = bounded(answer);
  if (status < 300 && body.length <= maxHeard) seen.bodies.push({ url, request: body, answer: answered });
  answer.on("end", () => end(faultIn(status, answered().slice(0, shown))));
  answer.on("error", (error) => end(`its answer broke off: ${reasonOf(error)}`));
  return passedBack(answer);
}

/** The request's body, for the model that is measured. */
function renamed(body: Buffer, model: string | undefined): Buffer {
  const asked = model === undefined ? undefined : jsonOf(body.toString("utf8"));
  const isNamed = isRecord(asked) && typeof asked.model === "string" && asked.model !== model;
  return isNamed ? Buffer.from(JSON.stringify({ ...asked, model })) : body;
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
