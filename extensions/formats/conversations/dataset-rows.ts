import { z } from "zod";
import { door, nearestIssue } from "../../../src/core/door.ts";
import { ConfigError } from "../../../src/core/errors.ts";
import { parseJson } from "../../../src/core/json.ts";
import { harmlessOfRows } from "../../../src/training/supervised/formats.ts";

/** Roles in the OpenAI format of ShareGPT's `from`, and of LLaMA-Factory's results. */
const roles: Readonly<Record<string, string>> = {
  human: "user",
  gpt: "assistant",
  chatgpt: "assistant",
  model: "assistant",
  observation: "tool",
  function_response: "tool",
};
const calls = "function_call";

const toolsSchema = z.union([z.string(), z.array(z.unknown())]).nullish();
const maskSchema = z.array(z.unknown()).nullish();
const flag = z.unknown().optional();
/** Flags of a message that readers of the OpenAI format check. */
const flags = { weight: flag, train: flag, training: flag, trainable: flag, loss: flag, loss_mask: flag };
const shareGptSchema = door(
  "a row of ShareGPT",
  {
    conversations: z.array(door("a turn of ShareGPT", { from: z.string(), value: z.string(), ...flags })).min(1),
    ...{ system: z.string().nullish(), tools: toolsSchema, loss_mask: maskSchema },
  },
  harmlessOfRows,
);
const alpacaSchema = door(
  "a row of Alpaca",
  {
    instruction: z.string(),
    input: z.string().nullish(),
    output: z.string(),
    system: z.string().nullish(),
    history: z.array(z.tuple([z.string(), z.string()])).nullish(),
  },
  // Alpaca's own "text" is the row as its template shows it.
  { ...harmlessOfRows, ignores: [...(harmlessOfRows.ignores ?? []), "text"] },
);
const sideSchema = z.union([z.string(), z.array(z.unknown())]);
const completionSchema = door(
  "a row with a prompt and a completion",
  { prompt: sideSchema, completion: sideSchema, tools: toolsSchema },
  harmlessOfRows,
);
const callSchema = door("a call of ShareGPT", { name: z.string(), arguments: z.unknown() });
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
    schema: z.looseObject({
      text: z.string(),
      ...{ messages: z.undefined().optional(), prompt: z.undefined().optional(), instruction: z.undefined().optional() },
    }),
    what: "a text alone",
    hint: "sft learns what the assistant says in a conversation: give it messages.",
  },
];

/**
 * A row of a dataset as a line of the OpenAI chat format: ShareGPT's `conversations`, with LLaMA-Factory's calls and results; Alpaca's instruction,
 * input and output; TRL's prompt and completion. Any other is returned as it is, with tools that are JSON as a list.
 * @throws ConfigError for a row that is no demonstration, one with a field that is not known, and calls and tools that are no JSON
 */
export function chatRow(row: unknown, where: string): unknown {
  for (const { schema, what, hint } of others)
    if (schema.safeParse(row).success) throw new ConfigError(where, what, { expected: "a demonstration", hint });
  if (typeof row !== "object" || row === null) return row;
  if ("messages" in row) return listed(withoutPrompt(row as Row), where);
  if ("conversations" in row) {
    const { conversations: said, ...rest } = row as Row & { readonly conversations: unknown };
    // Some write messages under ShareGPT's name.
    if (Array.isArray(said) && said.every((message) => typeof message === "object" && message !== null && "role" in message))
      return listed({ ...rest, messages: said }, where);
    const { conversations, system, tools, loss_mask } = read(shareGptSchema, row, where);
    const messages = saidIn(conversations, where);
    return { messages, system, tools: toolsOf(tools, where), ...(loss_mask ? { loss_mask } : {}) };
  }
  if ("instruction" in row) {
    const { instruction, input, output, system, history } = read(alpacaSchema, row, where);
    const turns = [...(history ?? []), [input ? `${instruction}\n${input}` : instruction, output] as const];
    return { messages: turns.flatMap(([question, said]) => [user(question), assistant(said)]), system };
  }
  if (!("completion" in row)) return row;
  const { prompt, completion: said, tools } = read(completionSchema, row, where);
  const messages = [
    ...(typeof prompt === "string" ? [user(prompt)] : prompt),
    ...(typeof said === "string" ? [assistant(said)] : said),
  ];
  return { messages, tools: toolsOf(tools, where) };
}

type Row = Readonly<Record<string, unknown>>;

function read<Schema extends z.ZodType>(schema: Schema, row: unknown, where: string): z.output<Schema> {
  const parsed = schema.safeParse(row);
  if (parsed.success) return parsed.data;
  const { path, message } = nearestIssue(parsed.error.issues);
  throw new ConfigError(`${where}: ${path.join(".")}`, message, {
    expected: "a row of a known form",
    hint: "Leave the column out if it says nothing.",
  });
}

function listed(row: Row, where: string): Row {
  return typeof row.tools === "string" ? { ...row, tools: toolsOf(row.tools, where) } : row;
}

/** Some data sets have the first question in a column of its own, too. */
function withoutPrompt({ prompt, ...row }: Row): Row {
  const [first] = (Array.isArray(row.messages) ? row.messages : []).filter((message) => message?.role === "user");
  return prompt === undefined || first?.content === prompt ? row : { ...row, prompt };
}

const user = (content: string) => ({ role: "user", content });
const assistant = (content: string) => ({ role: "assistant", content });

/** Results belong to the calls before them, in their order. */
function saidIn(conversations: z.output<typeof shareGptSchema>["conversations"], where: string): unknown[] {
  let open: string[] = [];
  return conversations.map(({ from, value, ...given }, i) => {
    if (from === calls) {
      const made = parseJson(value, madeSchema, (_, cause) => {
        const expected = "a call's name and arguments";
        return new ConfigError(`${where}: conversations.${i}.value`, value, { expected, cause });
      });
      open = made.map(({ name }) => name);
      return {
        ...{ role: "assistant", ...flagsOf(given) },
        tool_calls: made.map(({ name, arguments: args }) => ({ function: { name, arguments: args } })),
      };
    }
    const role = roles[from] ?? from;
    const said = { role, content: value, ...flagsOf(given) };
    return role === "tool" ? { ...said, name: open.length > 1 ? open.shift() : open[0] } : said;
  });
}

function flagsOf(given: Row): Row {
  return Object.fromEntries(Object.entries(given).filter(([name]) => name in flags));
}

/** In JSON, or as they are. */
function toolsOf(tools: z.output<typeof toolsSchema>, where: string): unknown[] | undefined {
  const fail = (expected: string, cause: unknown) => new ConfigError(`${where}: tools`, tools, { expected, cause });
  const all = typeof tools === "string" ? parseJson(tools || "[]", z.array(z.unknown()), fail) : (tools ?? []);
  return all.length === 0 ? undefined : all;
}
