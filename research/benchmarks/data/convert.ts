import { z } from "zod";
import { type FileRecord, textOrNumber } from "../../../extensions/tools/records.ts";
import { EnvError } from "../../../src/core/errors.ts";
import { lastBox } from "../../arpo-protocol/box.ts";
import { gsm8kAnswer } from "../metrics.ts";

/** A question as it is stored: the fields that `openQuestions` reads. */
export interface StoredQuestion {
  readonly id: string;
  readonly question: string;
  readonly answer: string | readonly string[];
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
  /** AIME and MATH-500: `problem`, `answer`. */
  problem: converter({ id, unique_id: id, problem: text, answer }, (row, i) => ({
    id: named(row.id ?? row.unique_id, i),
    question: row.problem,
    answer: row.answer,
  })),
  /** MATH: the answer is the last box of `solution`. */
  boxed: converter(
    { problem: text, solution: text.refine((solution) => lastBox(solution) !== undefined, "a solution with a \\boxed{answer}") },
    ({ problem, solution }, i) => ({ id: String(i), question: problem, answer: lastBox(solution) ?? "" }),
  ),
  /** GSM8K: `answer` ends in `#### ` and the answer. */
  gsm8k: converter(
    {
      question: text,
      answer: text.refine((solution) => solution.includes("#### "), "a solution that ends in #### and the answer"),
    },
    (row, i) => ({ id: String(i), question: row.question, answer: gsm8kAnswer(row.answer) }),
  ),
  /** WebWalkerQA: `question`, `answer`. */
  question: converter({ question: text, answer }, (row, i) => ({ id: String(i), question: row.question, answer: row.answer })),
  /** FlashRAG: `golden_answers`, any of which is right. */
  flashRag: converter({ id, question: text, golden_answers: z.array(answer).min(1) }, (row, i) => ({
    id: named(row.id, i),
    question: row.question,
    answer: row.golden_answers,
  })),
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
