import { z } from "zod";
import type { ConversationReply } from "../../src/chat/conversation.ts";
import { door } from "../../src/core/door.ts";
import type { Message } from "../../src/core/messages.ts";
import { failedResult } from "../../src/core/tool-results.ts";
import { parseBody } from "../http/body.ts";
import { HttpError } from "../http/http-error.ts";
import {
  assistantMessage,
  CallNames,
  callId,
  type Exchange,
  type Failure,
  functionFields,
  optional,
  type ParsedRequest,
  parametersSchema,
  requestDoor,
  requireTool,
  type SendEvent,
  type StreamedAnswer,
  samplingFields,
  shownTool,
  stopStringOf,
  textContent,
  type Wire,
  type WireState,
} from "./parsed-request.ts";

/** `POST /v1/messages` of the Anthropic interface, and its `count_tokens`: messages of blocks in, a message of blocks out. */
export const anthropicMessages: Wire = { read, error: anthropicError };

/** The refusal after which Anthropic's tool runner continues without conversations that a server keeps. */
export const noThreads = "thread_unsupported_request";
const noThreadsDetails = { error_code: noThreads, unsupported: ["thread"] };

const ofText = ["cache_control", "citations"];
const content = textContent(["text"], ofText);
const block = z.discriminatedUnion(
  "type",
  [
    door("a block of text", { type: z.literal("text"), text: z.string() }, { ignores: ofText }),
    door("a block of thinking", { type: z.literal("thinking"), thinking: z.string() }, { ignores: ["signature"] }),
    door("a block of thinking that nobody else can read", { type: z.literal("redacted_thinking") }, { ignores: ["data"] }),
    door(
      "a block with a call",
      { type: z.literal("tool_use"), id: z.string(), name: z.string().min(1), input: z.unknown() },
      { ignores: ["cache_control"], neutral: { caller: { type: "direct" } } },
    ),
    door(
      "a block with a call's result",
      {
        type: z.literal("tool_result"),
        tool_use_id: z.string(),
        content: content.nullish(),
        is_error: z.boolean().nullish(),
      },
      { ignores: ["cache_control"] },
    ),
  ],
  { error: "text, thinking, tool_use or tool_result: this endpoint has no others" },
);
const blocks = z.union([z.string().transform((text) => [{ type: "text" as const, text }]), z.array(block)]);
const fields = {
  model: z.string(),
  messages: z.array(door("a message of Anthropic's", { role: z.enum(["user", "assistant", "system"]), content: blocks })).min(1),
  system: content.nullish(),
  tools: z
    .array(
      door(
        "a tool of Anthropic's",
        {
          type: z.literal("custom", "custom: other tools run on the vendor's servers").nullish(),
          ...functionFields,
          input_schema: parametersSchema,
        },
        {
          ignores: ["cache_control", "eager_input_streaming"],
          neutral: { defer_loading: false, allowed_callers: ["direct"], input_examples: [] },
        },
      ),
    )
    .nullish(),
  tool_choice: z
    .discriminatedUnion("type", [
      door("a choice of tools", { type: z.enum(["auto", "any"]), disable_parallel_tool_use: z.boolean().nullish() }),
      door("the choice of no tool", { type: z.literal("none") }),
      door("the choice of a tool", {
        ...{ type: z.literal("tool"), name: z.string() },
        disable_parallel_tool_use: z.boolean().nullish(),
      }),
    ])
    .nullish(),
  output_config: door("the output of Anthropic's messages", {
    format: door("a schema's form of Anthropic's", {
      ...{ type: z.literal("json_schema"), schema: z.record(z.string(), z.unknown()) },
    }).nullish(),
    effort: z.string().nullish(),
  }).nullish(),
  max_tokens: z.int().min(1).optional(),
  stop_sequences: z.array(z.string().min(1)).nullish(),
  temperature: samplingFields.temperature,
  top_p: samplingFields.top_p,
  top_k: optional(z.int().min(0)),
  stream: z.boolean().nullish(),
} as const;
const messagesDoor = requestDoor("a request of Anthropic's messages", fields, {
  harmless: ["cache_control", "inference_geo", "context_management"],
  neutral: { thinking: { type: "disabled" } },
});
type MessagesBody = z.output<typeof messagesDoor.schema>;

function read(bytes: Buffer, state: WireState): Exchange {
  const body = parseBody(bytes, messagesDoor.schema);
  if (body.thread)
    throw new HttpError(400, "thread", body.thread, {
      expected: "none: requests here have whole conversations",
      code: noThreads,
    });
  return {
    parsed: parsedRequest(body),
    answer: ([reply]) => ({ ...frameOf(body, state, reply), content: contentOf(reply, state.id), ...endOf(reply, body, state) }),
    stream: (send) => streamed(send, body, state),
  };
}

function parsedRequest(body: MessagesBody): ParsedRequest {
  const { system, tool_choice: choice, output_config: output, temperature, top_p: topP, top_k } = body;
  const others = messagesDoor.others(body);
  const tools = (body.tools ?? []).map((tool) => shownTool(tool.name, tool.description ?? "", tool.input_schema));
  const single = choice !== null && choice !== undefined && "disable_parallel_tool_use" in choice;
  return {
    model: body.model,
    stream: body.stream ?? false,
    count: 1,
    conversation: {
      messages: [...(system ? [{ role: "system", content: system } as const] : []), ...messagesOf(body)],
      tools,
      toolChoice:
        choice?.type === "tool"
          ? requireTool(choice.name, tools, "tool_choice.name")
          : choice?.type === "any"
            ? "required"
            : (choice?.type ?? "auto"),
      parallelCalls: !(single && choice.disable_parallel_tool_use === true),
      strictTools: (body.tools ?? []).flatMap(({ name, strict }) => (strict ? [name] : [])),
      ...(output?.format ? { form: { schema: output.format.schema } } : {}),
      maxTokens: body.max_tokens,
      stopStrings: body.stop_sequences ?? [],
    },
    sampling: {
      ...{ temperature, topP, topK: top_k || undefined },
      others: output?.effort ? { ...others, "output_config.effort": output.effort } : others,
    },
  };
}

function messagesOf({ messages }: MessagesBody): Message[] {
  const names = new CallNames();
  return messages.flatMap(({ role, content: given }): Message[] => {
    const textsOf = given.flatMap((each) => (each.type === "text" ? [each.text] : []));
    if (role === "system") return [{ role, content: textsOf.join("\n") }];
    if (role === "user") {
      const answers = given.flatMap((each) =>
        each.type === "tool_result" ? [names.answer(each.tool_use_id, resultOf(each), "messages.tool_use_id")] : [],
      );
      return [...answers, ...(textsOf.length === 0 ? [] : [{ role: "user", content: textsOf.join("\n") } as const])];
    }
    const reasoning = given.flatMap((each) => (each.type === "thinking" ? [each.thinking] : [])).join("");
    const toolCalls = given.flatMap((each) =>
      each.type === "tool_use" ? [names.call(each.id, each.name, JSON.stringify(each.input ?? {}))] : [],
    );
    return [assistantMessage(textsOf.join(""), reasoning, toolCalls)];
  });
}

function resultOf({ content: text, is_error }: { content?: string | null; is_error?: boolean | null }): string {
  return is_error ? failedResult(text ?? "") : (text ?? "");
}

function frameOf({ model }: MessagesBody, { id }: WireState, reply: ConversationReply | undefined): object {
  const tokens = { input_tokens: reply?.promptTokens ?? 0, output_tokens: reply?.completionTokens ?? 0 };
  return {
    ...{ id: `msg_${id}`, type: "message", role: "assistant", model, content: [], stop_reason: null, stop_sequence: null },
    usage: { ...tokens, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 },
  };
}

function contentOf(reply: ConversationReply, id: string): object[] {
  const { content: text, reasoning, toolCalls = [] } = reply.message;
  return [
    ...(reasoning === undefined ? [] : [{ type: "thinking", thinking: reasoning, signature: "" }]),
    ...(text === "" ? [] : [{ type: "text", text, citations: null }]),
    ...toolCalls.map(({ name, arguments: input }, i) => ({ type: "tool_use", id: callId(id, i), name, input })),
  ];
}

function endOf(reply: ConversationReply, { stop_sequences }: MessagesBody, state: WireState): object {
  const stop = stopStringOf(reply, stop_sequences ?? [], state);
  if (reply.finish === "length") return { stop_reason: "max_tokens", stop_sequence: null };
  if ((reply.message.toolCalls ?? []).length > 0) return { stop_reason: "tool_use", stop_sequence: null };
  return { stop_reason: stop === undefined ? "end_turn" : "stop_sequence", stop_sequence: stop ?? null };
}

function streamed(send: SendEvent, body: MessagesBody, state: WireState): StreamedAnswer {
  const event = (type: string, data: object) => send({ type, ...data }, type);
  let begun = false;
  let index = -1;
  let open: "text" | "reasoning" | "call" | undefined;
  const begin = () => {
    if (!begun) event("message_start", { message: frameOf(body, state, undefined) });
    begun = true;
  };
  const close = () => {
    if (open !== undefined) event("content_block_stop", { index });
    open = undefined;
  };
  const start = (kind: "text" | "reasoning" | "call", block: object) => {
    close();
    open = kind;
    event("content_block_start", { index: ++index, content_block: block });
  };
  const add = (delta: object) => event("content_block_delta", { index, delta });
  return {
    delta: (_, delta) => {
      begin();
      if (delta.kind === "call")
        start("call", { type: "tool_use", id: callId(state.id, delta.index), name: delta.name, input: {} });
      else if (delta.kind === "arguments") add({ type: "input_json_delta", partial_json: delta.text });
      else if (delta.kind === "text") {
        if (open !== "text") start("text", { type: "text", text: "", citations: null });
        add({ type: "text_delta", text: delta.text });
      } else {
        if (open !== "reasoning") start("reasoning", { type: "thinking", thinking: "", signature: "" });
        add({ type: "thinking_delta", thinking: delta.text });
      }
    },
    end: ([reply]) => {
      begin();
      close();
      const usage = { input_tokens: reply.promptTokens, output_tokens: reply.completionTokens };
      event("message_delta", { delta: endOf(reply, body, state), usage });
      event("message_stop", {});
    },
  };
}

const types: Readonly<Record<number, string>> = {
  ...{ 400: "invalid_request_error", 401: "authentication_error", 403: "permission_error", 404: "not_found_error" },
  ...{ 413: "request_too_large", 429: "rate_limit_error" },
};

function anthropicError({ status, message, code }: Failure): object {
  return {
    type: "error",
    error: { type: types[status] ?? "api_error", message, ...(code === noThreads ? { details: noThreadsDetails } : {}) },
  };
}
