import { z } from "zod";
import { door } from "../../../src/core/door.ts";
import { ConfigError } from "../../../src/core/errors.ts";
import type { AssistantMessage, Message } from "../../../src/core/messages.ts";
import type { Split, Task } from "../../../src/environments/environment.ts";
import type { Row } from "../shared/rows.ts";
import { recordedCall } from "../shared/tool.ts";

/** Rows and episodes as OpenAI's Responses have them, which is the form that NeMo Gym's resource servers read. Source: nemo_gym/openai_utils.py. */

/** The model reads no images: a row with one is refused by its field. */
const partSchema = door(
  "a text of a row of NeMo Gym",
  { type: z.enum(["input_text", "output_text", "text"]), text: z.string() },
  { ignores: ["annotations", "logprobs"] }, // for programs
);
const contentSchema = z
  .union([z.string(), z.array(partSchema), z.null(), z.undefined()])
  .transform((content) => (typeof content === "string" ? content : (content ?? []).map(({ text }) => text).join("\n")));

/** Who wrote an item before, and how that ended, is past. */
const past = { ignores: ["id", "status"] };
const itemSchema = z.union([
  door(
    "a function call of a row of NeMo Gym",
    { type: z.literal("function_call"), call_id: z.string(), name: z.string(), arguments: z.string() },
    past,
  ),
  door(
    "a function call's output of a row of NeMo Gym",
    { type: z.literal("function_call_output"), call_id: z.string(), output: contentSchema },
    past,
  ),
  // Models are not shown the reasoning of earlier turns.
  door(
    "reasoning of a row of NeMo Gym",
    { type: z.literal("reasoning") },
    { ignores: ["id", "status", "summary", "content", "encrypted_content"] },
  ).transform(() => undefined),
  door(
    "a message of a row of NeMo Gym",
    { role: z.enum(["system", "developer", "user", "assistant"]), content: contentSchema },
    { ...past, neutral: { type: "message" } },
  ),
]);

const toolSchema = door(
  "a tool of a row of NeMo Gym",
  {
    type: z.literal("function"),
    name: z.string().min(1),
    description: z.string().nullish(),
    parameters: z.record(z.string(), z.unknown()).nullish(),
  },
  { ignores: ["strict"] }, // how calls are drawn is the configuration's to say
);

/**
 * `responses_create_params` of a row. How actions are sampled (temperature, lengths, calls at once, effort) is the configuration's to say, and what
 * is for OpenAI's service alone changes nothing here.
 */
export const createParamsSchema = door(
  "responses_create_params of a row of NeMo Gym",
  {
    input: z.union([z.string(), z.array(itemSchema)]),
    instructions: z.string().nullish(),
    tools: z.array(toolSchema).default([]),
  },
  {
    ignores: [
      ...["temperature", "top_p", "max_output_tokens", "parallel_tool_calls", "reasoning"],
      ...["model", "metadata", "user", "store", "service_tier", "include", "background", "truncation", "stream", "top_logprobs"],
    ],
    neutral: { tool_choice: "auto" },
  },
);
type CreateParams = z.output<typeof createParamsSchema>;

export interface NemoGymTask extends Task {
  readonly row: Row;
  readonly params: CreateParams;
  /** The row's tools as it has them. */
  readonly tools: unknown;
}

/** @throws ConfigError naming the row */
export function taskOf(split: Split, index: number, row: Row): NemoGymTask {
  const params = createParamsSchema.safeParse(row.responses_create_params);
  if (params.success) {
    const { tools } = row.responses_create_params as { readonly tools?: unknown };
    return { id: `${split}/${index}`, row, params: params.data, tools };
  }
  throw new ConfigError(`environment.settings.tasks.${split}, row ${index + 1}: responses_create_params`, "not accepted", {
    expected: z.prettifyError(params.error),
  });
}

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
      const call = recordedCall(item.call_id, item.name, item.arguments);
      const last = messages.at(-1);
      // Calls of one action follow each other.
      if (last?.role === "assistant") messages[messages.length - 1] = { ...last, toolCalls: [...(last.toolCalls ?? []), call] };
      else messages.push({ role: "assistant", content: "", toolCalls: [call] });
    } else messages.push({ role: "tool", name: names.get(item.call_id) ?? "tool", callId: item.call_id, content: item.output });
  }
  return messages;
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

export function responseOf(items: readonly object[], tools: unknown): object {
  return {
    ...{ id: "resp_retrograde", created_at: 0, model: "policy", object: "response", output: items },
    ...{ parallel_tool_calls: true, tool_choice: "auto", tools: tools ?? [] },
  };
}
