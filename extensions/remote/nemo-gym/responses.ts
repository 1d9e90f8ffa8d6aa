import { z } from "zod";
import { jsonOf } from "../../../src/core/json.ts";
import type { AssistantMessage, Message, ToolCall } from "../../../src/core/messages.ts";

/** Rows and episodes as OpenAI's Responses have them, which is the form that NeMo Gym's resource servers read. Source: nemo_gym/openai_utils.py. */

const contentSchema = z
  .union([z.string(), z.array(z.looseObject({ text: z.string().optional() })), z.null(), z.undefined()])
  .transform((content) => (typeof content === "string" ? content : (content ?? []).map(({ text }) => text ?? "").join("\n")));

const itemSchema = z.union([
  z.object({ type: z.literal("function_call"), call_id: z.string(), name: z.string(), arguments: z.string() }),
  z.object({ type: z.literal("function_call_output"), call_id: z.string(), output: contentSchema }),
  z.object({ type: z.literal("reasoning") }).transform(() => undefined),
  z.object({ role: z.enum(["system", "developer", "user", "assistant"]), content: contentSchema }),
]);

const toolSchema = z.object({
  type: z.literal("function"),
  name: z.string().min(1),
  description: z.string().nullish(),
  parameters: z.record(z.string(), z.unknown()).nullish(),
});

/** `responses_create_params` of a row, as far as they are read. */
export const createParamsSchema = z.looseObject({
  input: z.union([z.string(), z.array(itemSchema)]),
  instructions: z.string().nullish(),
  tools: z.array(toolSchema).default([]),
});
export type CreateParams = z.output<typeof createParamsSchema>;

/** The messages that a row begins with. */
export function openingOf({ input, instructions }: CreateParams, system: string | undefined): Message[] {
  const head = [system, instructions ?? undefined].filter((text) => text !== undefined);
  const messages: Message[] = head.map((content) => ({ role: "system", content }));
  if (typeof input === "string") return [...messages, { role: "user", content: input }];
  const names = new Map<string, string>();
  for (const item of input) {
    if (item === undefined) continue;
    if ("role" in item) messages.push({ role: item.role === "developer" ? "system" : item.role, content: item.content });
    else if (item.type === "function_call") {
      names.set(item.call_id, item.name);
      const call = callOf(item.call_id, item.name, item.arguments);
      const last = messages.at(-1);
      // Calls of one action follow each other.
      if (last?.role === "assistant") messages[messages.length - 1] = { ...last, toolCalls: [...(last.toolCalls ?? []), call] };
      else messages.push({ role: "assistant", content: "", toolCalls: [call] });
    } else messages.push({ role: "tool", name: names.get(item.call_id) ?? "tool", callId: item.call_id, content: item.output });
  }
  return messages;
}

/** Arguments of a call: none where the model wrote no object. Its text is kept. */
const argumentsSchema = z.record(z.string(), z.unknown()).catch({});

function callOf(id: string, name: string, text: string): ToolCall {
  return { id, name, arguments: argumentsSchema.parse(jsonOf(text)), argumentsText: text };
}

/** The items of an episode after its first messages: reasoning, texts, calls and their outputs. */
export function outputItems(messages: readonly Message[]): object[] {
  const items: object[] = [];
  /** Ids of calls that are not answered yet, in their order. */
  const open: string[] = [];
  const id = (kind: string) => `${kind}_${items.length}`;
  for (const message of messages) {
    if (message.role === "assistant") items.push(...assistantItems(message, id, open));
    else if (message.role === "tool")
      items.push({
        ...{ type: "function_call_output", call_id: message.callId ?? open.shift() ?? id("call"), output: message.content },
        ...{ id: id("out"), status: "completed" },
      });
    else items.push({ type: "message", role: message.role, content: message.content });
  }
  return items;
}

function assistantItems(message: AssistantMessage, id: (kind: string) => string, open: string[]): object[] {
  const { content, reasoning, toolCalls = [] } = message;
  const calls = toolCalls.map((call, i) => {
    const callId = call.id ?? `${id("call")}_${i}`;
    if (call.id === undefined) open.push(callId);
    const text = call.argumentsText ?? JSON.stringify(call.arguments);
    return { type: "function_call", call_id: callId, name: call.name, arguments: text, id: callId, status: "completed" };
  });
  const text = { type: "output_text", text: content, annotations: [] };
  return [
    ...(reasoning === undefined
      ? []
      : [{ type: "reasoning", id: id("rs"), summary: [{ type: "summary_text", text: reasoning }] }]),
    ...(content === "" && calls.length > 0
      ? []
      : [{ type: "message", id: id("msg"), role: "assistant", status: "completed", content: [text] }]),
    ...calls,
  ];
}

/** The episode as a Response. */
export function responseOf(items: readonly object[], tools: unknown): object {
  return {
    ...{ id: "resp_retrograde", created_at: 0, model: "policy", object: "response", output: items },
    ...{ parallel_tool_calls: true, tool_choice: "auto", tools: tools ?? [] },
  };
}
