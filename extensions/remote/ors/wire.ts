import { z } from "zod";
import { door } from "../../../src/core/door.ts";
import type { AssistantMessage, Message, ToolMessage } from "../../../src/core/messages.ts";

/**
 * Documents of the Open Reward Standard as ors-sdk 0.1 (ors/{types,server}.py) and openreward 0.1.157 to 0.1.167
 * (openreward/environments/{types,server}.py) write them. Fields that neither knows are refused by name where leaving them out could change what
 * an episode is: version 0.1.157 took the tool that grades out of `tools`, and who did not look for it elsewhere scored 0.
 */
export const spoken = "ORS of ors-sdk 0.1 and openreward 0.1.157 to 0.1.167";

/** `detail` and `metadata` are for programs, such as a page that shows the episode; `signature` is for the service that wrote the reasoning. */
const detail = { ignores: ["detail"] };

/** A block as text: the model reads no images. */
const textSchema = door("a text of ORS", { type: z.literal("text"), text: z.string() }, detail);
const imageSchema = door("an image of ORS", { type: z.literal("image"), data: z.string(), mimeType: z.string() }, detail);
const blockSchema = z.discriminatedUnion("type", [textSchema, imageSchema]);
export const blocksSchema = z.array(blockSchema);
export type Blocks = z.output<typeof blocksSchema>;

const messageBlockSchema = z.discriminatedUnion("type", [
  textSchema,
  imageSchema,
  door("reasoning of ORS", { type: z.literal("reasoning"), text: z.string() }, { ignores: ["detail", "signature"] }),
  door(
    "a tool call of ORS",
    { type: z.literal("tool_call"), id: z.string(), name: z.string(), input: z.record(z.string(), z.unknown()) },
    detail,
  ),
  door(
    "a tool result of ORS",
    { type: z.literal("tool_result"), tool_call_id: z.string(), blocks: blocksSchema },
    { ...detail, neutral: { is_error: false } }, // messages here have no flag for it
  ),
]);
type MessageBlock = z.output<typeof messageBlockSchema>;
export const messageBlockTypes = messageBlockSchema.options.map(({ shape }) => shape.type.value);
export const messagesSchema = z
  .array(door("a message of ORS", { role: z.enum(["system", "user", "assistant"]), blocks: z.array(messageBlockSchema) }, detail))
  .min(1);

export const toolOutputSchema = z.discriminatedUnion("ok", [
  door("a successful call of ORS", {
    ok: z.literal(true),
    output: door("a tool's output of ORS", {
      blocks: blocksSchema,
      metadata: z.unknown(),
      reward: z.number().nullish(),
      finished: z.boolean().default(false),
    }),
  }),
  // The reason is a word for the error's text.
  door("a failed call of ORS", { ok: z.literal(false), error: z.string() }, { ignores: ["reason"] }),
]);
export type ToolOutput = z.output<typeof toolOutputSchema>;

const parametersSchema = z
  .record(z.string(), z.unknown())
  .nullish()
  .transform((schema) => ({ ...schema, type: "object" as const, properties: schema?.properties ?? {} }));
export const toolsSchema = door(
  "a list of tools of ORS",
  {
    tools: z.array(
      door("a tool of ORS", { name: z.string().min(1), description: z.string().default(""), input_schema: parametersSchema }),
    ),
    /** The tool that is called with the message that ends the episode. The model is not shown it. `arg` null: it takes no arguments. */
    terminal_tool: door("the last tool of ORS", {
      ...{ name: z.string().min(1), arg: z.string().nullable(), description: z.string().default("") },
    }).nullish(),
  },
  { ignores: ["supports_score_group", "message_block_types"] },
);
export type ToolList = z.output<typeof toolsSchema>;

export const versionSchema = door("the version of an ORS server", { version: z.string() }, { ignores: ["build_sha"] });

export function blocksText(blocks: Blocks): string {
  return blocks
    .map((block) => (block.type === "text" ? block.text : `[${block.mimeType}, ${block.data.length} characters: not shown]`))
    .join("\n");
}

/** A conversation of the server's as ours. Results of tools, which are in messages of the user there, are messages of their own. */
export function messagesOf(given: z.output<typeof messagesSchema>): Message[] {
  const names = new Map<string, string>();
  return given.flatMap(({ role, blocks }): Message[] => {
    const of = <T extends MessageBlock["type"]>(...types: T[]) =>
      blocks.filter((block): block is Extract<MessageBlock, { type: T }> => types.includes(block.type as T));
    const content = blocksText(of("text", "image"));
    if (role === "system") return [{ role, content }];
    if (role === "user") {
      const results = of("tool_result").map(
        ({ tool_call_id: callId, blocks: result }): ToolMessage => ({
          ...{ role: "tool", name: names.get(callId) ?? "unknown", callId, content: blocksText(result) },
        }),
      );
      return results.length > 0 && content === "" ? results : [...results, { role, content }];
    }
    const reasoning = of("reasoning").map(({ text }) => text);
    const toolCalls = of("tool_call").map(({ id, name, input }) => ({ id, name, arguments: input }));
    for (const { id, name } of toolCalls) names.set(id, name);
    const message: AssistantMessage = {
      ...{ role, content },
      ...(reasoning.length === 0 ? {} : { reasoning: reasoning.join("\n") }),
      ...(toolCalls.length === 0 ? {} : { toolCalls }),
    };
    return [message];
  });
}

/** Our messages as the server's. Calls without an id get one, in their order. */
export function wireMessages(conversation: readonly Message[]): object[] {
  let made = 0;
  const open: string[] = [];
  const messages = conversation.map((message) => {
    const text = message.content === "" ? [] : [{ type: "text", text: message.content }];
    if (message.role === "tool") {
      const next = open.shift();
      return { role: "user", blocks: [{ type: "tool_result", tool_call_id: message.callId ?? next, blocks: text }] };
    }
    if (message.role !== "assistant") return { role: message.role, blocks: text };
    const calls = (message.toolCalls ?? []).map(({ id = `call_${made++}`, name, arguments: input }) => {
      open.push(id);
      return { type: "tool_call", id, name, input };
    });
    const reasoning = message.reasoning === undefined ? [] : [{ type: "reasoning", text: message.reasoning }];
    return { role: "assistant", blocks: [...reasoning, ...text, ...calls] };
  });
  return messages.filter(({ blocks }) => blocks.length > 0);
}
