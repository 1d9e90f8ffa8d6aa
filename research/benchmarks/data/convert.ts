import { z } from "zod";
import { type FileRecord, textOrNumber } from "../../../extensions/tools/records.ts";
import { EnvError } from "../../../src/core/errors.ts";

/** A question as it is stored: the fields that `openQuestions` reads. */
export interface StoredQuestion {
  readonly id: string;
  readonly question: string;
  readonly answer: string;
}

/** Reads one published record. @throws EnvError naming the record, its field and what was expected */
export interface ConvertRecord {
  (record: FileRecord, index: number): StoredQuestion;
  /** The columns that it needs, where files have more that are large. */
  readonly columns?: readonly string[];
}

const text = z.string().min(1);
const answer = textOrNumber.pipe(text);
const id = textOrNumber.optional();

function converter<Shape extends z.ZodRawShape>(
  shape: Shape,
  convert: (row: z.output<z.ZodObject<Shape, z.core.$loose>>, index: number) => StoredQuestion,
): ConvertRecord {
  const schema = z.looseObject(shape);
  const read = ({ value, where }: FileRecord, index: number): StoredQuestion => {
    const parsed = schema.safeParse(value);
    if (parsed.success) return convert(parsed.data, index);
    const [issue = { path: [], message: "another form" }] = parsed.error.issues;
    const field = issue.path.join(".") || "the record";
    throw new EnvError(`${where}: ${field}`, undefined, {
      expected: issue.message,
      hint: "The published file has another form than that of the pinned revision.",
    });
  };
  return Object.assign(read, { columns: Object.keys(shape) });
}

const named = (given: string | undefined, index: number) => given ?? String(index);

/** How records are published, by the data set that has them so. */
export const converters = {
  gaia: converter({ task_id: text, Question: text, "Final answer": answer }, (row) => ({
    id: row.task_id,
    question: row.Question,
    answer: row["Final answer"],
  })),
  hle: converter({ id: text, question: text, answer }, (row) => ({ id: row.id, question: row.question, answer: row.answer })),
  /** xbench encrypts each field with its own key, so that questions do not get into training data by accident. */
  xbench: converter({ id, prompt: text, answer: text, canary: text }, ({ id: given, prompt, answer: secret, canary }, i) => ({
    id: named(given, i),
    question: decrypted(prompt, canary),
    answer: decrypted(secret, canary),
  })),
} as const satisfies Record<string, ConvertRecord>;

/** Base64 of the text's bytes, each combined with one of the key by exclusive or. */
function decrypted(secret: string, key: string): string {
  const keyBytes = Buffer.from(key, "utf8");
  const bytes = Buffer.from(secret, "base64").map((byte, i) => byte ^ (keyBytes[i % keyBytes.length] ?? 0));
  return Buffer.from(bytes).toString("utf8");
}
