import { z } from "zod";
import { ConfigError } from "../../core/errors.ts";
import { parseJson } from "../../core/json.ts";

/** Roles in the OpenAI format of ShareGPT's `from`, and of LLaMA-Factory's results. */
const roles: Readonly<Record<string, string>> = {
  human: "user",
  gpt: "assistant",
  chatgpt: "assistant",
  model: "assistant",
  observation: "tool",
};
const calls = "function_call";

const toolsSchema = z.union([z.string(), z.array(z.unknown())]).nullish();
const shareGptSchema = z.looseObject({
  conversations: z.array(z.looseObject({ from: z.string(), value: z.string() })).min(1),
  system: z.string().nullish(),
  tools: toolsSchema,
});
const alpacaSchema = z.looseObject({
  instruction: z.string(),
  input: z.string().nullish(),
  output: z.string(),
  system: z.string().nullish(),
  history: z.array(z.tuple([z.string(), z.string()])).nullish(),
});
const sideSchema = z.union([z.string(), z.array(z.unknown())]);
const completionSchema = z.looseObject({ prompt: sideSchema, completion: sideSchema, tools: toolsSchema });
const callSchema = z.looseObject({ name: z.string(), arguments: z.unknown() });
const madeSchema = z.union([z.array(callSchema).min(1), callSchema.transform((call) => [call])]);

/** Rows that are no demonstrations. To learn them would teach something else, and nothing would say so. */
const others = [
  {
    schema: z.union([z.looseObject({ rejected: z.unknown() }), z.looseObject({ label: z.literal(false) })]),
    what: "a preference",
    hint: "sft learns all that the assistant says: keep the chosen answers alone, as messages.",
  },
  {
    schema: z.union(
      (["images", "videos", "audios"] as const).map((name) => z.looseObject({ [name]: z.array(z.unknown()).min(1) })),
    ),
    what: "images or sound",
    hint: "Models here read text alone.",
  },
  {
    schema: z.looseObject({ text: z.string(), messages: z.undefined().optional(), prompt: z.undefined().optional() }),
    what: "a text alone",
    hint: "sft learns what the assistant says in a conversation: give it messages.",
  },
];

/**
 * A row of a dataset as a line of the OpenAI chat format: ShareGPT's `conversations`, with LLaMA-Factory's calls and results; Alpaca's instruction,
 * input and output; TRL's prompt and completion. Any other is returned as it is.
 * @throws ConfigError for a row that is no demonstration, and for calls and tools that are no JSON
 */
export function chatRow(row: unknown, where: string): unknown {
  for (const { schema, what, hint } of others)
    if (schema.safeParse(row).success) throw new ConfigError(where, what, { expected: "a demonstration", hint });
  const shareGpt = shareGptSchema.safeParse(row).data;
  if (shareGpt !== undefined) {
    const { conversations, system, tools } = shareGpt;
    return { messages: [...instructed(system), ...saidIn(conversations, where)], tools: toolsOf(tools, where) };
  }
  const alpaca = alpacaSchema.safeParse(row).data;
  if (alpaca !== undefined) {
    const { instruction, input, output, system, history } = alpaca;
    const turns = [...(history ?? []), [input ? `${instruction}\n${input}` : instruction, output] as const];
    return { messages: [...instructed(system), ...turns.flatMap(([asked, said]) => [user(asked), assistant(said)])] };
  }
  const completion = completionSchema.safeParse(row).data;
  if (completion === undefined) return row;
  const { prompt, completion: said, tools } = completion;
  const messages = [
    ...(typeof prompt === "string" ? [user(prompt)] : prompt),
    ...(typeof said === "string" ? [assistant(said)] : said),
  ];
  return { messages, tools: toolsOf(tools, where) };
}

const user = (content: string) => ({ role: "user", content });
const assistant = (content: string) => ({ role: "assistant", content });
const instructed = (system: string | null | undefined) => (system ? [{ role: "system", content: system }] : []);

/** Results belong to the calls before them, in their order. */
function saidIn(conversations: z.output<typeof shareGptSchema>["conversations"], where: string): unknown[] {
  let open: string[] = [];
  return conversations.map(({ from, value }, i) => {
    if (from === calls) {
      const made = parseJson(value, madeSchema, (_, cause) => {
        const expected = "a call's name and arguments";
        return new ConfigError(`${where}: conversations.${i}.value`, value, { expected, cause });
      });
      open = made.map(({ name }) => name);
      return {
        role: "assistant",
        tool_calls: made.map(({ name, arguments: args }) => ({ function: { name, arguments: args } })),
      };
    }
    const role = roles[from] ?? from;
    return role === "tool" ? { role, name: open.length > 1 ? open.shift() : open[0], content: value } : { role, content: value };
  });
}

/** In JSON, or as they are; a tool without a wrapper is wrapped. */
function toolsOf(tools: z.output<typeof toolsSchema>, where: string): unknown[] | undefined {
  const fail = (expected: string, cause: unknown) => new ConfigError(`${where}: tools`, tools, { expected, cause });
  const listed = typeof tools === "string" ? parseJson(tools || "[]", z.array(z.unknown()), fail) : (tools ?? []);
  if (listed.length === 0) return undefined;
  return listed.map((tool) => (z.looseObject({ function: z.unknown() }).safeParse(tool).success ? tool : { function: tool }));
}
