import { z } from "zod";
import type { Chat } from "../chat/chat.ts";
import { ModelError } from "../core/errors.ts";
import type { AssistantMessage, Message, ToolCall } from "../core/messages.ts";

import { parseBody } from "../http/body.ts";
import { Refusal } from "../http/refusal.ts";
import type { JsonSchema, Tool } from "../tools/tool.ts";
import type { Generated, GenerateRequest } from "./generate.ts";

/**
 * `POST /v1/chat/completions` of the OpenAI interface: messages and tools in, a message and calls out. Continuing the last message
 * (`continue_final_message`) is as vLLM has it.
 */

const content = z.union([
  z.string(),
  z
    .array(z.object({ type: z.literal("text", "only text"), text: z.string() }))
    .transform((parts) => parts.map(({ text }) => text).join("")),
]);
const call = z.object({ id: z.string(), function: z.object({ name: z.string().min(1), arguments: z.string() }) });
const messageSchema = z.discriminatedUnion("role", [
  z.object({ role: z.enum(["system", "developer"]), content }),
  z.object({ role: z.literal("user"), content }),
  z.object({
    role: z.literal("assistant"),
    content: content.nullish(),
    reasoning_content: z.string().nullish(),
    tool_calls: z.array(call).nullish(),
  }),
  z.object({ role: z.literal("tool"), tool_call_id: z.string(), content }),
]);
const toolSchema = z.object({
  type: z.literal("function"),
  function: z.object({
    name: z.string().min(1),
    description: z.string().default(""),
    parameters: z.record(z.string(), z.unknown()).default({ type: "object", properties: {} }),
  }),
});

const chatSchema = z.looseObject({
  model: z.string(),
  messages: z.array(messageSchema).min(1),
  tools: z.array(toolSchema).nullish(),
  tool_choice: z.enum(["auto", "none"]).nullish(),
  max_tokens: z.int().min(1).nullish(),
  max_completion_tokens: z.int().min(1).nullish(),
  temperature: z.number().min(0).nullish(),
  top_p: z.number().gt(0).max(1).nullish(),
  top_k: z.int().min(-1).nullish(),
  stop: z.union([z.string().min(1), z.array(z.string().min(1))]).nullish(),
  seed: z.int().nullish(),
  continue_final_message: z.boolean().nullish(),
});
type ChatBody = z.output<typeof chatSchema>;

/** Settings that change what is sampled or answered, and that are not there: refused unless they have no effect. */
const withoutEffect: Readonly<Record<string, unknown>> = {
  n: 1,
  stream: false,
  logprobs: false,
  top_logprobs: 0,
  min_p: 0,
  presence_penalty: 0,
  frequency_penalty: 0,
  repetition_penalty: 1,
  logit_bias: null,
  response_format: null,
  functions: null,
};

export interface ChatRequest {
  readonly model: string;
  readonly body: ChatBody;
}

/** @throws Refusal (422) for requests of another form, and settings that could not be honoured */
export function readChat(bytes: Buffer): ChatRequest {
  const body = parseBody(bytes, chatSchema);
  for (const [name, harmless] of Object.entries(withoutEffect)) {
    const value = body[name];
    const isPlainText = name === "response_format" && (value as { type?: unknown } | null | undefined)?.type === "text";
    if (value !== undefined && value !== null && value !== harmless && !isPlainText)
      throw new Refusal(422, name, value, { expected: "none: this server does not have it" });
  }
  return { model: body.model, body };
}

/** A request in tokens. @throws Refusal where the chat template does not take the messages */
export function promptOf({ model, body }: ChatRequest, chat: Chat): GenerateRequest {
  const { max_tokens, max_completion_tokens, temperature, top_p, top_k, seed } = body;
  return {
    model,
    context: contextOf(body, chat),
    maxTokens: max_completion_tokens ?? max_tokens ?? undefined,
    stopTokens: chat.tokenizer.stopTokens,
    stopStrings: [...(hasTools(body) ? (chat.stopStrings ?? []) : []), ...stopsOf(body)],
    temperature: temperature ?? undefined,
    topP: top_p ?? undefined,
    topK: top_k === undefined || top_k === null || top_k < 1 ? undefined : top_k,
    seed: seed ?? undefined,
  };
}

function contextOf(body: ChatBody, chat: Chat): GenerateRequest["context"] {
  const messages = messagesOf(body);
  const last = messages.at(-1);
  const continues = body.continue_final_message === true && last?.role === "assistant";
  try {
    const { ids } = chat.open(continues ? messages.slice(0, -1) : messages, hasTools(body) ? toolsOf(body) : []);
    return continues ? [...ids, ...chat.tokenizer.encode(last.content)] : Array.from(ids);
  } catch (error) {
    if (!(error instanceof ModelError)) throw error;
    throw new Refusal(400, "messages", error.message, { expected: "messages that the chat template takes" });
  }
}

/** @param id of the request */
export function writeChat(
  id: string,
  { model, body }: ChatRequest,
  prompt: GenerateRequest,
  generated: Generated,
  chat: Chat,
): object {
  const text = cutAt(chat.actionText(generated.tokens), stopsOf(body));
  const tools = hasTools(body) ? toolsOf(body) : [];
  const read = tools.length === 0 ? undefined : chat.read(text, messagesOf(body), (name) => parametersOf(tools, name));
  const calls = read?.calls.flatMap((each) => ("name" in each ? [each] : [])) ?? [];
  // A call that cannot be read stays in the text: nothing of what the model wrote is lost.
  const whole = read === undefined || read.calls.length > calls.length;
  const said: AssistantMessage = whole
    ? { role: "assistant", content: text }
    : { ...read.message, toolCalls: calls.length === 0 ? undefined : calls };
  const usage = { promptTokens: prompt.context.length, completionTokens: generated.tokens.length };
  return completionOf(id, model, { message: said, finish: generated.finish, ...usage });
}

/** A sampled message, and how long it and its context are. */
export interface Answered {
  readonly message: AssistantMessage;
  readonly finish: "stop" | "length";
  readonly promptTokens: number;
  readonly completionTokens: number;
}

/** @param id of the request */
export function completionOf(id: string, model: string, { message, finish, promptTokens, completionTokens }: Answered): object {
  const { content, reasoning, toolCalls = [] } = message;
  const shown = {
    role: "assistant",
    content,
    ...(reasoning === undefined ? {} : { reasoning_content: reasoning }),
    ...(toolCalls.length === 0 ? {} : { tool_calls: toolCalls.map((each, i) => describedCall(each, `${id}-${i}`)) }),
  };
  const reason = toolCalls.length > 0 && finish === "stop" ? "tool_calls" : finish;
  return {
    id,
    object: "chat.completion",
    created: Math.floor(Date.now() / 1000),
    model,
    choices: [{ index: 0, message: shown, finish_reason: reason }],
    usage: { prompt_tokens: promptTokens, completion_tokens: completionTokens, total_tokens: promptTokens + completionTokens },
  };
}

/** A request in messages, for a model that keeps the conversations itself. */
export interface Conversation {
  readonly messages: readonly Message[];
  readonly tools: readonly Tool[];
  readonly maxTokens: number | undefined;
  readonly stopStrings: readonly string[];
  readonly temperature: number | undefined;
  readonly topP: number | undefined;
  readonly topK: number | undefined;
}

/** @throws Refusal for messages that are in no order */
export function conversationOf({ body }: ChatRequest): Conversation {
  const { max_tokens, max_completion_tokens, temperature, top_p, top_k } = body;
  if (body.continue_final_message === true)
    throw new Refusal(422, "continue_final_message", true, { expected: "false: an agent's messages are whole" });
  return {
    messages: messagesOf(body),
    tools: hasTools(body) ? toolsOf(body) : [],
    maxTokens: max_completion_tokens ?? max_tokens ?? undefined,
    stopStrings: stopsOf(body),
    temperature: temperature ?? undefined,
    topP: top_p ?? undefined,
    topK: top_k ?? undefined,
  };
}

function messagesOf({ messages }: ChatBody): Message[] {
  const names = new Map<string, string>();
  return messages.map((message): Message => {
    if (message.role === "user") return { role: "user", content: message.content };
    if (message.role === "tool") {
      const { tool_call_id: callId } = message;
      const name = names.get(callId);
      if (name === undefined) throw new Refusal(422, "tool_call_id", callId, { expected: "the id of a call before it" });
      return { role: "tool", name, callId, content: message.content };
    }
    if (message.role !== "assistant") return { role: "system", content: message.content };
    const toolCalls = (message.tool_calls ?? []).map(({ id, function: { name, arguments: text } }): ToolCall => {
      names.set(id, name);
      return { id, name, arguments: argumentsOf(text), argumentsText: text };
    });
    return {
      role: "assistant",
      content: message.content ?? "",
      ...(message.reasoning_content ? { reasoning: message.reasoning_content } : {}),
      ...(toolCalls.length === 0 ? {} : { toolCalls }),
    };
  });
}

function argumentsOf(text: string): Record<string, unknown> {
  try {
    const parsed = z.record(z.string(), z.unknown()).safeParse(JSON.parse(text.trim() === "" ? "{}" : text));
    if (parsed.success) return parsed.data;
  } catch {
    // Refused below.
  }
  throw new Refusal(422, "tool_calls.function.arguments", text.slice(0, 200), { expected: "a JSON object as text" });
}

/** Tools that are shown and never run here. */
function toolsOf({ tools }: ChatBody): Tool[] {
  return (tools ?? []).map(({ function: { name, description, parameters } }) => ({
    ...{ name, description, parameters: parameters as JsonSchema },
    execute: () => "",
  }));
}

function hasTools({ tools, tool_choice }: ChatBody): boolean {
  return (tools ?? []).length > 0 && tool_choice !== "none";
}

function parametersOf(tools: readonly Tool[], name: string): Record<string, unknown> | undefined {
  return tools.find((tool) => tool.name === name)?.parameters as Record<string, unknown> | undefined;
}

function describedCall({ name, arguments: args, argumentsText, id }: ToolCall, made: string): object {
  return { id: id ?? `call_${made}`, type: "function", function: { name, arguments: argumentsText ?? JSON.stringify(args) } };
}

function stopsOf({ stop }: ChatBody): readonly string[] {
  return typeof stop === "string" ? [stop] : (stop ?? []);
}

/** The protocol's answers have no stop strings in them. */
function cutAt(text: string, stops: readonly string[]): string {
  const ends = stops.map((stop) => text.indexOf(stop)).filter((at) => at !== -1);
  return ends.length === 0 ? text : text.slice(0, Math.min(...ends));
}
