import { AsyncLocalStorage } from "node:async_hooks";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import http, { type ClientRequest } from "node:http";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { ConfigError } from "../../src/core/errors.ts";
import { once } from "../../src/core/once.ts";
import { agentModelName } from "../inference/server.ts";
import { environmentOfAgent } from "./agent.ts";
import { type AgentTarget, Episodes } from "./episodes.ts";
import { contextHeader } from "./forward.ts";
import { startGateway } from "./gateway.ts";
import { newKey } from "./keys.ts";

/** An attempt at a task, by an agent of this process. */
export interface InterceptedEpisode {
  /** The task's text. */
  readonly prompt: string;
  readonly target: AgentTarget;
  /** Aborted when nobody waits for the episode any more: what it asks from then on is refused. */
  readonly signal: AbortSignal;
  /** True if an episode without a request is a fault, whose reason is looked for. */
  readonly mustAsk?: boolean;
}

/** How one episode reaches its model. */
export interface OwnAccess {
  readonly baseUrl: string;
  readonly apiKey: string;
  readonly env: Readonly<Record<string, string>>;
}

/** An interception of this process's model calls. */
export interface Interception {
  /** Runs an episode: calls that it makes, and what it starts, go to its model. @throws EnvError where requests were another's; what it throws */
  during<T>(episode: InterceptedEpisode, run: (access: OwnAccess) => Promise<T>): Promise<T>;
  /** Puts everything back, once nobody else needs it. */
  end(): Promise<void>;
}

/** A key of no episode: the context of the call decides. */
const noEpisode = "outside-of-an-episode";
/** Addresses of models, whatever the server. */
const modelPath = /\/(?:chat\/completions|responses|messages|[^/]+:(?:stream)?generateContent)(?:\?|$)/i;

const context = new AsyncLocalStorage<string>();
const episodes = new Episodes();
/** Agents in this process that ask models of their own. */
let own = 0;
let held: { users: number; readonly state: Promise<ProcessState> } | undefined;

/** The parts of the process that an interception changes. There is one, whoever uses it. */
interface ProcessState {
  readonly baseUrl: string;
  readonly variables: Readonly<Record<string, string>>;
  restore(): void;
}

/**
 * Sends the model calls of agents in this process to their episodes' models, without a changed line in them. Clients that read their address from
 * the environment reach one local address by the customary variables, and string ids of the AI SDK by its global provider. Any number of trainings
 * and evaluations share these. Each request has its episode's key, as its own or by the context in which it was made, in any HTTP client of Node.
 * @throws ConfigError while agents are evaluated with models of their own: they read the same variables
 */
export async function interceptModels(): Promise<Interception> {
  if (own > 0)
    throw shared(
      "a training or an evaluation with an endpoint",
      "no evaluation of agents with models of their own at the same time",
    );
  held ??= { users: 0, state: changeProcess() };
  const mine = held;
  mine.users++;
  let ended = false;
  const end = async () => {
    if (ended) return;
    ended = true;
    if (--mine.users > 0) return;
    held = undefined;
    (await mine.state).restore();
  };
  const state = await mine.state.catch(async (error: unknown) => {
    if (--mine.users === 0) held = undefined;
    throw error;
  });
  return { during: (episode, run) => during(state, episode, run), end };
}

/** Counts an evaluation of agents with their own models, which must find the process as it is. @throws ConfigError while calls are intercepted */
export function withOwnModels(): () => void {
  if (held !== undefined)
    throw shared("an evaluation without an endpoint", "no training or evaluation with an endpoint at the same time");
  own++;
  return () => void own--;
}

function shared(what: string, expected: string): ConfigError {
  return new ConfigError("agents in this process", what, {
    expected,
    hint: "Both use the variables of the process, such as OPENAI_BASE_URL: run one after the other, or in processes of their own.",
  });
}

async function during<T>(
  { baseUrl, variables }: ProcessState,
  { prompt, target, signal, mustAsk = false }: InterceptedEpisode,
  run: (access: OwnAccess) => Promise<T>,
): Promise<T> {
  const apiKey = newKey();
  const episode = episodes.begin(apiKey, prompt, target);
  let over: (() => void) | undefined;
  const abandon = () => {
    over ??= episodes.end(episode, false);
  };
  signal.addEventListener("abort", abandon, { once: true });
  const verdict = () => episodes.verdict(episode, mustAsk, changedText(variables));
  try {
    const access = { baseUrl, apiKey, env: environmentOfAgent(baseUrl, apiKey, target.name) };
    const answer = await context.run(apiKey, () => run(access));
    const fault = verdict();
    if (fault !== undefined) throw fault;
    return answer;
  } catch (error) {
    const fault = verdict();
    // Clients hide the reason behind a text of their own.
    if (fault !== undefined && fault !== error) fault.cause ??= error;
    throw fault ?? error;
  } finally {
    signal.removeEventListener("abort", abandon);
    (over ?? episodes.end(episode, true))();
  }
}

/** Names the variables that something else has changed since. */
function changedText(variables: Readonly<Record<string, string>>): string {
  const changed = Object.keys(variables).filter((name) => name.endsWith("_URL") && process.env[name] !== variables[name]);
  return changed.length === 0
    ? ""
    : ` ${changed.join(" and ")} was set to another address since: does the agent's module set it?`;
}

/**
 * Stays for as long as the process: clients that a module makes once know the address of the first run, and are right in later ones. Not started in
 * the context of an episode, whose agent may evaluate another one.
 */
const door = once(() => context.exit(() => startGateway(episodes)));

async function changeProcess(): Promise<ProcessState> {
  const gateway = await door();
  const { origin } = new URL(gateway.baseUrl);
  const baseUrl = `${gateway.baseUrl}/v1`;
  const variables = { ...environmentOfAgent(baseUrl, noEpisode), OPENAI_AGENTS_DISABLE_TRACING: "1" };
  const before = Object.keys(variables).map((name) => [name, process.env[name]] as const);
  Object.assign(process.env, variables);
  const clients = stampClients(origin);

  const global = globalThis as { AI_SDK_DEFAULT_PROVIDER?: unknown };
  const provider = global.AI_SDK_DEFAULT_PROVIDER;
  const models = createOpenAICompatible({
    name: "retrograde",
    baseURL: baseUrl,
    supportsStructuredOutputs: true,
    includeUsage: true,
  });
  global.AI_SDK_DEFAULT_PROVIDER = { ...models, specificationVersion: "v3", languageModel: () => models(agentModelName) };
  return {
    ...{ baseUrl, variables },
    restore: () => {
      for (const [name, value] of before) {
        if (value === undefined) delete process.env[name];
        else process.env[name] = value;
      }
      clients.restore();
      if (provider === undefined) delete global.AI_SDK_DEFAULT_PROVIDER;
      else global.AI_SDK_DEFAULT_PROVIDER = provider;
    },
  };
}

interface UndiciRequest extends Partial<Record<"headersTimeout" | "bodyTimeout", number | null>> {
  readonly origin?: unknown;
  readonly path?: string;
  readonly method?: string;
  readonly headers?: unknown;
  addHeader?(name: string, value: string): unknown;
}

/**
 * Puts the key of the context into requests to an origin: of `fetch`, of whatever is built on `node:http` and `node:https` (axios, node-fetch, got,
 * superagent), and of undici in any of its copies.
 */
function stampClients(origin: string): { restore(): void } {
  /** @returns the key for a request to the gateway; a model call of an episode to another server is noted */
  const stamp = (to: string, path: string, method: string): string | undefined => {
    const key = context.getStore();
    if (to === origin) return key;
    if (method.toUpperCase() === "POST" && modelPath.test(path)) episodes.find(key)?.elsewhere.add(to);
    return undefined;
  };

  const { fetch } = globalThis;
  const stamped: typeof fetch = (input, init) => {
    const url = input instanceof Request ? input.url : String(input);
    if (!URL.canParse(url)) return fetch(input, init);
    const { origin: to, pathname } = new URL(url);
    const key = stamp(to, pathname, init?.method ?? (input instanceof Request ? input.method : "GET"));
    if (key === undefined) return fetch(input, init);
    const headers = new Headers(init?.headers ?? (input instanceof Request ? input.headers : {}));
    headers.set(contextHeader, key);
    return fetch(input, { ...init, headers });
  };
  globalThis.fetch = stamped;

  // Every request passes its agent, in the context of the call and before its headers are written.
  const agents = http.Agent.prototype as { addRequest?: (this: unknown, request: ClientRequest, ...rest: unknown[]) => unknown };
  const { addRequest } = agents;
  const passed: typeof addRequest = function (this: unknown, request, ...rest) {
    const key = stamp(`${request.protocol}//${request.getHeader("host") ?? request.host}`, request.path, request.method);
    if (key !== undefined && !request.headersSent) request.setHeader(contextHeader, key);
    return addRequest?.call(this, request, ...rest);
  };
  if (addRequest !== undefined) agents.addRequest = passed;

  const created = (message: unknown) => {
    const { request } = message as { readonly request: UndiciRequest };
    const to = String(request.origin ?? "").replace(/\/$/, "");
    // undici gives up after five minutes of silence, in which a busy machine may not have come to this request. The gateway ends what hangs.
    if (to === origin) for (const limit of ["headersTimeout", "bodyTimeout"] as const) request[limit] ??= 0;
    // A `fetch` has it already, from before it waited for a place in a pool.
    if (String(request.headers).includes(contextHeader)) return;
    const key = stamp(to, request.path ?? "", request.method ?? "GET");
    if (key !== undefined) request.addHeader?.(contextHeader, key);
  };
  subscribe("undici:request:create", created);
  return {
    restore: () => {
      // Another's wrapper around ours stays: without an episode ours does nothing.
      if (globalThis.fetch === stamped) globalThis.fetch = fetch;
      if (agents.addRequest === passed && addRequest !== undefined) agents.addRequest = addRequest;
      unsubscribe("undici:request:create", created);
    },
  };
}
