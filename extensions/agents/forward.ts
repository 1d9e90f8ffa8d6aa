import { type IncomingMessage, request as overHttp } from "node:http";
import { request as overHttps } from "node:https";
import { reasonOf } from "../../src/core/errors.ts";
import { HttpError } from "../http/http-error.ts";
import type { HttpRequest, Reply } from "../http/server.ts";

/** The key of the episode in whose context a request was made. */
export const contextHeader = "x-retrograde-episode";

/** Headers of the connection to us and of a body as it came to us. An answer that is read on its way is not compressed. */
const ownHeaders = [
  ...["host", "connection", "keep-alive", "transfer-encoding", "content-length", "content-encoding", "accept-encoding"],
  contextHeader,
];
/** The headers in which clients of OpenAI, Anthropic and Google send their key. */
const keyHeaders = ["authorization", "x-api-key", "x-goog-api-key"];

/** The key goes where the client's was: vendors read no other place. */
function headersFor(headers: HttpRequest["headers"], apiKey: string): Record<string, string | string[] | undefined> {
  const kept = Object.entries(headers).filter(([name]) => !ownHeaders.includes(name) && !keyHeaders.includes(name));
  const given = keyHeaders.filter((name) => headers[name] !== undefined);
  const keys = (given.length > 0 ? given : ["authorization"]).map((name) => [
    name,
    name === "authorization" ? `Bearer ${apiKey}` : apiKey,
  ]);
  return Object.fromEntries([...kept, ...keys]);
}

/**
 * The address of a path at a server. What an agent writes as its request's target, such as `//host/`, never leads to another server, which would be
 * given the key.
 * @throws HttpError of status 400 if it would
 */
export function addressAt(server: string, path: string): URL {
  const address = URL.canParse(server + path) ? new URL(server + path) : undefined;
  if (address?.origin === new URL(server).origin) return address;
  throw new HttpError(400, "the target of the request", path, { expected: "a path that begins with /" });
}

/** An answer of another server, which Node gives a status. */
export type Answer = IncomingMessage & { readonly statusCode: number };

/**
 * Asks another server with its own key, which replaces the client's.
 * @param silenceMs the longest silence of that server. Default: none is too long
 * @throws HttpError of status 502 for an error of the network, which is its cause
 */
export function forward(
  { method, headers, signal }: HttpRequest,
  address: URL,
  apiKey: string,
  body: Buffer,
  silenceMs?: number,
): Promise<Answer> {
  if (address.searchParams.has("key")) address.searchParams.set("key", apiKey);
  return new Promise((resolve, reject) => {
    const ask = address.protocol === "https:" ? overHttps : overHttp;
    const length = body.length === 0 ? {} : { "content-length": String(body.length) };
    const options = { method, headers: { ...headersFor(headers, apiKey), ...length }, signal, timeout: silenceMs };
    const outgoing = ask(address, options, (answer) => resolve(answer as Answer));
    outgoing.on("timeout", () => outgoing.destroy(new Error(`nothing for ${silenceMs} ms`)));
    outgoing.on("error", (cause) => {
      const failure = { expected: "an answer", hint: reasonOf(cause), cause };
      reject(new HttpError(502, "the model's server", address.origin, failure));
    });
    outgoing.end(body);
  });
}

/** Another server's answer, for the client. */
export function passedBack(answer: Answer): Reply {
  const { "transfer-encoding": _, connection: __, "keep-alive": ___, ...rest } = answer.headers;
  const headers = Object.fromEntries(Object.entries(rest).map(([name, value]) => [name, String(value)]));
  return { status: answer.statusCode, headers, stream: answer };
}
