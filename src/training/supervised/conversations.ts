import { z } from "zod";
import { ConfigError, reasonOf } from "../../core/errors.ts";
import { parseJson } from "../../core/json.ts";
import type { Message } from "../../core/messages.ts";
import { present } from "../../core/present.ts";
import { readBounded, utf8Of } from "../../files/bounded.ts";
import type { JsonSchema, Tool } from "../../tools/tool.ts";
import { atifSchema } from "./atif.ts";
import { chatRow } from "./dataset-rows.ts";
import { trainingTraceSchema } from "./training-trace.ts";

/** A conversation to learn from. */
export interface Conversation {
  readonly messages: readonly Message[];
  /** Those that it was held with. Undefined if it does not say. */
  readonly tools?: readonly Tool[];
}

/** JavaScript has no longer texts. */
const largestFile = 512 * 2 ** 20;

const callSchema = z.looseObject({
  id: z.string().optional(),
  function: z.looseObject({ name: z.string().min(1), arguments: z.union([z.string(), z.record(z.string(), z.unknown())]) }),
});
/** A text, or parts of which each is a text, as the OpenAI format has them. */
const contentSchema = z
  .union([z.string(), z.array(z.looseObject({ type: z.literal("text"), text: z.string() })), z.null()])
  .transform((content) =>
    content === null ? "" : typeof content === "string" ? content : content.map(({ text }) => text).join(""),
  );
const messageSchema = z.discriminatedUnion("role", [
  z.looseObject({ role: z.enum(["system", "developer"]), content: contentSchema }),
  z.looseObject({ role: z.literal("user"), content: contentSchema }),
  z.looseObject({
    role: z.literal("assistant"),
    content: contentSchema.prefault(null),
    reasoning_content: z.string().nullish(),
    tool_calls: z.array(callSchema).nullish(),
  }),
  z.looseObject({
    role: z.literal("tool"),
    content: contentSchema,
    name: z.string().optional(),
    tool_call_id: z.string().optional(),
  }),
]);
const toolSchema = z.looseObject({
  function: z.looseObject({
    name: z.string().min(1),
    description: z.string().default(""),
    parameters: z.looseObject({ type: z.literal("object") }).default({ type: "object", properties: {} }),
  }),
});
const lineSchema = z.looseObject({ messages: z.array(messageSchema).min(1), tools: z.array(toolSchema).optional() });

/**
 * Reads conversations in the OpenAI chat format, one JSON object a line, or a list of them in JSON: `messages` with their tool calls, and `tools` if
 * there are any. Each may be a row in another format of datasets (`chatRow`), a trajectory in Harbor's ATIF, or OpenEnv's `TrainingTrace` with its
 * messages, instead; of the last two the whole file may be one.
 * @throws ConfigError naming the first line or item that is wrong
 */
export function readConversations(path: string): Conversation[] {
  let text: string;
  try {
    text = utf8Of(readBounded(path, largestFile));
  } catch (cause) {
    throw new ConfigError("algorithm.data", path, { expected: "a JSONL file of conversations", hint: reasonOf(cause), cause });
  }
  const conversations = /^\s*\[/.test(text) ? readList(text, path) : readLines(text, path);
  if (conversations.length > 0) return conversations;
  throw new ConfigError(path, "empty", { expected: "at least one conversation", hint: example });
}

const example = 'A line is {"messages": [{"role": "user", "content": "…"}, {"role": "assistant", "content": "…"}]}.';

function readList(text: string, path: string): Conversation[] {
  return parsed(text, path, z.array(z.unknown())).flatMap((item, i) => readRow(item, `${path}, item ${i + 1}`));
}

function readLines(text: string, path: string): Conversation[] {
  // Harbor writes a trajectory in many lines.
  const lines = /^\s*\{\s*\n/.test(text) ? [text] : text.split("\n");
  return lines.flatMap((line, i) => {
    const where = `${path}, line ${i + 1}`;
    return line.trim() === "" ? [] : readRow(parsed(line, where, z.unknown()), where);
  });
}

function parsed<Schema extends z.ZodType>(text: string, where: string, schema: Schema): z.output<Schema> {
  return parseJson(text, schema, (expected, cause) => new ConfigError(where, cause, { expected, hint: example, cause }));
}

function readRow(json: unknown, where: string): Conversation[] {
  const isTrace = z.looseObject({ schema_version: z.number(), turns: z.unknown() }).safeParse(json).success;
  if (isTrace)
    return understood(trainingTraceSchema, json, where, "OpenEnv's TrainingTrace, with the messages of each turn").map((each) =>
      readConversation(each, where),
    );
  const atif = atifSchema.safeParse(json);
  return [readConversation(atif.success ? atif.data : chatRow(json, where), where)];
}

function understood<T>(schema: z.ZodType<T>, json: unknown, where: string, expected: string): T {
  const parsed = schema.safeParse(json);
  if (parsed.success) return parsed.data;
  const { path, message } = present(parsed.error.issues[0], "what is wrong");
  throw new ConfigError(`${where}: ${path.join(".") || "the line"}`, message, { expected, hint: example });
}

function readConversation(json: unknown, where: string): Conversation {
  const { messages, tools } = understood(lineSchema, json, where, "the OpenAI chat format");
  const calls = new Map<string, string>();
  const read = messages.map((message, i) => asMessage(message, calls, `${where}: messages.${i}`));
  if (read.at(-1)?.role !== "assistant")
    throw new ConfigError(`${where}: the last message`, read.at(-1)?.role, {
      expected: '"assistant"',
      hint: "A conversation teaches what the assistant says: end it with the answer.",
    });
  const offered = tools?.map(asTool);
  const unknown = read
    .flatMap((message) => (message.role === "assistant" ? (message.toolCalls ?? []) : []))
    .find(({ name }) => offered !== undefined && !offered.some((tool) => tool.name === name));
  if (unknown !== undefined)
    throw new ConfigError(`${where}: a call of ${unknown.name}`, "no tool of this line", {
      expected: offered?.map(({ name }) => name),
    });
  return { messages: read, ...(offered === undefined ? {} : { tools: offered }) };
}

/** @param calls names by id of the calls so far */
function asMessage(message: z.output<typeof messageSchema>, calls: Map<string, string>, where: string): Message {
  switch (message.role) {
    case "system":
    case "developer":
      return { role: "system", content: message.content };
    case "user":
      return { role: "user", content: message.content };
    case "tool": {
      const name = message.name ?? calls.get(message.tool_call_id ?? "");
      if (name !== undefined) return { role: "tool", name, content: message.content };
      throw new ConfigError(`${where}.tool_call_id`, message.tool_call_id, { expected: "the id of a call before it, or a name" });
    }
    case "assistant": {
      const toolCalls = (message.tool_calls ?? []).map(({ id, function: { name, arguments: args } }) => {
        if (id !== undefined) calls.set(id, name);
        return { name, arguments: typeof args === "string" ? argumentsOf(args, `${where}: arguments of ${name}`) : args };
      });
      return {
        role: "assistant",
        content: message.content,
        ...(message.reasoning_content ? { reasoning: message.reasoning_content } : {}),
        ...(toolCalls.length === 0 ? {} : { toolCalls }),
      };
    }
    default:
      return message satisfies never;
  }
}

function argumentsOf(text: string, where: string): Record<string, unknown> {
  try {
    return z.record(z.string(), z.unknown()).parse(JSON.parse(text === "" ? "{}" : text));
  } catch (cause) {
    throw new ConfigError(where, text, { expected: "a JSON object", cause });
  }
}

function asTool({ function: { name, description, parameters } }: z.output<typeof toolSchema>): Tool {
  const execute = () => {
    throw new TypeError(`${name} is part of a recorded conversation: it cannot be called`);
  };
  return { name, description, parameters: parameters as JsonSchema, execute };
}
