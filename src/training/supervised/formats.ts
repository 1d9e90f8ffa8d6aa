import type { z } from "zod";
import { type DoorDetails, nearestIssue } from "../../core/door.ts";
import { ConfigError } from "../../core/errors.ts";

export interface ConversationFormat {
  /** Whether a row is in it. */
  readonly recognises: (row: unknown) => boolean;
  /**
   * Returns the conversations of a row in the OpenAI chat format.
   * @throws ConfigError naming what is wrong
   */
  readonly read: (row: unknown, where: string) => readonly unknown[];
}

const formats = new Set<ConversationFormat>();

/** Adds formats; of those that recognise a row the first reads it. Adding one again changes nothing. */
export function addConversationFormats(added: readonly ConversationFormat[]): void {
  for (const format of added) formats.add(format);
}

/** Returns a row's conversations in the OpenAI chat format, which a row of no other format is taken to be in. */
export function inChatFormat(row: unknown, where: string): readonly unknown[] {
  return [...formats].find((format) => format.recognises(row))?.read(row, where) ?? [row];
}

/** A line of the OpenAI chat format, for hints. */
export const exampleLine = 'A line is {"messages": [{"role": "user", "content": "…"}, {"role": "assistant", "content": "…"}]}.';

/** Returns a row as its schema reads it. @throws ConfigError naming what is wrong */
export function understood<T>(schema: z.ZodType<T>, row: unknown, where: string, expected: string): T {
  const parsed = schema.safeParse(row);
  if (parsed.success) return parsed.data;
  const { path, message } = nearestIssue(parsed.error.issues);
  throw new ConfigError(`${where}: ${path.join(".") || "the line"}`, message, { expected, hint: exampleLine });
}

const harmless = `
    id _id uid uuid idx index hash row_id item_id sample_id example_id question_id data_id conversation_id chat_id
    session_id prompt_id trace_id task_id instance_id dataset_id doc_id source data_source source_dataset origin dataset
    dataset_name url license meta metadata extra info extra_info category categories subcategory topic domain task
    task_type type kind tags language lang difficulty created created_at timestamp date author annotator title version
    model model_name generator num_turns n_turns num_tokens token_count tokens length usage __index_level_0__
`;

/** Columns that say where a row is from and how it was chosen. */
export const harmlessOfRows: DoorDetails = {
  ignores: harmless.split(/\s+/).filter((name) => name !== ""),
  neutral: {
    ...{ images: [], videos: [], audios: [], documents: [] },
    ...{ label: true, parallel_tool_calls: true, chat_template_kwargs: {} },
  },
};
