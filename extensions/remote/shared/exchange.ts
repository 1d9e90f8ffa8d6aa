import http, { type ClientRequest, type IncomingMessage } from "node:http";
import https from "node:https";
import { reasonOf } from "../../../src/core/errors.ts";

export interface Exchange {
  readonly url: URL;
  readonly method: "GET" | "POST";
  readonly headers: Readonly<Record<string, string>>;
  /** JSON text. */
  readonly body: string | undefined;
  readonly timeoutMs: number;
  readonly signal: AbortSignal | undefined;
  /** Returns true to stop reading. What it throws ends the exchange. */
  onPart(part: Uint8Array, status: number): boolean;
}

export interface Answered {
  readonly status: number;
  /** The values of its `set-cookie` headers. */
  readonly setCookies: readonly string[];
}

/** No answer, or one that broke off. */
export class WireError extends Error {}

/** No whole answer in time. */
export class LateError extends Error {}

/**
 * Connections are kept: a session has many short calls, and a new connection takes longer than the call. They are closed after an idle time
 * that is below those of servers (gunicorn 2 s, uvicorn and Node 5 s): a server that closes one while a call is on its way leaves open whether
 * it ran the call.
 */
const keeping = { keepAlive: true, timeout: 1500 };
const agents = { "http:": new http.Agent(keeping), "https:": new https.Agent(keeping) };

const maxRedirections = 5;

/** After its last event a server mostly ends the answer at once; it may take this long before its connection is closed. */
const endsWithinMs = 1000;

/**
 * Sends one request and reads its answer part by part, over a connection that is kept. `node:http` takes half of the time of `fetch`, which
 * also closes the connection of an answer that is not read to its end.
 * @throws WireError, LateError, the signal's reason, or what `onPart` throws
 */
export function exchange(options: Exchange, redirections = 0): Promise<Answered> {
  return new Promise((resolve, reject) => {
    let settled = false;
    const settle = (end: () => void) => {
      if (settled) return;
      settled = true;
      clearTimeout(limit);
      options.signal?.removeEventListener("abort", cancel);
      end();
    };
    const fail = (error: unknown) => {
      settle(() => reject(error));
      request.destroy();
    };
    const cancel = () => fail(options.signal?.reason);
    const limit = setTimeout(() => fail(new LateError(`no answer within ${options.timeoutMs} ms`)), options.timeoutMs);
    options.signal?.addEventListener("abort", cancel);

    const request = send(options, (response) => {
      const status = response.statusCode ?? 0;
      const onward = redirection(response, options);
      if (onward !== undefined) {
        response.resume();
        if (redirections >= maxRedirections) fail(new WireError(`more than ${maxRedirections} redirections`));
        else settle(() => resolve(exchange({ ...options, url: onward }, redirections + 1)));
        return;
      }
      const answered = { status, setCookies: response.headers["set-cookie"] ?? [] };
      response.on("data", (part: Uint8Array) => {
        if (settled) return;
        try {
          if (!options.onPart(part, status)) return;
        } catch (error) {
          fail(error);
          return;
        }
        settle(() => resolve(answered));
        // The connection can be used again once the answer has ended.
        const late = setTimeout(() => request.destroy(), endsWithinMs);
        response.once("close", () => clearTimeout(late));
      });
      response.once("end", () => settle(() => resolve(answered)));
      response.once("error", (error) => fail(new WireError(wireReason(error))));
      response.once("close", () => fail(new WireError("the connection closed within the answer")));
    });
    request.once("error", (error: NodeJS.ErrnoException) => {
      // Only what changes nothing is asked again.
      const idle = options.method === "GET" && request.reusedSocket && error.code === "ECONNRESET";
      if (idle && !settled) settle(() => resolve(exchange(options, redirections)));
      else fail(new WireError(wireReason(error)));
    });
    request.end(options.body);
  });
}

function send({ url, method, headers, body }: Exchange, onResponse: (response: IncomingMessage) => void): ClientRequest {
  const secure = url.protocol === "https:";
  const length = body === undefined ? {} : { "content-type": "application/json", "content-length": Buffer.byteLength(body) };
  return (secure ? https : http).request(
    url,
    {
      method,
      agent: secure ? agents["https:"] : agents["http:"],
      headers: { "accept-encoding": "identity", ...length, ...headers },
    },
    onResponse,
  );
}

/** Where an answer sends the request. It is followed with its body to the same server alone (scheme, host and port), so that no key goes elsewhere. */
function redirection({ statusCode, headers }: IncomingMessage, { url, method }: Exchange): URL | undefined {
  const moved = statusCode === 307 || statusCode === 308 || (method === "GET" && (statusCode === 301 || statusCode === 302));
  if (!moved || headers.location === undefined || !URL.canParse(headers.location, url.href)) return undefined;
  const onward = new URL(headers.location, url);
  return onward.origin === url.origin ? onward : undefined;
}

function wireReason(error: Error): string {
  // Where a name has several addresses, each has an error of its own.
  const [first] = error instanceof AggregateError ? (error.errors as unknown[]) : [];
  return reasonOf(error.message === "" && first instanceof Error ? first : error);
}
