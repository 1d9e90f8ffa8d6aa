import { randomUUID } from "node:crypto";
import type { Delta } from "../../src/chat/conversation.ts";
import { present } from "../../src/core/present.ts";
import { inCallOrder } from "../../src/core/tool-results.ts";
import { type Access, guard, keyOf, requireKeys } from "../http/access.ts";
import { jsonOfBody } from "../http/body.ts";
import { HttpError } from "../http/http-error.ts";
import { type HttpLimits, type HttpRequest, type Reply, type RunningHttp, startHttp } from "../http/server.ts";
import { anthropicMessages } from "./anthropic-messages.ts";
import { chatCompletions } from "./chat-completions.ts";
import { requireRoom } from "./engine-model.ts";
import { eventsOf } from "./events.ts";
import { failureOf } from "./failure.ts";
import { modelCard, readGenerate, writeGenerated } from "./generate.ts";
import { geminiCard, geminiError, generateContent } from "./generate-content.ts";
import type { ChatModel, InferenceModel } from "./model.ts";
import type { ParsedRequest, Replies, StreamedAnswer, Wire, WireState } from "./parsed-request.ts";
import { responses } from "./responses.ts";

export interface InferenceOptions extends Access {
  /** 0 takes any free one. */
  readonly port: number;
  readonly limits?: Partial<HttpLimits>;
  /** Models by the names that clients ask for. It may change while the server runs. */
  readonly models: ReadonlyMap<string, InferenceModel>;
  /** Models by keys of their own: a client with such a key reaches its model under any name, and no other. */
  readonly byKey?: ReadonlyMap<string, InferenceModel>;
  readonly log?: (entry: { readonly path: string; readonly status: number; readonly ms: number }) => void;
}

/** The name in lists of a model that has a key of its own, and so any name. */
export const agentModelName = "retrograde";

/** The reason of requests for what is not here. */
export const unknownRoute = "unknown_url";

/** Its `baseUrl` is without `/v1`. */
export type RunningInference = RunningHttp;

const wires: Readonly<Record<string, Wire>> = {
  "/chat/completions": chatCompletions,
  "/responses": responses,
  "/messages": anthropicMessages,
  "/messages/count_tokens": { ...anthropicMessages, count: (tokens) => ({ input_tokens: tokens }) },
};

/** The interface of requests by POST for a route. */
function wireOf(route: string): Wire | undefined {
  return wires[route] ?? generateContent(route);
}

/** Routes that Gemini's clients ask for. */
const beta = /^\/v1beta(?=\/)/;

/**
 * Serves models: in messages by `POST /v1/chat/completions`, `/v1/responses`, `/v1/messages` and `/v1beta/models/NAME:generateContent`, in token
 * ids by `POST /inference/v1/generate`, and `GET /v1/models`.
 * @throws ConfigError if the port is taken, or other machines reach it without a key
 */
export async function serveInference(options: InferenceOptions): Promise<RunningInference> {
  const { host, port, limits, log } = options;
  requireKeys(options, "sample its models");
  const kept = new WeakMap<InferenceModel, Map<string, unknown>>();
  return startHttp({
    ...{ host, port, limits, log },
    keepAliveMs: 75_000,
    guard: (request) => guard(request, withKeys(options)),
    route: async (request) => {
      const route = routeOf(request.path);
      const wire = request.method === "POST" ? wireOf(route) : undefined;
      try {
        return await (wire === undefined ? other(request, route, options) : converse(request, { wire, options, kept }));
      } catch (error) {
        options.byKey?.get(keyOf(request))?.chat?.refused?.(error);
        throw error;
      }
    },
    problem: inferenceProblem,
  });
}

/** An error as clients of the interface at a path read it. */
export function inferenceProblem(error: unknown, path: string): { readonly status: number; readonly json: object } {
  const failure = failureOf(error);
  const route = routeOf(path);
  const write = wireOf(route)?.error ?? (beta.test(route) ? geminiError : chatCompletions.error);
  return { status: failure.status, json: write(failure) };
}

/** Clients that build addresses from an address without /v1 ask without it. */
function routeOf(path: string): string {
  return path.replace(/^\/v1(?=\/)/, "");
}

interface Conversing {
  readonly wire: Wire;
  readonly options: InferenceOptions;
  readonly kept: WeakMap<InferenceModel, Map<string, unknown>>;
}

/** Answers a request in messages: whole, or in events. */
async function converse(request: HttpRequest, { wire, options, kept }: Conversing): Promise<Reply> {
  const bytes = await bodyOf(request, options);
  const name = wire.model ?? nameIn(bytes);
  const model = modelOf(name, request, options);
  const { chat } = model;
  if (chat === undefined)
    throw new HttpError(400, "model", name, { expected: "one with a chat template; this one takes token ids alone" });
  const own = kept.get(model) ?? new Map<string, unknown>();
  kept.set(model, own);
  const created = Math.floor(Date.now() / 1000);
  const { query } = request;
  const state: WireState = { id: randomUUID().replaceAll("-", ""), created, query, decode: chat.decode, kept: own };
  const exchange = wire.read(bytes, state);
  const { conversation } = exchange.parsed;
  const parsed = { ...exchange.parsed, conversation: { ...conversation, messages: inCallOrder(conversation.messages) } };
  if (wire.count !== undefined) return { json: wire.count(await chat.count(parsed.conversation, request.signal)) };
  if (!parsed.stream) return { json: exchange.answer(await replies(chat, parsed, request.signal)) };
  return eventsOf(
    async (send) => {
      const stream = exchange.stream(send);
      stream.end(await replies(chat, parsed, request.signal, stream.delta));
    },
    (error, send) => {
      chat.refused?.(error);
      send(wire.error(failureOf(error)), wire.namesErrors === false ? undefined : "error");
    },
  );
}

function replies(chat: ChatModel, parsed: ParsedRequest, signal: AbortSignal, delta?: StreamedAnswer["delta"]): Promise<Replies> {
  const { conversation, sampling, continuesLast, count } = parsed;
  const converse = (index: number) => {
    const onDelta = delta && ((part: Delta) => delta(index, part));
    return chat.converse(
      { ...conversation, ...(onDelta === undefined ? {} : { onDelta }) },
      { sampling, continuesLast, index, signal },
    );
  };
  const [first, ...more] = Array.from({ length: count }, (_, index) => converse(index));
  return Promise.all([present(first, "an answer"), ...more]);
}

/** A body that some model's context could hold. @throws HttpError (400) for a larger one, before it is parsed */
async function bodyOf(request: HttpRequest, { models, byKey }: InferenceOptions): Promise<Buffer> {
  const bytes = await request.body();
  const most = Math.max(
    ...[...models.values(), ...(byKey?.values() ?? [])].map((model) => model.maxBytes ?? Number.POSITIVE_INFINITY),
  );
  if (bytes.length <= most) return bytes;
  throw new HttpError(400, "messages", `${bytes.length} bytes`, {
    expected: `at most ${most}, the most that the context of a model here can hold`,
    code: "context_length_exceeded",
  });
}

function nameIn(bytes: Buffer): string {
  const { model } = (jsonOfBody(bytes) ?? {}) as { readonly model?: unknown };
  return typeof model === "string" ? model : "";
}

/** Keys of single models are keys of the server. */
function withKeys({ host, keys, byKey }: InferenceOptions): Access {
  return { host, keys: byKey === undefined ? keys : [...keys, ...byKey.keys()] };
}

async function other(request: HttpRequest, route: string, options: InferenceOptions): Promise<Reply> {
  if (request.method === "GET" && route === "/health") return { json: {} };
  const listed = route.replace(beta, "");
  // Google's client for Python asks for /v1/models, as OpenAI's do.
  const isGemini = listed !== route || "x-goog-api-client" in request.headers;
  const card = isGemini ? geminiCard : modelCard;
  if (request.method === "GET" && listed === "/models") {
    const own = options.byKey?.get(keyOf(request));
    const models = own === undefined ? [...options.models] : [[agentModelName, own] as const];
    const cards = models.map(([name, { maxLength }]) => card(name, maxLength));
    return { json: isGemini ? { models: cards } : { object: "list", data: cards } };
  }
  if (request.method === "GET" && listed.startsWith("/models/")) {
    const name = listed.slice("/models/".length);
    return { json: card(name, modelOf(name, request, options).maxLength) };
  }
  if (request.method !== "POST" || route !== "/inference/v1/generate")
    throw new HttpError(404, "route", `${request.method} ${route}`, {
      expected:
        "POST /v1/chat/completions, /v1/responses, /v1/messages, /v1beta/models/NAME:generateContent, /inference/v1/generate or GET /v1/models",
      hint: "Give clients of other interfaces an address of their own.",
      code: unknownRoute,
    });
  const parsed = readGenerate(await bodyOf(request, options));
  const model = modelOf(parsed.model, request, options);
  const { context } = parsed;
  const strange = context.find((id) => id >= model.vocabularySize);
  if (strange !== undefined)
    throw new HttpError(422, "token_ids", strange, {
      expected: `ids below ${model.vocabularySize}`,
      hint: "The client renders with the tokenizer of another model.",
    });
  requireRoom(context.length, model.maxLength);
  return { json: writeGenerated(`gen-${randomUUID()}`, await model.sample(parsed, request.signal)) };
}

function modelOf(
  name: string,
  request: Pick<HttpRequest, "headers" | "url">,
  { models, byKey }: InferenceOptions,
): InferenceModel {
  const own = byKey?.get(keyOf(request));
  if (own !== undefined) return own;
  const model = models.get(name);
  if (model === undefined)
    throw new HttpError(404, "model", name, { expected: [...models.keys()].slice(0, 10), code: "model_not_found" });
  return model;
}
