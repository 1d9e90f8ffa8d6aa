import { z } from "zod";
import { ConfigError } from "../../src/core/errors.ts";
import { parseJson } from "../../src/core/json.ts";
import { readLines } from "../agents/tasks.ts";

// A blank answer would be silence's.
const answerSchema = z.union([z.string().regex(/\S/, "a text that is not blank"), z.number()]);
const rowSchema = z
  .strictObject({
    id: z.union([z.string(), z.number()]).optional(),
    kind: z.string().optional(),
    prompt: z.string().min(1),
    /** Each of several is right. */
    answer: z.union([answerSchema, z.array(answerSchema).min(1)]),
  })
  .transform(({ kind, prompt, answer }) => ({
    ...(kind === undefined ? {} : { kind }),
    prompt,
    answers: [answer].flat().map(String),
  }));

/** A prompt, and the texts that are right answers to it. */
export type AnswerTask = z.output<typeof rowSchema>;

/**
 * Reads a file of JSON lines: `{"prompt", "answer"}`, the answer a text, a number or a list of those that are right, beside it perhaps `id` and
 * `kind`.
 * @throws ConfigError naming the file, or the first line that is of another form or has an answer that cannot be compared
 */
export function readAnswerTasks(file: string, comparison: Comparison): AnswerTask[] {
  const tasks = readLines("environment.settings.data", file, (line, where) => taskOf(line, where, comparison));
  if (tasks.length > 0) return tasks;
  throw new ConfigError(file, "no line", { expected: 'JSON lines such as {"prompt": "2 + 2?", "answer": "4"}' });
}

function taskOf(line: string, where: string, comparison: Comparison): AnswerTask {
  const fail = (expected: string, cause: unknown) => new ConfigError(where, line.slice(0, 80), { expected, cause });
  const task = parseJson(line, rowSchema, fail);
  const strange = comparison === "text" ? undefined : task.answers.find((answer) => lastNumber(answer) === undefined);
  if (strange === undefined) return task;
  throw new ConfigError(`answer of ${where}`, strange, { expected: 'a number, or environment.settings.compare "text"' });
}

/** How an answer is compared with a right one. */
export type Comparison = "text" | "number";

/** Whether an answer is right: as text case and white space do not count, as a number only the last one in it does. */
export function isRight(answer: string, { answers }: AnswerTask, comparison: Comparison): boolean {
  if (comparison === "text") return answers.some((right) => plain(right) === plain(answer));
  const given = lastNumber(answer);
  return given !== undefined && answers.some((right) => lastNumber(right) === given);
}

const plain = (text: string) => text.toLowerCase().replaceAll(/\s/g, "");

/** The last number of a text, thousands with or without commas; in 10-4 it is 4. Undefined if it has none. */
function lastNumber(text: string): number | undefined {
  const number = text.match(/(?<!\d)-?\d+(?:,\d{3})*(?:\.\d+)?/g)?.at(-1);
  return number === undefined ? undefined : Number(number.replaceAll(",", ""));
}
