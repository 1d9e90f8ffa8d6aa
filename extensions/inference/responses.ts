import { z } from "zod";
import type { ConversationReply } from "../../src/chat/conversation.ts";
import { door } from "../../src/core/door.ts";
import type { AssistantMessage, Message } from "../../src/core/messages.ts";
import { parseBody } from "../http/body.ts";
import { HttpError } from "../http/http-error.ts";
import { openAiError } from "./openai-error.ts";
import {
  argumentsText,
  assistantMessage,
  CallNames,
  callId,
  drawnTokens,
  type Exchange,
  functionFields,
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
  tokenLogprobs,
  type Wire,
  type WireState,
} from "./parsed-request.ts";

/** `POST /v1/responses` of the OpenAI interface: items in, items out. Answers are kept for `previous_response_id` and for references to items. */
export const responses: Wire = { read, error: openAiError };

const texts = ["input_text", "output_text", "text"] as const;
const partSchema = z.discriminatedUnion(
  "type",
  [
    door("a part of an item", { type: z.enum(texts), text: z.string() }, { ignores: ["annotations", "logprobs"] }),
    door("a part with a refusal", { type: z.literal("refusal"), refusal: z.string() }),
  ],
  { error: "only text" },
);
const content = z.union([
  z.string(),
  z.array(partSchema).transform((parts) => parts.map((part) => ("text" in part ? part.text : part.refusal)).join("")),
]);
const ofItems = { ignores: ["id", "status", "created_by"] };
const textsSchema = z
  .array(door("a part of reasoning", { type: z.string().nullish(), text: z.string() }))
  .nullish()
  .transform((parts) => (parts ?? []).map(({ text }) => text).join(""));
const itemSchema = z.union([
  door(
    "an item with a call",
    { type: z.literal("function_call"), call_id: z.string(), name: z.string().min(1), arguments: z.string() },
    ofItems,
  ),
  door(
    "an item with a call's output",
    { type: z.literal("function_call_output"), call_id: z.string(), output: content },
    ofItems,
  ),
  door(
    "an item with reasoning",
    { type: z.literal("reasoning"), content: textsSchema, summary: textsSchema },
    { ignores: [...ofItems.ignores, "encrypted_content"] },
  ),
  door("a reference to an item", { type: z.literal("item_reference"), id: z.string() }),
  door(
    "an item with a message",
    { type: z.literal("message").optional(), role: z.enum(["system", "developer", "user", "assistant"]), content },
    ofItems,
  ),
]);
type Item = z.output<typeof itemSchema>;
const fields = {
  model: z.string(),
  input: z.union([z.string().transform((text): Item[] => [{ role: "user", content: text }]), z.array(itemSchema)]),
  instructions: z.string().nullish(),
  previous_response_id: z.string().nullish(),
  tools: z
    .array(
      door("a tool of a request of responses", {
        type: z.literal("function", "function: other tools run on the vendor's servers"),
        ...functionFields,
        parameters: parametersSchema,
      }),
    )
    .nullish(),
  tool_choice: z
    .union([
      z.enum(["auto", "none", "required"]),
      door("a chosen tool of responses", { type: z.literal("function"), name: z.string() }),
    ])
    .nullish(),
  parallel_tool_calls: z.boolean().nullish(),
  text: door("the text of responses", {
    format: z
      .discriminatedUnion("type", [
        door("the form of text", { type: z.literal("text") }),
        door("the form of JSON", { type: z.literal("json_object") }),
        door(
          "a schema's form of responses",
          { type: z.literal("json_schema"), schema: z.record(z.string(), z.unknown()) },
          { ignores: ["name", "description", "strict"] },
        ),
      ])
      .nullish(),
    verbosity: z.string().nullish(),
  }).nullish(),
  include: z.array(z.string()).nullish(),
  top_logprobs: z.int().min(0).max(20).nullish(),
  stream: z.boolean().nullish(),
  max_output_tokens: optional(z.int().min(1)),
  temperature: samplingFields.temperature,
  top_p: samplingFields.top_p,
  store: z.boolean().nullish(),
} as const;
const neutral = { reasoning: {}, truncation: "disabled", background: false, max_tool_calls: null };
const responsesDoor = requestDoor("a request of responses", fields, { harmless: ["stream_options"], neutral });
type ResponsesBody = z.output<typeof responsesDoor.schema>;
/** Things that a client may ask to be included: what is not there is left out, as for a model without it. */
const included = ["reasoning.encrypted_content", "message.output_text.logprobs"];

function read(bytes: Buffer, state: WireState): Exchange {
  const body = parseBody(bytes, responsesDoor.schema);
  const messages = [...earlier(body, state), ...messagesOf(body.input, state)];
  const parsed = parsedRequest(body, messages);
  const whole = ([reply]: Replies, items: readonly OutputItem[] = itemsOf(reply, body, state)) => {
    if (body.store !== false) keep(state, [...messages, withIds(reply, state.id)], items);
    return responseOf(reply, items, body, state);
  };
  return { parsed, answer: (replies) => whole(replies), stream: (send) => streamed(send, body, state, whole) };
}

function parsedRequest(body: ResponsesBody, messages: readonly Message[]): ParsedRequest {
  const { instructions, tool_choice, text, max_output_tokens: maxTokens, temperature, top_p: topP } = body;
  const others = responsesDoor.others(body);
  const strange = (body.include ?? []).find((name) => !included.includes(name));
  if (strange !== undefined) throw new HttpError(400, "include", strange, { expected: included });
  const tools = (body.tools ?? []).map((tool) => shownTool(tool.name, tool.description ?? "", tool.parameters));
  const format = text?.format;
  return {
    model: body.model,
    stream: body.stream ?? false,
    count: 1,
    conversation: {
      messages: [...(instructions ? [{ role: "system", content: instructions } as const] : []), ...messages],
      tools,
      toolChoice:
        typeof tool_choice === "object" && tool_choice !== null
          ? requireTool(tool_choice.name, tools, "tool_choice")
          : (tool_choice ?? "auto"),
      parallelCalls: body.parallel_tool_calls ?? true,
      strictTools: (body.tools ?? []).flatMap(({ name, strict }) => (strict ? [name] : [])),
      ...(format?.type === "json_object" ? { form: "json" } : {}),
      ...(format?.type === "json_schema" ? { form: { schema: format.schema } } : {}),
      ...{ maxTokens, topLogprobs: body.top_logprobs || undefined },
    },
    sampling: {
      ...{ temperature, topP },
      others: text?.verbosity && text.verbosity !== "medium" ? { ...others, "text.verbosity": text.verbosity } : others,
    },
  };
}

/** The conversation of the answer that the request continues, without its instructions. */
function earlier({ previous_response_id: id }: ResponsesBody, { kept }: WireState): readonly Message[] {
  if (id === undefined || id === null) return [];
  const messages = kept.get(id);
  if (messages !== undefined) return messages as readonly Message[];
  throw new HttpError(404, "previous_response_id", id, {
    expected: "an answer that this server gave this client and was asked to store",
    code: "previous_response_not_found",
  });
}

/** Conversations and items that are kept for a client. */
const maxKept = 4096;

function keep({ kept, id }: WireState, messages: readonly Message[], items: readonly OutputItem[]): void {
  kept.set(`resp_${id}`, messages);
  for (const item of items) kept.set(item.id, item);
  for (const old of kept.keys()) {
    if (kept.size <= maxKept) break;
    kept.delete(old);
  }
}

function withIds({ message }: ConversationReply, id: string): Message {
  if (message.toolCalls === undefined) return message;
  return { ...message, toolCalls: message.toolCalls.map((call, i) => ({ ...call, id: callId(id, i) })) };
}

/** Items as messages: reasoning, text and calls that follow each other are one message of the assistant. */
function messagesOf(items: readonly Item[], { kept }: WireState): Message[] {
  const names = new CallNames();
  const messages: Message[] = [];
  let said: { content?: string; reasoning?: string; calls: NonNullable<AssistantMessage["toolCalls"]>[number][] } | undefined;
  const close = () => {
    if (said === undefined) return;
    messages.push(assistantMessage(said.content ?? "", said.reasoning, said.calls));
    said = undefined;
  };
  const speak = () => (said ??= { calls: [] });
  for (const given of items) {
    const item = given.type === "item_reference" ? referred(given.id, kept) : given;
    if (item.type === "reasoning") {
      close();
      speak().reasoning = item.content || item.summary;
    } else if (item.type === "function_call") {
      speak().calls.push(names.call(item.call_id, item.name, item.arguments));
    } else if (item.type === "function_call_output") {
      close();
      // A call of an answer that is kept may not be among the items.
      const call = itemSchema.safeParse(kept.get(`fc_${item.call_id}`)).data;
      if (call?.type === "function_call") names.call(call.call_id, call.name, call.arguments);
      messages.push(names.answer(item.call_id, item.output, "input.call_id"));
    } else if (item.type !== "item_reference" && item.role === "assistant") {
      if (said !== undefined && (said.content !== undefined || said.calls.length > 0)) close();
      speak().content = item.content;
    } else if (item.type !== "item_reference") {
      close();
      messages.push({ role: item.role === "user" ? "user" : "system", content: item.content });
    }
  }
  close();
  return messages;
}

function referred(id: string, kept: ReadonlyMap<string, unknown>): Item {
  const item = itemSchema.safeParse(kept.get(id));
  if (item.success) return item.data;
  throw new HttpError(404, "input.id", id, { expected: "an item that this server gave this client and was asked to store" });
}

interface OutputItem {
  readonly id: string;
}

function itemsOf(reply: ConversationReply, body: ResponsesBody, state: WireState): OutputItem[] {
  const { content: text, reasoning, toolCalls = [] } = reply.message;
  const { id } = state;
  const status = reply.finish === "length" ? "incomplete" : "completed";
  const logprobs = wantsLogprobs(body) ? tokenLogprobs(drawnTokens(reply), state) : [];
  return [
    ...(reasoning === undefined ? [] : [reasoningItem(`rs_${id}`, reasoning, status)]),
    ...(text === "" && toolCalls.length > 0 ? [] : [messageItem(`msg_${id}`, status, [textPart(text, logprobs)])]),
    ...toolCalls.map((call, i) => callItem(callId(id, i), call.name, argumentsText(call), "completed")),
  ];
}

function wantsLogprobs({ include, top_logprobs }: ResponsesBody): boolean {
  return (include ?? []).includes("message.output_text.logprobs") || Boolean(top_logprobs);
}

const reasoningItem = (id: string, text: string, status: string) => ({
  ...{ type: "reasoning", id, summary: [], status },
  content: text === "" ? [] : [{ type: "reasoning_text", text }],
});
const messageItem = (id: string, status: string, parts: readonly object[]) => ({
  ...{ type: "message", id, status, role: "assistant" },
  content: parts,
});
const textPart = (text: string, logprobs: readonly object[] = []) => ({ type: "output_text", text, annotations: [], logprobs });
const callItem = (callId: string, name: string, args: string, status: string) => ({
  ...{ type: "function_call", id: `fc_${callId}`, call_id: callId, name, arguments: args, status },
});

function frameOf(body: ResponsesBody, { id, created }: WireState, status: string): object {
  const { model, instructions, tools, tool_choice, parallel_tool_calls, text, temperature, top_p } = body;
  return {
    ...{ id: `resp_${id}`, object: "response", created_at: created, status, model, error: null, incomplete_details: null },
    ...{ instructions: instructions ?? null, previous_response_id: body.previous_response_id ?? null, metadata: {} },
    ...{ tools: tools ?? [], tool_choice: tool_choice ?? "auto", parallel_tool_calls: parallel_tool_calls ?? true },
    ...{ max_output_tokens: body.max_output_tokens ?? null, temperature: temperature ?? 1, top_p: top_p ?? 1 },
    ...{ text: { format: text?.format ?? { type: "text" } }, store: body.store ?? true, truncation: "disabled", output: [] },
    ...{ reasoning: { effort: null, summary: null }, usage: null },
  };
}

function responseOf(reply: ConversationReply, output: readonly OutputItem[], body: ResponsesBody, state: WireState): object {
  const { finish, promptTokens, completionTokens } = reply;
  return {
    ...frameOf(body, state, finish === "length" ? "incomplete" : "completed"),
    ...(finish === "length" ? { incomplete_details: { reason: "max_output_tokens" } } : {}),
    output,
    usage: {
      ...{ input_tokens: promptTokens, input_tokens_details: { cached_tokens: 0 } },
      ...{ output_tokens: completionTokens, output_tokens_details: { reasoning_tokens: 0 } },
      total_tokens: promptTokens + completionTokens,
    },
  };
}

interface OpenItem {
  readonly kind: "reasoning" | "text" | "call";
  /** The item's id; for a call the call's. */
  readonly id: string;
  /** A call's name, else empty. */
  readonly name: string;
  text: string;
  readonly logprobs: object[];
}

/** Sends the items of an answer as it is written: one is open at a time. */
function streamed(
  send: SendEvent,
  body: ResponsesBody,
  state: WireState,
  whole: (replies: Replies, items: readonly OutputItem[]) => object,
): StreamedAnswer {
  const items: OutputItem[] = [];
  let sequence = 0;
  let open: OpenItem | undefined;
  const event = (type: string, data: object) => send({ type, sequence_number: sequence++, ...data }, type);
  const begin = () => {
    if (sequence > 0) return;
    for (const type of ["response.created", "response.in_progress"])
      event(type, { response: frameOf(body, state, "in_progress") });
  };
  const placeOf = ({ id, kind }: OpenItem) => ({
    ...{ item_id: kind === "call" ? `fc_${id}` : id, output_index: items.length },
    ...(kind === "call" ? {} : { content_index: 0 }),
  });
  const close = (status = "completed") => {
    if (open === undefined) return;
    const { kind, text, logprobs, name } = open;
    const at = placeOf(open);
    if (kind === "call") event("response.function_call_arguments.done", { ...at, name, arguments: text });
    else if (kind === "reasoning") event("response.reasoning_text.done", { ...at, text });
    else {
      event("response.output_text.done", { ...at, text, logprobs });
      event("response.content_part.done", { ...at, part: textPart(text, logprobs) });
    }
    const item = itemOf(open, status);
    event("response.output_item.done", { output_index: items.length, item });
    items.push(item);
    open = undefined;
  };
  const start = (kind: OpenItem["kind"], id: string, name = ""): OpenItem => {
    begin();
    close();
    const started: OpenItem = { kind, id, name, text: "", logprobs: [] };
    open = started;
    event("response.output_item.added", { output_index: items.length, item: itemOf(started, "in_progress") });
    if (kind === "text") event("response.content_part.added", { ...placeOf(started), part: textPart("") });
    return started;
  };
  /** The item of a text or of reasoning. A further one of its kind has another id. */
  const written = (kind: "text" | "reasoning"): OpenItem =>
    open?.kind === kind ? open : start(kind, `${{ text: "msg", reasoning: "rs" }[kind]}_${state.id}${items.length || ""}`);
  return {
    delta: (_, delta) => {
      if (delta.kind === "call") return void start("call", callId(state.id, delta.index), delta.name);
      const item = delta.kind === "arguments" ? open : written(delta.kind);
      if (item === undefined) return;
      item.text += delta.text;
      const said = { ...placeOf(item), delta: delta.text };
      if (delta.kind === "arguments") event("response.function_call_arguments.delta", said);
      else if (delta.kind === "reasoning") event("response.reasoning_text.delta", said);
      else {
        const logprobs = wantsLogprobs(body) ? tokenLogprobs(delta.tokens, state) : [];
        item.logprobs.push(...logprobs);
        event("response.output_text.delta", { ...said, logprobs });
      }
    },
    end: (replies) => {
      const status = replies[0].finish === "length" ? "incomplete" : "completed";
      begin();
      // An answer without calls has a text, if an empty one.
      if ((replies[0].message.toolCalls ?? []).length === 0) written("text");
      close(status);
      event(`response.${status}`, { response: whole(replies, items) });
    },
  };
}

function itemOf({ kind, id, name, text, logprobs }: OpenItem, status: string): OutputItem {
  if (kind === "call") return callItem(id, name, text, status);
  if (kind === "reasoning") return reasoningItem(id, text, status);
  return messageItem(id, status, status === "in_progress" ? [] : [textPart(text, logprobs)]);
}
