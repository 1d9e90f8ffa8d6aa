import { z } from "zod";
import type { ConversationReply } from "../chat/conversation.ts";
import type { AssistantMessage, Message } from "../core/messages.ts";
import { parseBody } from "../http/body.ts";
import { Refusal } from "../http/refusal.ts";
import {
  type Asked,
  argumentsText,
  CallNames,
  callIds,
  type Exchange,
  othersOf,
  parametersSchema,
  requireTool,
  type SendEvent,
  type StreamedAnswer,
  shownTool,
  textContent,
  type Wire,
  type WireState,
} from "./asked.ts";
import { tokenLogprobs } from "./chat-completions.ts";
import { openAiError } from "./openai-error.ts";

/** `POST /v1/responses` of the OpenAI interface: items in, items out. Answers are kept for `previous_response_id` and for references to items. */
export const responses: Wire = { read, error: openAiError };

const content = textContent("input_text", "output_text", "text", "refusal");
const itemSchema = z.union([
  z.looseObject({ type: z.literal("function_call"), call_id: z.string(), name: z.string().min(1), arguments: z.string() }),
  z.looseObject({ type: z.literal("function_call_output"), call_id: z.string(), output: content }),
  z.looseObject({
    type: z.literal("reasoning"),
    content: z.array(z.looseObject({ text: z.string() })).nullish(),
  }),
  z.looseObject({ type: z.literal("item_reference"), id: z.string() }),
  z.looseObject({
    type: z.literal("message").optional(),
    role: z.enum(["system", "developer", "user", "assistant"]),
    content,
  }),
]);
type Item = z.output<typeof itemSchema>;
const fields = {
  model: z.string(),
  input: z.union([z.string().transform((text): Item[] => [{ role: "user", content: text }]), z.array(itemSchema)]),
  instructions: z.string().nullish(),
  previous_response_id: z.string().nullish(),
  tools: z
    .array(
      z.looseObject({
        type: z.literal("function", "function: other tools run on the vendor's servers"),
        name: z.string().min(1),
        description: z.string().nullish(),
        parameters: parametersSchema,
        strict: z.boolean().nullish(),
      }),
    )
    .nullish(),
  tool_choice: z
    .union([z.enum(["auto", "none", "required"]), z.looseObject({ type: z.literal("function"), name: z.string() })])
    .nullish(),
  parallel_tool_calls: z.boolean().nullish(),
  text: z
    .looseObject({
      format: z
        .discriminatedUnion("type", [
          z.looseObject({ type: z.literal("text") }),
          z.looseObject({ type: z.literal("json_object") }),
          z.looseObject({ type: z.literal("json_schema"), schema: z.record(z.string(), z.unknown()) }),
        ])
        .nullish(),
      verbosity: z.string().nullish(),
    })
    .nullish(),
  include: z.array(z.string()).nullish(),
  top_logprobs: z.int().min(0).max(20).nullish(),
  stream: z.boolean().nullish(),
  max_output_tokens: z.int().min(1).nullish(),
  temperature: z.number().min(0).nullish(),
  top_p: z.number().gt(0).max(1).nullish(),
  store: z.boolean().nullish(),
} as const;
const responsesSchema = z.looseObject(fields);
type ResponsesBody = z.output<typeof responsesSchema>;

const neutral = { reasoning: {}, truncation: "disabled", background: false, max_tool_calls: null };
/** Things that a client may ask to be included: what is not there is left out, as for a model without it. */
const included = ["reasoning.encrypted_content", "message.output_text.logprobs"];

function read(bytes: Buffer, state: WireState): Exchange {
  const body = parseBody(bytes, responsesSchema);
  const messages = [...earlier(body, state), ...messagesOf(body.input, state)];
  const asked = askedOf(body, messages);
  const whole = (replies: readonly ConversationReply[]) => {
    const response = responseOf(replies[0], body, state);
    if (body.store !== false) keep(state, messages, replies[0]);
    return response;
  };
  return { asked, answer: whole, stream: (send) => streamed(send, body, state, whole) };
}

function askedOf(body: ResponsesBody, messages: readonly Message[]): Asked {
  const { instructions, tool_choice, text, max_output_tokens, temperature, top_p } = body;
  const others = othersOf(body, { read: Object.keys(fields), harmless: ["stream_options"], neutral });
  const strange = (body.include ?? []).find((name) => !included.includes(name));
  if (strange !== undefined) throw new Refusal(400, "include", strange, { expected: included });
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
      maxTokens: max_output_tokens ?? undefined,
      ...(body.top_logprobs ? { topLogprobs: body.top_logprobs } : {}),
    },
    sampling: {
      temperature: temperature ?? undefined,
      topP: top_p ?? undefined,
      others: text?.verbosity && text.verbosity !== "medium" ? { ...others, "text.verbosity": text.verbosity } : others,
    },
  };
}

/** The conversation of the answer that the request continues, without its instructions. */
function earlier({ previous_response_id: id }: ResponsesBody, { kept }: WireState): readonly Message[] {
  if (id === undefined || id === null) return [];
  const messages = kept.get(id);
  if (messages !== undefined) return messages as readonly Message[];
  throw new Refusal(404, "previous_response_id", id, {
    expected: "an answer that this server gave this client and was asked to store",
    code: "previous_response_not_found",
  });
}

/** Conversations and items that are kept for a client. */
const mostKept = 4096;

function keep({ kept, id }: WireState, messages: readonly Message[], reply: ConversationReply): void {
  kept.set(`resp_${id}`, [...messages, { ...reply.message, toolCalls: calledBy(reply, id) }]);
  for (const item of itemsOf(reply, id)) kept.set((item as { readonly id: string }).id, item);
  for (const old of kept.keys()) {
    if (kept.size <= mostKept) break;
    kept.delete(old);
  }
}

function calledBy(reply: ConversationReply, id: string): AssistantMessage["toolCalls"] {
  const ids = callIds(reply, id);
  return reply.message.toolCalls?.map((call, i) => ({ ...call, id: ids[i] }));
}

/** Items as messages: reasoning, text and calls that follow each other are one message of the assistant. */
function messagesOf(items: readonly Item[], { kept }: WireState): Message[] {
  const names = new CallNames();
  for (const item of kept.values()) {
    const known = itemSchema.safeParse(item);
    if (known.success && known.data.type === "function_call")
      names.call(known.data.call_id, known.data.name, known.data.arguments, "arguments");
  }
  const messages: Message[] = [];
  let said: { content?: string; reasoning?: string; calls: NonNullable<AssistantMessage["toolCalls"]>[number][] } | undefined;
  const close = () => {
    if (said === undefined) return;
    const { content: text = "", reasoning, calls } = said;
    messages.push({
      ...{ role: "assistant", content: text },
      ...(reasoning ? { reasoning } : {}),
      ...(calls.length === 0 ? {} : { toolCalls: calls }),
    });
    said = undefined;
  };
  const speak = () => (said ??= { calls: [] });
  for (const given of items) {
    const item = given.type === "item_reference" ? referred(given.id, kept) : given;
    if (item.type === "reasoning") {
      close();
      speak().reasoning = (item.content ?? []).map(({ text }) => text).join("");
    } else if (item.type === "function_call") {
      speak().calls.push(names.call(item.call_id, item.name, item.arguments, "input.arguments"));
    } else if (item.type === "function_call_output") {
      close();
      messages.push(names.answer(item.call_id, item.output, "input.call_id"));
    } else if (item.type !== "item_reference" && item.role === "assistant") {
      if (said?.content !== undefined || (said?.calls.length ?? 0) > 0) close();
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
  throw new Refusal(404, "input.id", id, { expected: "an item that this server gave this client and was asked to store" });
}

/** Returns a reply as items of the output. */
function itemsOf(reply: ConversationReply, id: string, logprobs: readonly object[] = []): object[] {
  const { content: text, reasoning, toolCalls = [] } = reply.message;
  const status = reply.finish === "length" ? "incomplete" : "completed";
  const ids = callIds(reply, id);
  return [
    ...(reasoning === undefined ? [] : [reasoningItem(id, reasoning, status)]),
    ...(text === "" && toolCalls.length > 0 ? [] : [messageItem(id, status, [textPart(text, logprobs)])]),
    ...toolCalls.map((call, i) => callItem(ids[i], call.name, argumentsText(call), "completed")),
  ];
}

const reasoningItem = (id: string, text: string, status: string) => ({
  ...{ type: "reasoning", id: `rs_${id}`, summary: [], status },
  content: text === "" ? [] : [{ type: "reasoning_text", text }],
});
const messageItem = (id: string, status: string, parts: readonly object[]) => ({
  ...{ type: "message", id: `msg_${id}`, status, role: "assistant" },
  content: parts,
});
const textPart = (text: string, logprobs: readonly object[] = []) => ({ type: "output_text", text, annotations: [], logprobs });
const callItem = (callId: string, name: string, args: string, status: string) => ({
  ...{ type: "function_call", id: `fc_${callId}`, call_id: callId, name, arguments: args, status },
});

/** The answer's frame. */
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

function responseOf(reply: ConversationReply, body: ResponsesBody, state: WireState): object {
  const { finish, promptTokens, completionTokens, sampled } = reply;
  const wanted = (body.include ?? []).includes("message.output_text.logprobs") || Boolean(body.top_logprobs);
  return {
    ...frameOf(body, state, finish === "length" ? "incomplete" : "completed"),
    ...(finish === "length" ? { incomplete_details: { reason: "max_output_tokens" } } : {}),
    output: itemsOf(reply, state.id, wanted ? tokenLogprobs(sampled, state) : []),
    usage: {
      ...{ input_tokens: promptTokens, input_tokens_details: { cached_tokens: 0 } },
      ...{ output_tokens: completionTokens, output_tokens_details: { reasoning_tokens: 0 } },
      total_tokens: promptTokens + completionTokens,
    },
  };
}

function streamed(
  send: SendEvent,
  body: ResponsesBody,
  state: WireState,
  whole: (replies: readonly ConversationReply[]) => object,
): StreamedAnswer {
  const { id } = state;
  let sequence = 0;
  const event = (type: string, data: object) => send({ type, sequence_number: sequence++, ...data }, type);
  const open: { kind: "reasoning" | "text"; text: string }[] = [];
  let begun = false;
  let index = -1;
  const begin = () => {
    if (begun) return;
    begun = true;
    for (const type of ["response.created", "response.in_progress"])
      event(type, { response: frameOf(body, state, "in_progress") });
  };
  const place = { content_index: 0 };
  const add = (item: object) => event("response.output_item.added", { output_index: ++index, item });
  const done = (item: object) => event("response.output_item.done", { output_index: index, item });
  const close = () => {
    const part = open.pop();
    if (part === undefined) return;
    const at = { item_id: `${part.kind === "text" ? "msg" : "rs"}_${id}`, output_index: index, ...place };
    if (part.kind === "text") {
      event("response.output_text.done", { ...at, text: part.text, logprobs: [] });
      event("response.content_part.done", { ...at, part: textPart(part.text) });
      done(messageItem(id, "completed", [textPart(part.text)]));
    } else {
      event("response.reasoning_text.done", { ...at, text: part.text });
      done(reasoningItem(id, part.text, "completed"));
    }
  };
  const delta = (kind: "reasoning" | "text", text: string) => {
    begin();
    if (open[0]?.kind !== kind) {
      close();
      open.push({ kind, text: "" });
      add(kind === "text" ? messageItem(id, "in_progress", []) : reasoningItem(id, "", "in_progress"));
      if (kind === "text")
        event("response.content_part.added", { item_id: `msg_${id}`, output_index: index, ...place, part: textPart("") });
    }
    open[0].text += text;
    if (text === "") return;
    const at = { item_id: `${kind === "text" ? "msg" : "rs"}_${id}`, output_index: index, ...place };
    event(kind === "text" ? "response.output_text.delta" : "response.reasoning_text.delta", { ...at, delta: text, logprobs: [] });
  };
  return {
    delta: (_, { kind, text }) => delta(kind, text),
    end: (replies) => {
      begin();
      const [reply] = replies;
      const { toolCalls = [] } = reply.message;
      if (toolCalls.length === 0 && open[0]?.kind !== "text") delta("text", "");
      close();
      const ids = callIds(reply, id);
      for (const [i, call] of toolCalls.entries()) {
        const args = argumentsText(call);
        const at = () => ({ item_id: `fc_${ids[i]}`, output_index: index });
        add(callItem(ids[i], call.name, "", "in_progress"));
        event("response.function_call_arguments.delta", { ...at(), delta: args });
        event("response.function_call_arguments.done", { ...at(), name: call.name, arguments: args });
        done(callItem(ids[i], call.name, args, "completed"));
      }
      event(reply.finish === "length" ? "response.incomplete" : "response.completed", { response: whole(replies) });
    },
  };
}
