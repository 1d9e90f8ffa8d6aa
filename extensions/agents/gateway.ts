import { jsonOf } from "../../src/core/json.ts";
import { guard, keyOf } from "../http/access.ts";
import { type HttpRequest, type Reply, type RunningHttp, startHttp } from "../http/server.ts";
import { inferenceProblem } from "../inference/server.ts";
import { type AgentTarget, type Episodes, lastRequest } from "./episodes.ts";
import { addressAt, contextHeader, forward, passedBack } from "./forward.ts";

const host = "127.0.0.1";
/** Longest silence of a model's server. */
const silenceMs = 600_000;

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
  const bytes = await request.body();
  const context = request.headers[contextHeader];
  const text = lastRequest(jsonOf(bytes.toString("utf8")));
  const owner = episodes.ownerOf(keyOf(request), typeof context === "string" ? context : undefined, text);
  owner.requests++;
  const { target } = owner;
  return passedBack(await forward(request, addressOf(request.url, target), target.apiKey, bytes, silenceMs));
}

/** The address of a request at its model: the gateway's own `/v1` is the target's. */
function addressOf(url: string, { baseUrl }: AgentTarget): URL {
  const base = /^\/v1beta\//.test(url) ? baseUrl.replace(/\/v1\/?$/, "") : baseUrl.replace(/\/$/, "");
  return addressAt(base, url.replace(/^\/v1(?=\/)/, ""));
}
