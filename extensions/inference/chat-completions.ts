import { z } from "zod";
import { readArguments } from "../../src/chat/call-deltas.ts";
import type { ConversationReply, Delta } from "../../src/chat/conversation.ts";
import { CalledTools, messageOfWire, messageSchema } from "../../src/chat/openai-messages.ts";
import { door } from "../../src/core/door.ts";
import type { Message } from "../../src/core/messages.ts";
import type { DrawnToken } from "../../src/core/trajectory.ts";
import { parseBody } from "../http/body.ts";
import { HttpError } from "../http/http-error.ts";
import { openAiError } from "./openai-error.ts";
import {
  argumentsText,
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
  stopField,
  tokenLogprobs,
  type Wire,
  type WireState,
} from "./parsed-request.ts";

/**
 * `POST /v1/chat/completions` of the OpenAI interface: messages and tools in, a message and calls out. Continuing the last message
 * (`continue_final_message`) and ids of tokens (`return_token_ids`) are as vLLM has them.
 */
export const chatCompletions: Wire = { read, error: openAiError };

const functionSchema = door("a function of a request", { ...functionFields, parameters: parametersSchema });
const toolSchema = door(
  "a tool of a request",
  { type: z.literal("function", "function: other tools run on the vendor's servers"), function: functionSchema },
  { ignores: ["cache_control"] },
);
const namedSchema = door("a chosen function", { name: z.string() });
const fields = {
  model: z.string(),
  messages: z.array(messageSchema({})).min(1),
  tools: z.array(toolSchema).nullish(),
  // The names that both had before June 2023, and some servers and clients still use.
  ...{ functions: z.array(functionSchema).nullish(), function_call: z.union([z.enum(["auto", "none"]), namedSchema]).nullish() },
  tool_choice: z
    .union([z.enum(["auto", "none", "required"]), door("a chosen tool", { type: z.literal("function"), function: namedSchema })])
    .nullish(),
  parallel_tool_calls: z.boolean().nullish(),
  response_format: z
    .discriminatedUnion("type", [
      door("the form of text", { type: z.literal("text") }),
      // The schema beside it is llama.cpp's and Together's.
      door("the form of JSON", { type: z.literal("json_object"), schema: z.record(z.string(), z.unknown()).nullish() }),
      door("the form of a schema", {
        type: z.literal("json_schema"),
        json_schema: door(
          "a schema's form",
          { schema: z.record(z.string(), z.unknown()) },
          { ignores: ["name", "description", "strict"] },
        ),
      }),
    ])
    .nullish(),
  stream: z.boolean().nullish(),
  stream_options: door(
    "options of a stream",
    { include_usage: z.boolean().nullish() },
    { ignores: ["include_obfuscation"] },
  ).nullish(),
  n: z.int().min(1).max(32).nullish(),
  logprobs: z.boolean().nullish(),
  top_logprobs: z.int().min(0).max(20).nullish(),
  max_tokens: optional(z.int().min(1)),
  max_completion_tokens: optional(z.int().min(1)),
  ...samplingFields,
  stop: stopField,
  continue_final_message: z.boolean().nullish(),
  return_token_ids: z.boolean().nullish(),
} as const;
/** Settings of sampling that are not there, with the values that have no effect. */
const neutral = {
  ...{ presence_penalty: 0, frequency_penalty: 0, repetition_penalty: 1, min_p: 0, logit_bias: {} },
  ...{ reasoning_effort: "medium", verbosity: "medium", modalities: ["text"] },
};
const chatDoor = requestDoor("a request of chat completions", fields, { harmless: ["prediction"], neutral });
type ChatBody = z.output<typeof chatDoor.schema>;

function read(bytes: Buffer, state: WireState): Exchange {
  const body = parseBody(bytes, chatDoor.schema);
  const parsed = parsedRequest(body);
  const card = { id: `chatcmpl-${state.id}`, created: state.created, model: body.model };
  return {
    parsed,
    answer: (replies) => ({
      ...card,
      object: "chat.completion",
      choices: replies.map((reply, index) => ({
        index,
        message: messageOf(reply, `${state.id}${index}`, isOld(body)),
        ...endOf(reply, body, state),
      })),
      usage: usageOf(replies),
      ...(body.return_token_ids ? { prompt_token_ids: [...replies[0].sampled.context] } : {}),
    }),
    stream: (send) => streamed(send, { ...card, object: "chat.completion.chunk" }, body, state),
  };
}

function parsedRequest(body: ChatBody): ParsedRequest {
  const { max_tokens, max_completion_tokens, temperature, top_p: topP, top_k: topK, seed, response_format } = body;
  const others = chatDoor.others(body);
  if (body.functions && body.tools) throw new HttpError(400, "functions", "some", { expected: "none beside tools" });
  const shown = body.functions ?? (body.tools ?? []).map((tool) => tool.function);
  const tools = shown.map((f) => shownTool(f.name, f.description ?? "", f.parameters));
  const strictTools = shown.flatMap((f) => (f.strict ? [f.name] : []));
  const { tool_choice: chosen, function_call: called } = body;
  const name = typeof chosen === "object" ? chosen?.function.name : typeof called === "object" ? called?.name : undefined;
  const choice =
    name === undefined
      ? ((chosen ?? called ?? "auto") as "auto" | "none" | "required")
      : requireTool(name, tools, chosen ? "tool_choice" : "function_call");
  if (choice === "required" && tools.length === 0)
    throw new HttpError(400, "tool_choice", choice, { expected: "tools beside it" });
  return {
    model: body.model,
    stream: body.stream ?? false,
    count: body.n ?? 1,
    continuesLast: body.continue_final_message ?? false,
    conversation: {
      messages: messagesOf(body),
      tools,
      toolChoice: choice,
      parallelCalls: isOld(body) ? false : (body.parallel_tool_calls ?? true),
      strictTools,
      ...(response_format?.type === "json_object"
        ? { form: response_format.schema ? { schema: response_format.schema } : "json" }
        : {}),
      ...(response_format?.type === "json_schema" ? { form: { schema: response_format.json_schema.schema } } : {}),
      maxTokens: max_completion_tokens ?? max_tokens,
      stopStrings: body.stop ?? [],
      ...(body.logprobs && body.top_logprobs ? { topLogprobs: body.top_logprobs } : {}),
    },
    sampling: { temperature, topP, topK, seed, others },
  };
}

/** True for a request in the names before "tools", which has one call at most, under an older name. */
function isOld({ functions }: Pick<ChatBody, "functions">): boolean {
  return functions !== undefined && functions !== null;
}

function messagesOf({ messages }: ChatBody): Message[] {
  const called = new CalledTools();
  return messages.map((message, i): Message => {
    const fail = (field: string, value: unknown, expected: string) =>
      new HttpError(400, `messages.${i}.${field}`, value, { expected });
    return messageOfWire(message, called, readArguments, fail);
  });
}

function messageOf(reply: ConversationReply, id: string, old: boolean): object {
  const { content: text, reasoning, toolCalls = [] } = reply.message;
  return {
    role: "assistant",
    content: text,
    refusal: null,
    reasoning_content: reasoning,
    ...(toolCalls.length === 0
      ? {}
      : old
        ? { function_call: toolCalls.map((call) => ({ name: call.name, arguments: argumentsText(call) }))[0] }
        : {
            tool_calls: toolCalls.map((call, i) => ({
              ...{ id: callId(id, i), type: "function" },
              function: { name: call.name, arguments: argumentsText(call) },
            })),
          }),
  };
}

/** The end of a choice: why it ended, and what was asked for about its tokens from `from` on. */
function endOf(reply: ConversationReply, body: ChatBody, state: WireState, from = 0): object {
  const { message, finish } = reply;
  return {
    finish_reason:
      (message.toolCalls ?? []).length > 0 && finish === "stop" ? (isOld(body) ? "function_call" : "tool_calls") : finish,
    ...tokensOf(drawnTokens(reply).slice(from), body, state),
  };
}

/** Log-probs and ids of tokens, if requested. */
function tokensOf(drawn: readonly DrawnToken[], { logprobs, return_token_ids }: ChatBody, state: WireState): object {
  return {
    logprobs: logprobs ? { content: tokenLogprobs(drawn, state), refusal: null } : null,
    ...(return_token_ids ? { token_ids: drawn.map(({ token }) => token) } : {}),
  };
}

function usageOf(replies: Replies): object {
  const completion = replies.reduce((sum, { completionTokens }) => sum + completionTokens, 0);
  const [{ promptTokens: prompt }] = replies;
  return { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion };
}

function streamed(send: SendEvent, card: object, body: ChatBody, state: WireState): StreamedAnswer {
  /** Tokens of each choice that were sent; undefined before its first chunk. */
  const sent: (number | undefined)[] = [];
  const chunk = (index: number, delta: object, end: object, more: object = {}) => {
    const first = sent[index] === undefined ? { role: "assistant", content: "" } : {};
    send({ ...card, choices: [{ index, delta: { ...first, ...delta }, ...end }], ...more });
  };
  return {
    delta: (index, delta) => {
      chunk(index, deltaOf(delta, `${state.id}${index}`, isOld(body)), {
        finish_reason: null,
        ...tokensOf(delta.tokens, body, state),
      });
      sent[index] = (sent[index] ?? 0) + delta.tokens.length;
    },
    end: (replies) => {
      const ids = body.return_token_ids ? { prompt_token_ids: [...replies[0].sampled.context] } : {};
      for (const [index, reply] of replies.entries()) chunk(index, {}, endOf(reply, body, state, sent[index]), ids);
      if (body.stream_options?.include_usage) send({ ...card, choices: [], usage: usageOf(replies) });
      send("[DONE]");
    },
  };
}

function deltaOf(delta: Delta, id: string, old: boolean): object {
  switch (delta.kind) {
    case "text":
      return { content: delta.text };
    case "reasoning":
      return { reasoning_content: delta.text };
    case "call": {
      const { index, name } = delta;
      if (old) return { function_call: { name, arguments: "" } };
      return { tool_calls: [{ index, id: callId(id, index), type: "function", function: { name, arguments: "" } }] };
    }
    case "arguments":
      return old
        ? { function_call: { arguments: delta.text } }
        : { tool_calls: [{ index: delta.index, function: { arguments: delta.text } }] };
  }
}
