import { z } from "zod";
import { readArguments } from "../../src/chat/call-deltas.ts";
import type { ConversationReply, ConversationRequest } from "../../src/chat/conversation.ts";
import type { AssistantMessage, Message, ToolCall } from "../../src/core/messages.ts";
import { present } from "../../src/core/present.ts";
import type { DrawnToken } from "../../src/core/trajectory.ts";
import type { Tool } from "../../src/tools/tool.ts";
import { parseBody } from "../http/body.ts";
import { HttpError } from "../http/http-error.ts";
import { geminiMessage, geminiSchema } from "./gemini-schema.ts";
import {
  assistantMessage,
  callId,
  candidatesOf,
  drawnTokens,
  type Exchange,
  type Failure,
  optional,
  type ParsedRequest,
  parametersSchema,
  type Replies,
  requestDoor,
  requireTool,
  type SendEvent,
  type StreamedAnswer,
  samplingFields,
  shownTool,
  type Wire,
  type WireState,
} from "./parsed-request.ts";

const route = /^(?:\/v1(?:beta|alpha))?\/models\/(.+):(generateContent|streamGenerateContent|countTokens)$/;

/**
 * `POST /v1beta/models/NAME:generateContent`, `:streamGenerateContent` and `:countTokens` of the Gemini interface: contents of parts in,
 * candidates of parts out.
 * @returns undefined for another route
 */
export function generateContent(path: string): Wire | undefined {
  const found = route.exec(path);
  if (found === null) return undefined;
  const [, name, method] = found;
  const model = present(name, "a model");
  return {
    model,
    read: (bytes, state) => read(bytes, state, { model, stream: method === "streamGenerateContent" }),
    error: geminiError,
    // Its clients read no events with names.
    namesErrors: false,
    ...(method === "countTokens" ? { count: (totalTokens) => ({ totalTokens }) } : {}),
  };
}

/** A message without other fields. An error names those that are there, and one that is not. */
const only = <Shape extends z.ZodRawShape>(shape: Shape, names = Object.keys(shape).join(", ")) =>
  geminiMessage(
    z.strictObject(shape, {
      error: ({ code, keys }) => (code === "unrecognized_keys" ? `${names}: this endpoint has no ${keys}` : undefined),
    }),
  );
const record = z.record(z.string(), z.unknown());
const part = only(
  {
    text: z.string().nullish(),
    thought: z.boolean().nullish(),
    thoughtSignature: z.string().nullish(),
    functionCall: only({ id: z.string().nullish(), name: z.string().min(1), args: record.nullish() }).nullish(),
    functionResponse: only({ id: z.string().nullish(), name: z.string().min(1), response: record }).nullish(),
  },
  "text, functionCall or functionResponse",
);
const content = only({ role: z.enum(["user", "model", "function"]).nullish(), parts: z.array(part).nullish() });
const declaration = only({
  name: z.string().min(1),
  description: z.string().nullish(),
  parameters: geminiSchema.nullish(),
  parametersJsonSchema: record.nullish(),
  // What a function returns: no chat template has a place for it, and Google's client for Python always sends it.
  ...{ response: z.unknown().optional(), responseJsonSchema: z.unknown().optional() },
});
const configFields = {
  candidateCount: z.int().min(1).max(32).nullish(),
  maxOutputTokens: optional(z.int().min(1)),
  temperature: samplingFields.temperature,
  topP: samplingFields.top_p,
  topK: optional(z.int().min(0)),
  seed: samplingFields.seed,
  stopSequences: z.array(z.string().min(1)).nullish(),
  responseMimeType: z.enum(["text/plain", "application/json"]).nullish(),
  responseSchema: geminiSchema.nullish(),
  responseJsonSchema: record.nullish(),
  responseLogprobs: z.boolean().nullish(),
  logprobs: z.int().min(0).max(20).nullish(),
  thinkingConfig: geminiMessage(z.looseObject({ includeThoughts: z.boolean().nullish() })).nullish(),
} as const;
const configDoor = requestDoor("the generationConfig of Gemini", configFields, {
  neutral: { presencePenalty: 0, frequencyPenalty: 0, responseModalities: ["TEXT"] },
});
const callingConfig = only({
  mode: z.enum(["MODE_UNSPECIFIED", "AUTO", "ANY", "NONE", "VALIDATED"]).nullish(),
  allowedFunctionNames: z.array(z.string()).nullish(),
});
const fields = {
  contents: z.array(content).min(1),
  systemInstruction: only({ role: z.string().nullish(), parts: z.array(only({ text: z.string().nullish() })) }).nullish(),
  tools: z
    .array(
      only(
        { functionDeclarations: z.array(declaration).nullish() },
        "functionDeclarations, as other tools run on the vendor's servers",
      ),
    )
    .nullish(),
  toolConfig: only({ functionCallingConfig: callingConfig.nullish() }).nullish(),
  generationConfig: geminiMessage(configDoor.schema).nullish(),
  safetySettings: z.array(z.looseObject({ threshold: z.string().nullish() })).nullish(),
} as const;
const contentDoor = requestDoor("a request of Gemini", fields, { harmless: ["model", "labels", "serviceTier"], neutral: {} });
const contentSchema = geminiMessage(contentDoor.schema);
type ContentBody = z.output<typeof contentSchema>;
type Config = NonNullable<ContentBody["generationConfig"]>;
type Part = z.output<typeof part>;

function read(bytes: Buffer, state: WireState, { model, stream }: Pick<ParsedRequest, "model" | "stream">): Exchange {
  const alt = state.query.get("alt");
  if (stream && alt !== "sse") throw new HttpError(400, "alt", alt ?? undefined, { expected: "sse: a stream is of events" });
  const body = parseBody(bytes, contentSchema);
  const config = body.generationConfig ?? {};
  const frame = { modelVersion: model, responseId: state.id };
  return {
    parsed: { model, stream, ...parsedRequest(body, config) },
    answer: (replies) => ({
      candidates: replies.map((reply, index) => {
        const own = partsOf(reply, config, `${state.id}${index}`);
        return candidate(index, own, { ...endOf(reply), ...tokensOf(drawnTokens(reply), config, state) });
      }),
      usageMetadata: usageOf(replies),
      ...frame,
    }),
    stream: (send) => streamed(send, frame, config, state),
  };
}

function parsedRequest(body: ContentBody, config: Config): Omit<ParsedRequest, "model" | "stream"> {
  const unknown = contentDoor.others(body);
  const { includeThoughts: _, ...thinking } = config.thinkingConfig ?? {};
  const isFiltered = (body.safetySettings ?? []).some(({ threshold }) => !/^(?:BLOCK_NONE|OFF)$/.test(threshold ?? ""));
  const declared = (body.tools ?? []).flatMap(({ functionDeclarations }) => functionDeclarations ?? []);
  const tools = declared.map(({ name, description, parameters, parametersJsonSchema }) => {
    if (parameters && parametersJsonSchema)
      throw new HttpError(400, "parametersJsonSchema", name, { expected: "none beside parameters" });
    return shownTool(name, description ?? "", parametersSchema.parse(parameters ?? parametersJsonSchema));
  });
  const system = (body.systemInstruction?.parts ?? []).map(({ text }) => text ?? "").join("\n");
  return {
    count: config.candidateCount ?? 1,
    conversation: {
      messages: [...(system === "" ? [] : [{ role: "system", content: system } as const]), ...messagesOf(body)],
      tools,
      ...choiceOf(body, tools),
      ...formOf(config),
      // A part has its call whole.
      wholeCalls: true,
      maxTokens: config.maxOutputTokens,
      stopStrings: config.stopSequences ?? [],
      topLogprobs: (config.responseLogprobs && config.logprobs) || undefined,
    },
    sampling: {
      ...{ temperature: config.temperature, topP: config.topP, topK: config.topK || undefined, seed: config.seed },
      others: {
        ...unknown,
        ...configDoor.others(config),
        ...(Object.keys(thinking).length === 0 ? {} : { thinkingConfig: thinking }),
        ...(isFiltered ? { safetySettings: body.safetySettings } : {}),
      },
    },
  };
}

function choiceOf({ toolConfig }: ContentBody, tools: readonly Tool[]): Pick<ConversationRequest, "toolChoice" | "strictTools"> {
  const { mode, allowedFunctionNames: allowed } = toolConfig?.functionCallingConfig ?? {};
  const names = tools.map(({ name }) => name);
  const field = "allowedFunctionNames";
  if (mode === "ANY" && names.length === 0) throw new HttpError(400, "mode", mode, { expected: "functions beside it" });
  const [first, ...more] = allowed ?? [];
  if (first !== undefined) {
    for (const name of [first, ...more]) requireTool(name, tools, field);
    if (mode === "ANY" && more.length === 0) return { toolChoice: { tool: first } };
    if (!(mode === "ANY" || mode === "VALIDATED") || !names.every((name) => allowed?.includes(name)))
      throw new HttpError(400, field, allowed, { expected: "one with the mode ANY, or all: the model is shown all" });
  }
  if (mode === "ANY") return { toolChoice: "required" };
  if (mode === "VALIDATED") return { strictTools: names };
  return { toolChoice: mode === "NONE" ? "none" : "auto" };
}

function formOf({ responseMimeType: type, responseSchema, responseJsonSchema }: Config): Pick<ConversationRequest, "form"> {
  const schema = responseSchema ?? responseJsonSchema;
  if (responseSchema && responseJsonSchema)
    throw new HttpError(400, "responseJsonSchema", "an object", { expected: "none beside responseSchema" });
  if (type === "application/json") return { form: schema ? { schema } : "json" };
  if (!schema) return {};
  throw new HttpError(400, "responseMimeType", type ?? undefined, { expected: "application/json, with a schema" });
}

function messagesOf({ contents }: ContentBody): Message[] {
  const messages: Message[] = [];
  const waiting: ToolCall[] = [];
  const answer = ({ id, name, response }: NonNullable<Part["functionResponse"]>): Message => {
    // Ids are optional: without them calls of one name are answered in their order.
    const isAnswered = (call: ToolCall) => call.name === name && (!id || call.id === undefined || call.id === id);
    const at = waiting.findIndex(isAnswered);
    if (at === -1)
      throw new HttpError(400, "functionResponse", id ?? name, { expected: "the id or the name of a call before it" });
    const [call] = waiting.splice(at, 1);
    return { role: "tool", name, callId: call?.id, content: answerText(response) };
  };
  for (const { role, parts } of turnsOf(contents)) {
    const other = role === "model" ? "functionResponse" : "functionCall";
    if (parts.some((part) => part[other])) throw new HttpError(400, other, `of the ${role}`, { expected: "the other role's" });
    if (role === "model") {
      const said = saidIn(parts);
      waiting.push(...(said.toolCalls ?? []));
      messages.push(said);
      continue;
    }
    messages.push(...parts.flatMap(({ functionResponse }) => (functionResponse ? [answer(functionResponse)] : [])));
    const texts = parts.flatMap(({ text }) => (typeof text === "string" ? [text] : []));
    if (texts.length > 0) messages.push({ role: "user", content: texts.join("\n") });
  }
  return messages;
}

/** Contents with those of the model in a row as one: clients keep a streamed answer as one content a chunk. */
function turnsOf(contents: ContentBody["contents"]): { readonly role: "user" | "model"; readonly parts: Part[] }[] {
  const turns: { readonly role: "user" | "model"; readonly parts: Part[] }[] = [];
  for (const { role: given, parts } of contents) {
    const role = given === "model" ? "model" : "user";
    const last = turns.at(-1);
    if (role === "model" && last?.role === role) last.parts.push(...(parts ?? []));
    else turns.push({ role, parts: [...(parts ?? [])] });
  }
  return turns;
}

function saidIn(parts: readonly Part[]): AssistantMessage {
  const textOf = (isThought: boolean) =>
    parts.map(({ text, thought }) => ((thought ?? false) === isThought ? (text ?? "") : "")).join("");
  const toolCalls = parts.flatMap(({ functionCall: call }): ToolCall[] =>
    call ? [{ ...(call.id ? { id: call.id } : {}), name: call.name, ...readArguments(JSON.stringify(call.args ?? {})) }] : [],
  );
  return assistantMessage(textOf(false), textOf(true), toolCalls);
}

/** The text of a function's answer. As the interface has it, `output` is the answer if it is there alone. */
function answerText(response: Readonly<Record<string, unknown>>): string {
  const { output, ...rest } = response;
  const value = output !== undefined && Object.keys(rest).length === 0 ? output : response;
  return typeof value === "string" ? value : JSON.stringify(value);
}

function partsOf({ message }: ConversationReply, { thinkingConfig }: Config, id: string): object[] {
  const { content: text, reasoning } = message;
  return [
    ...(reasoning !== undefined && thinkingConfig?.includeThoughts ? [{ text: reasoning, thought: true }] : []),
    ...(text === "" ? [] : [{ text }]),
    ...callsOf(message, id),
  ];
}

function callsOf({ toolCalls = [] }: AssistantMessage, id: string): object[] {
  return toolCalls.map(({ name, arguments: args }, i) => ({ functionCall: { id: callId(id, i), name, args } }));
}

/** Clients leave answers without parts out of their histories. */
function candidate(index: number, parts: readonly object[], end: object = {}): object {
  return { index, content: { role: "model", parts: parts.length === 0 ? [{ text: "" }] : parts }, ...end };
}

function endOf({ finish }: ConversationReply): object {
  return { finishReason: finish === "length" ? "MAX_TOKENS" : "STOP" };
}

/** Log-probs of tokens, if requested. */
function tokensOf(drawn: readonly DrawnToken[], { responseLogprobs }: Config, { decode }: WireState): object {
  if (!responseLogprobs) return {};
  const entry = (tokenId: number, logProbability: number) => ({ token: decode([tokenId]), tokenId, logProbability });
  const chosenCandidates = drawn.map(({ token, logprob }) => entry(token, logprob));
  const topCandidates = drawn.map((each) => ({ candidates: candidatesOf(each, entry) }));
  return { logprobsResult: { chosenCandidates, topCandidates } };
}

function usageOf(replies: Replies): object {
  const candidatesTokenCount = replies.reduce((sum, { completionTokens }) => sum + completionTokens, 0);
  const [{ promptTokens: promptTokenCount }] = replies;
  return { promptTokenCount, candidatesTokenCount, totalTokenCount: promptTokenCount + candidatesTokenCount };
}

function streamed(send: SendEvent, frame: object, config: Config, state: WireState): StreamedAnswer {
  /** Tokens of each candidate since its last chunk, and the number of those before. */
  const drawn: { tokens: DrawnToken[]; sent: number }[] = [];
  return {
    delta: (index, delta) => {
      const own = (drawn[index] ??= { tokens: [], sent: 0 });
      own.tokens.push(...delta.tokens);
      const isThought = delta.kind === "reasoning";
      // Calls come at the end, with their reply.
      if (!(delta.kind === "text" || (isThought && config.thinkingConfig?.includeThoughts))) return;
      const said = { text: delta.text, ...(isThought ? { thought: true } : {}) };
      send({ candidates: [candidate(index, [said], tokensOf(own.tokens, config, state))], ...frame });
      drawn[index] = { tokens: [], sent: own.sent + own.tokens.length };
    },
    end: (replies) => {
      for (const [index, reply] of replies.entries()) {
        const rest = drawnTokens(reply).slice(drawn[index]?.sent ?? 0);
        const end = { ...endOf(reply), ...tokensOf(rest, config, state) };
        const calls = callsOf(reply.message, `${state.id}${index}`);
        send({ candidates: [candidate(index, calls, end)], usageMetadata: usageOf(replies), ...frame });
      }
    },
  };
}

const statuses: Readonly<Record<number, string>> = {
  ...{ 400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND" },
  ...{ 413: "INVALID_ARGUMENT", 429: "RESOURCE_EXHAUSTED", 503: "UNAVAILABLE" },
};

export function geminiError({ status, message }: Failure): object {
  return { error: { code: status, message, status: statuses[status] ?? "INTERNAL" } };
}

/** A model as `GET /v1beta/models` lists it. */
export function geminiCard(name: string, maxLength: number): object {
  return {
    ...{ name: `models/${name}`, displayName: name, version: "1", inputTokenLimit: maxLength, outputTokenLimit: maxLength },
    supportedGenerationMethods: ["generateContent", "countTokens"],
  };
}
