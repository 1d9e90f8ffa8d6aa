import { z } from "zod";
import { CalledTools, exactArguments, messageOfWire, messageSchema } from "../../chat/openai-messages.ts";
import { door } from "../../core/door.ts";
import { ConfigError, reasonOf } from "../../core/errors.ts";
import { parseJson } from "../../core/json.ts";
import type { Message, ToolCall } from "../../core/messages.ts";
import { inCallOrder } from "../../core/tool-results.ts";
import { readBounded, utf8Of } from "../../files/bounded.ts";
import type { JsonSchema, Tool } from "../../tools/tool.ts";
import { exampleLine, harmlessOfRows, inChatFormat, understood } from "./formats.ts";

/** A conversation to learn from. */
export interface Conversation {
  readonly messages: readonly Message[];
  /** The tools of the conversation; undefined if it lists none. */
  readonly tools?: readonly Tool[];
}

/** JavaScript has no longer texts. */
const largestFile = 512 * 2 ** 20;

/** Whether a message is learned, under the names that trainers give it. */
const flag = z.union([z.boolean(), z.literal([0, 1])], { error: "0, 1, false or true: nothing is learned by a part" }).nullish();
const flags = { weight: flag, train: flag, training: flag, trainable: flag, loss: flag, loss_mask: flag };

const toolFields = {
  name: z.string().min(1),
  description: z.string().nullish(),
  parameters: z
    .looseObject({ type: z.literal("object") })
    .nullish()
    .transform((schema) => (schema ?? { type: "object", properties: {} }) as JsonSchema),
};
// "strict" is how calls are drawn, which nothing does here.
const shown = { ignores: ["strict"] };
const toolSchema = z.union([
  door("a tool", { type: z.literal("function").nullish(), function: door("a tool's function", toolFields, shown) }),
  door("a tool without a wrapper", { type: z.literal("function").nullish(), ...toolFields }, shown).transform((tool) => ({
    type: tool.type,
    function: tool,
  })),
]);
const lineSchema = door(
  "a conversation",
  {
    messages: z.array(messageSchema(flags)).min(1),
    tools: z.array(toolSchema).nullish(),
    functions: z.array(toolSchema).nullish(),
    system: z.string().nullish(),
    loss_mask: z.array(flag).nullish(),
  },
  harmlessOfRows,
);

/**
 * Reads conversations in the OpenAI chat format, one JSON object a line, or a list of them in JSON: `messages` with their tool calls, and `tools` if
 * there are any. Each row, or the whole file, may be in another format, which an extension brings, instead.
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
  throw new ConfigError(path, "empty", { expected: "at least one conversation", hint: exampleLine });
}

function readList(text: string, path: string): Conversation[] {
  return parsed(text, path, z.array(z.unknown())).flatMap((item, i) => readRow(item, `${path}, item ${i + 1}`));
}

function readLines(text: string, path: string): Conversation[] {
  return text.split("\n").flatMap((line, i) => {
    const where = `${path}, line ${i + 1}`;
    return line.trim() === "" ? [] : readRow(parsed(line, where, z.unknown()), where);
  });
}

function parsed<Schema extends z.ZodType>(text: string, where: string, schema: Schema): z.output<Schema> {
  return parseJson(text, schema, (expected, cause) => new ConfigError(where, cause, { expected, hint: exampleLine, cause }));
}

/** Reads a row. @throws ConfigError naming what is wrong */
export function readRow(json: unknown, where: string): Conversation[] {
  return inChatFormat(json, where).map((each) => readConversation(each, where));
}

function readConversation(json: unknown, where: string): Conversation {
  const line = understood(lineSchema, json, where, "the OpenAI chat format");
  const { messages, system, loss_mask: mask } = line;
  if (mask && mask.length !== messages.length)
    throw new ConfigError(`${where}: loss_mask`, mask, { expected: `${messages.length} values, one a message` });
  if (system && messages[0]?.role === "system")
    throw new ConfigError(`${where}: system`, system, { expected: "none beside a system message" });
  if (line.tools?.length && line.functions?.length)
    throw new ConfigError(`${where}: functions`, line.functions.length, { expected: "none beside tools" });
  const called = new CalledTools();
  const read = messages.map((message, i) => {
    const place = `${where}: messages.${i}`;
    const isLearned = learned(message, mask?.[i] ?? undefined, place);
    const said = asMessage(message, called, place);
    return said.role === "assistant" && !isLearned ? { ...said, learned: false as const } : said;
  });
  if (read.at(-1)?.role !== "assistant")
    throw new ConfigError(`${where}: the last message`, read.at(-1)?.role, {
      expected: '"assistant"',
      hint: "A conversation teaches what the assistant says: end it with the answer.",
    });
  if (read.every((message) => message.role !== "assistant" || message.learned === false))
    throw new ConfigError(where, "without a message to learn from", { expected: "an assistant's message that is learned" });
  const offered = (line.tools ?? line.functions)?.map((tool) => asTool(tool.function));
  // What is only shown may call other tools: an agent writes calls of its own, and shows its model other tools at each request.
  const unknown = read
    .flatMap((message) => (message.role === "assistant" && message.learned !== false ? (message.toolCalls ?? []) : []))
    .find(({ name }) => offered !== undefined && !offered.some((tool) => tool.name === name));
  if (unknown !== undefined)
    throw new ConfigError(`${where}: a call of ${unknown.name}`, "no tool of this line", {
      expected: offered?.map(({ name }) => name),
    });
  const whole = [...(system ? [{ role: "system", content: system } as const] : []), ...read];
  return { messages: inCallOrder(whole), ...(offered === undefined ? {} : { tools: offered }) };
}

type LineMessage = z.output<typeof lineSchema>["messages"][number];

/** @param masked the line's own flag for the message */
function learned(message: LineMessage, masked: boolean | 0 | 1 | undefined, where: string): boolean {
  const given = Object.keys(flags).flatMap((name) => {
    const value = message[name as keyof typeof flags];
    return value === undefined || value === null ? [] : [Boolean(value)];
  });
  const all = [...given, ...(masked === undefined ? [] : [Boolean(masked)])];
  if (new Set(all).size > 1) throw new ConfigError(where, "learned and not", { expected: "flags that agree" });
  if (message.role !== "assistant" && given.includes(true))
    throw new ConfigError(where, `the ${message.role}'s, to be learned`, { expected: "an assistant's: others are only shown" });
  return message.role === "assistant" && all[0] !== false;
}

function asMessage(message: LineMessage, called: CalledTools, where: string): Message {
  const fail = (field: string, value: unknown, expected: string) => new ConfigError(`${where}.${field}`, value, { expected });
  const said = messageOfWire(message, called, (text, tool) => argumentsOf(text, `${where}: arguments of ${tool}`), fail);
  const isEmpty = said.role === "assistant" && `${said.content}${said.reasoning ?? ""}`.trim() === "";
  if (isEmpty && said.toolCalls === undefined)
    throw fail("content", said.content, "a text, reasoning or calls: there is nothing in this message");
  return said;
}

function argumentsOf(text: string, where: string): Pick<ToolCall, "arguments" | "argumentsText"> {
  try {
    return exactArguments(text);
  } catch (cause) {
    throw new ConfigError(where, text, { expected: "a JSON object", cause });
  }
}

function asTool({ name, description, parameters }: z.output<z.ZodObject<typeof toolFields>>): Tool {
  const execute = () => {
    throw new TypeError(`${name} is part of a recorded conversation: it cannot be called`);
  };
  return { name, description: description ?? "", parameters, execute };
}
