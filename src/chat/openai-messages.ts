import { z } from "zod";
import { exactText } from "../actions/json.ts";
import { door } from "../core/door.ts";
import type { AssistantMessage, Message, ToolCall } from "../core/messages.ts";
import { failedResult } from "../core/tool-results.ts";

/** Messages of the OpenAI chat format, in requests and in data, with the names that other servers and trainers give their fields. */

const partSchema = z.discriminatedUnion(
  "type",
  [
    door("a part of text", { type: z.literal("text"), text: z.string() }, { ignores: ["cache_control", "annotations"] }),
    door("a part with a refusal", { type: z.literal("refusal"), refusal: z.string() }),
  ],
  { error: "only text" },
);
/** A text, or parts of which each is a text. */
export const contentSchema = z
  .union([z.string(), z.array(partSchema)])
  .transform((content) =>
    typeof content === "string" ? content : content.map((part) => (part.type === "text" ? part.text : part.refusal)).join(""),
  );

/** The arguments' JSON, or the object that it is of. */
const argumentsSchema = z.union([z.string(), z.record(z.string(), z.unknown()).transform((args) => JSON.stringify(args))]);
const functionSchema = door("the function of a call", { name: z.string().min(1), arguments: argumentsSchema });
/** A call with its function, or, as chat templates take it too, its function alone. */
const callSchema = z.union([
  door(
    "a call",
    { id: z.string().nullish(), type: z.literal("function", "function").nullish(), function: functionSchema },
    { ignores: ["index"] },
  ),
  door("a call without a wrapper", { id: z.string().nullish(), name: z.string().min(1), arguments: argumentsSchema }).transform(
    ({ id, ...made }) => ({ id, type: undefined, function: made }),
  ),
]);

const reasoningDetail = z.discriminatedUnion("type", [
  door(
    "reasoning in a text",
    { type: z.literal("reasoning.text"), text: z.string().nullish() },
    { ignores: detailsOf("signature") },
  ),
  door("reasoning in short", { type: z.literal("reasoning.summary"), summary: z.string() }, { ignores: detailsOf() }),
  door("reasoning that nobody else can read", { type: z.literal("reasoning.encrypted") }, { ignores: detailsOf("data") }),
]);
function detailsOf(...more: readonly string[]): string[] {
  return ["id", "format", "index", ...more];
}

const name = z.string().nullish();
/** The name of who speaks is in no chat template. */
const ofMessages = ["name", "cache_control", "id", "created", "created_at", "timestamp", "metadata", "model", "usage"];
/** Fields of answers that clients send back as they came. */
const ofAnswers = ["annotations", "provider_specific_fields", "signature"];
const assistantFields = {
  role: z.literal("assistant"),
  content: contentSchema.nullish(),
  refusal: z.string().nullish(),
  ...{ reasoning: z.string().nullish(), reasoning_content: z.string().nullish(), thinking: z.string().nullish() },
  reasoning_details: z.array(reasoningDetail).nullish(),
  tool_calls: z.array(callSchema).nullish(),
  function_call: functionSchema.nullish(),
};
const toolFields = {
  role: z.enum(["tool", "function"]),
  content: contentSchema.nullish(),
  tool_call_id: name,
  name,
  ...{ is_error: z.boolean().nullish(), status: z.enum(["success", "error"]).nullish() },
};

/**
 * Messages of a door.
 * @param more fields that the door has besides
 */
export function messageSchema<More extends z.ZodRawShape>(more: More) {
  const details = { ignores: ofMessages };
  return z.discriminatedUnion("role", [
    door("a system message", { role: z.enum(["system", "developer"]), content: contentSchema, ...more }, details),
    door("a user's message", { role: z.literal("user"), content: contentSchema, ...more }, details),
    door(
      "an assistant's message",
      { ...assistantFields, ...more },
      { ignores: [...details.ignores, ...ofAnswers], neutral: { images: [] } },
    ),
    door("a tool's message", { ...toolFields, ...more }, { ignores: ofMessages.filter((field) => field !== "name") }),
  ]);
}

type Field = z.output<z.ZodObject<typeof assistantFields>>;

/** Makes the error of a message. */
export type Fail = (field: string, value: unknown, expected: string) => Error;

export type ReadArguments = (text: string, tool: string) => Pick<ToolCall, "arguments" | "argumentsText">;

/** The assistant's message. @throws what `fail` makes for one with nothing in it, or with two different texts of one kind */
function assistantOf(message: Omit<Field, "role">, read: ReadArguments, fail: Fail): AssistantMessage {
  const { content, refusal, tool_calls: calls, function_call: made } = message;
  const given = [...(calls ?? []), ...(made ? [{ id: undefined, function: made }] : [])];
  if (calls?.length && made) throw fail("function_call", made.name, "none beside tool_calls");
  if (content && refusal) throw fail("refusal", refusal, "none beside a content");
  const reasoning = reasoningOf(message, fail);
  if ((content ?? refusal ?? undefined) === undefined && given.length === 0 && reasoning === "")
    throw fail("content", content, "a text, reasoning or calls: there is nothing in this message");
  const toolCalls = given.map(({ id, function: { name: tool, arguments: text } }) => ({
    ...(id ? { id } : {}),
    ...{ name: tool, ...read(text, tool) },
  }));
  return {
    role: "assistant",
    content: content || refusal || "",
    ...(reasoning === "" ? {} : { reasoning }),
    ...(toolCalls.length === 0 ? {} : { toolCalls }),
  };
}

/** Servers differ in the field's name, and some write two of them with one text. */
function reasoningOf(
  { reasoning, reasoning_content, thinking, reasoning_details: details }: Omit<Field, "role">,
  fail: Fail,
): string {
  const [first = "", second] = [...new Set([reasoning, reasoning_content, thinking].filter(Boolean))];
  if (second !== undefined) throw fail("reasoning", second, "one text: the message has another one under another name");
  const detailed = (details ?? []).map((part) => ("text" in part ? part.text : "summary" in part ? part.summary : "")).join("");
  return first || detailed;
}

/** Arguments of data, which are right. @throws Error for a text that is no JSON object */
export function exactArguments(text: string): Pick<ToolCall, "arguments" | "argumentsText"> {
  const json = text.trim() === "" ? "{}" : text;
  return { arguments: z.record(z.string(), z.unknown()).parse(JSON.parse(json)), ...exactText(json) };
}

/** Reads the messages of tools, which have the ids of their calls. */
export class CalledTools {
  readonly #calls = new Map<string, string>();

  /** Keeps the calls of a message. */
  said({ toolCalls = [] }: AssistantMessage): void {
    for (const { id, name: tool } of toolCalls) if (id !== undefined) this.#calls.set(id, tool);
  }

  /** @throws what `fail` makes for the answer to no call */
  answer(message: Omit<z.output<z.ZodObject<typeof toolFields>>, "role">, fail: Fail): Message {
    const { tool_call_id: id, name: given, content, is_error, status } = message;
    const called = id ? this.#calls.get(id) : undefined;
    const tool = called ?? given;
    if (!tool) throw fail("tool_call_id", id ?? undefined, "the id of a call before it, or a name");
    if (called !== undefined && given && given !== called) throw fail("name", given, `${called}, which the call ${id} is of`);
    const text = content ?? "";
    return {
      ...{ role: "tool", name: tool, ...(id ? { callId: id } : {}) },
      content: is_error || status === "error" ? failedResult(text) : text,
    };
  }
}

type WireMessage = z.output<ReturnType<typeof messageSchema<Record<never, never>>>>;

/** Reads a message. @throws what `fail` makes, as `assistantOf` and `CalledTools.answer` */
export function messageOfWire(message: WireMessage, called: CalledTools, read: ReadArguments, fail: Fail): Message {
  switch (message.role) {
    case "system":
    case "developer":
      return { role: "system", content: message.content };
    case "user":
      return { role: "user", content: message.content };
    case "tool":
    case "function":
      return called.answer(message, fail);
    case "assistant": {
      const said = assistantOf(message, read, fail);
      called.said(said);
      return said;
    }
    default:
      return message satisfies never;
  }
}
