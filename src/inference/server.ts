import { randomUUID } from "node:crypto";
import type { Chat } from "../chat/chat.ts";

import { type Access, guard, hasKey, requireKeys } from "../http/access.ts";
import { Refusal } from "../http/refusal.ts";
import { type HttpLimits, type HttpRequest, type Reply, type RunningHttp, startHttp } from "../http/server.ts";
import {
  type Answered,
  type Conversation,
  completionOf,
  conversationOf,
  promptOf,
  readChat,
  writeChat,
} from "./chat-completions.ts";
import { type Generated, type GenerateRequest, modelCard, readGenerate, writeGenerated } from "./generate.ts";

/** A model that answers under its name. */
export interface InferenceModel {
  /** Longest sequence, context and action together. */
  readonly maxLength: number;
  readonly vocabularySize: number;
  /** The key of its requests, where it is not one of the server's. Others do not learn that there is such a model. */
  readonly key?: string;
  /** Its template and tokenizer, for requests in messages. Without it the model takes token ids alone. */
  readonly chat?: Chat;
  /** Answers a conversation, whose tokens it keeps itself. Chat completions come here instead of `chat` and `sample`. */
  converse?(request: Conversation, signal: AbortSignal): Promise<Answered>;
  /** @throws Refusal for a request that cannot be honoured */
  sample(request: GenerateRequest, signal: AbortSignal): Promise<Generated>;
}

export interface InferenceOptions extends Access {
  /** 0 takes any free one. */
  readonly port: number;
  readonly limits?: Partial<HttpLimits>;
  /** Models by the names that clients ask for. It may change while the server runs. */
  readonly models: ReadonlyMap<string, InferenceModel>;
  readonly log?: (entry: { readonly path: string; readonly status: number; readonly ms: number }) => void;
}

/** Its `baseUrl` is without `/v1`. */
export type RunningInference = RunningHttp;

/**
 * Serves models: in token ids by `POST /inference/v1/generate`, in messages by `POST /v1/chat/completions`, and `GET /v1/models`.
 * @throws ConfigError if the port is taken, or other machines reach it without a key
 */
export async function serveInference(options: InferenceOptions): Promise<RunningInference> {
  const { host, port, models, limits, log } = options;
  requireKeys(options, "sample its models");
  return startHttp({
    ...{ host, port, limits, log },
    keepAliveMs: 75_000,
    guard: (request) => guard(request, options),
    route: (request) => route(request, models),
  });
}

async function route(request: HttpRequest, all: ReadonlyMap<string, InferenceModel>): Promise<Reply> {
  const { method, path, signal } = request;
  const models = new Map([...all].filter(([, { key }]) => key === undefined || hasKey(request, [key])));
  if (method === "GET" && path === "/health") return { json: {} };
  if (method === "GET" && path === "/v1/models")
    return { json: { object: "list", data: [...models].map(([name, { maxLength }]) => modelCard(name, maxLength)) } };
  if (method === "POST" && path === "/v1/chat/completions") {
    const asked = readChat(await request.body());
    const model = modelOf(asked.model, models);
    const id = `chatcmpl-${randomUUID()}`;
    if (model.converse !== undefined)
      return { json: completionOf(id, asked.model, await model.converse(conversationOf(asked), signal)) };
    if (model.chat === undefined)
      throw new Refusal(400, "model", asked.model, { expected: "one with a chat template; this one takes token ids alone" });
    const prompt = promptOf(asked, model.chat);
    requireRoom(prompt, model, "messages");
    return { json: writeChat(id, asked, prompt, await model.sample(prompt, signal), model.chat) };
  }
  if (method !== "POST" || path !== "/inference/v1/generate")
    throw new Refusal(404, "route", `${method} ${path}`, {
      expected: "POST /v1/chat/completions, POST /inference/v1/generate or GET /v1/models",
    });
  const asked = readGenerate(await request.body());
  const model = modelOf(asked.model, models);
  const { context } = asked;
  const strange = context.find((id) => id >= model.vocabularySize);
  if (strange !== undefined)
    throw new Refusal(422, "token_ids", strange, {
      expected: `ids below ${model.vocabularySize}`,
      hint: "The client renders with the tokenizer of another model.",
    });
  requireRoom(asked, model, "token_ids");
  return { json: writeGenerated(`gen-${randomUUID()}`, await model.sample(asked, signal)) };
}

function modelOf(name: string, models: ReadonlyMap<string, InferenceModel>): InferenceModel {
  const model = models.get(name);
  if (model === undefined) throw new Refusal(404, "model", name, { expected: [...models.keys()].slice(0, 10) });
  return model;
}

function requireRoom({ context }: GenerateRequest, { maxLength }: InferenceModel, field: string): void {
  if (context.length >= maxLength)
    throw new Refusal(400, field, `${context.length} tokens`, {
      expected: `less than the maximum context length of ${maxLength} tokens`,
    });
}
