import { type IncomingMessage, request as overHttp } from "node:http";
import { request as overHttps } from "node:https";
import { jsonOf } from "../../src/core/json.ts";
import { guard, keyOf } from "../http/access.ts";
import { HttpError } from "../http/http-error.ts";
import { type HttpRequest, type Reply, type RunningHttp, startHttp } from "../http/server.ts";
import { inferenceProblem } from "../inference/server.ts";
import { type AgentTarget, type Episodes, lastRequest } from "./episodes.ts";

/** The key of the episode in whose context a request was made. */
export const contextHeader = "x-retrograde-episode";

const host = "127.0.0.1";
/** Longest silence of a model's server. */
const silenceMs = 600_000;
const ownHeaders = ["host", "connection", "content-length", "transfer-encoding", "keep-alive", contextHeader];
const keyHeaders = ["authorization", "x-api-key", "x-goog-api-key"];

/** Starts the one address of this process at which agents ask: each request is passed to the model of the episode that it belongs to. */
export function startGateway(episodes: Episodes): Promise<RunningHttp> {
  return startHttp({
    ...{ host, port: 0, limits: { maxBytes: 2 ** 26 }, keepAliveMs: 75_000, background: true },
    guard: (request) => guard(request, { host, keys: [] }),
    route: (request) => passOn(request, episodes),
    problem: inferenceProblem,
  });
}

async function passOn(request: HttpRequest, episodes: Episodes): Promise<Reply> {
  const { method, headers, signal } = request;
  const bytes = await request.body();
  const body = jsonOf(bytes.toString("utf8")) as Readonly<Record<string, unknown>> | undefined;
  const context = headers[contextHeader];
  const owner = episodes.ownerOf(keyOf(request), typeof context === "string" ? context : undefined, lastRequest(body));
  owner.requests++;
  const { target } = owner;
  const answer = await answerOf(addressOf(request.url, target), method, headersFor(headers, target), bytes, signal);
  const { "transfer-encoding": _, connection: __, "keep-alive": ___, ...rest } = answer.headers;
  const flat = Object.entries(rest).map(([name, value]) => [name, String(value)]);
  return { status: answer.statusCode ?? 502, headers: Object.fromEntries(flat), stream: answer };
}

/** The address of a request at its model: the gateway's own `/v1` is the target's. */
function addressOf(url: string, { baseUrl, apiKey }: AgentTarget): URL {
  const base = /^\/v1beta\//.test(url) ? baseUrl.replace(/\/v1\/?$/, "") : baseUrl.replace(/\/$/, "");
  const address = new URL(base + url.replace(/^\/v1(?=\/)/, ""));
  if (address.searchParams.has("key")) address.searchParams.set("key", apiKey);
  return address;
}

/** The key goes where the client's was: vendors read no other place. */
function headersFor(headers: HttpRequest["headers"], { apiKey }: AgentTarget): Record<string, string | string[]> {
  const kept = Object.entries(headers).filter(([name]) => !ownHeaders.includes(name) && !keyHeaders.includes(name));
  const given = keyHeaders.filter((name) => name !== "authorization" && headers[name] !== undefined);
  const keys = given.length > 0 ? given.map((name) => [name, apiKey]) : [["authorization", `Bearer ${apiKey}`]];
  return Object.fromEntries([...kept, ...keys]);
}

function answerOf(
  address: URL,
  method: string,
  headers: Record<string, string | string[]>,
  body: Buffer,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const ask = address.protocol === "https:" ? overHttps : overHttp;
    const length = body.length === 0 ? {} : { "content-length": String(body.length) };
    const outgoing = ask(address, { method, headers: { ...headers, ...length }, signal, timeout: silenceMs }, resolve);
    outgoing.on("timeout", () => outgoing.destroy(new Error(`nothing for ${silenceMs} ms`)));
    outgoing.on("error", (cause) =>
      reject(new HttpError(502, "the model's server", address.origin, { expected: "an answer", hint: cause.message, cause })),
    );
    outgoing.end(body);
  });
}
