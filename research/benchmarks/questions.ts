import { z } from "zod";
import { type FileRecord, openRecords, textOrNumber } from "../../extensions/tools/records.ts";
import { ConfigError, EnvError, ToolError } from "../../src/core/errors.ts";
import type { Message } from "../../src/core/messages.ts";
import { gsm8kAnswer } from "./metrics.ts";

/** A question and what is a right answer to it. */
export interface Question {
  readonly question: string;
  readonly golds: readonly string[];
  /** As its file says it, such as "math" or "qa". */
  readonly ability: string | undefined;
  /** The messages that its file brings, where it does. */
  readonly prompt: readonly Message[] | undefined;
}

/** A file that has been opened: all that can be checked at once has been. */
export interface QuestionFile {
  readonly count: number;
  read(): Promise<readonly Question[]>;
}

const questionKeys = ["question", "problem", "Question"];
const answerKeys = ["answer", "answers", "golden_answers"];
const expected = `a question (${questionKeys.join(", ")} or extra_info.question) and its answer (${answerKeys.join(", ")} or reward_model.ground_truth), a whole number beyond 2^53 as a text`;

const text = z.string().min(1);
const answers = z.union([textOrNumber.transform((gold) => [gold]), z.array(textOrNumber).min(1)]);
/** As verl has it: the format of ARPO's training data. */
const verlSchema = z.looseObject({
  prompt: z
    .array(z.object({ role: z.enum(["system", "user"]), content: z.string() }))
    .min(1)
    .nullish()
    .catch(undefined),
  ability: z.string().nullish(),
  reward_model: z.looseObject({ ground_truth: answers.nullish() }).nullish(),
  extra_info: z.looseObject({ question: text.nullish() }).nullish(),
});

/**
 * Opens a file of records with a question and an answer, or a list of answers any of which is right.
 * @param setting the one that names the file
 * @throws ConfigError naming the file, and the record that is something else
 */
export function openQuestions(path: string, setting: string): QuestionFile {
  const file = opened(path, setting);
  if (file.count === 0) throw new ConfigError(setting, path, { expected: "at least one question in the file" });
  const { columns, records } = file;
  const has = (keys: readonly string[]) => columns === undefined || keys.some((key) => columns.includes(key));
  if (!has([...questionKeys, "extra_info"]) || !has([...answerKeys, "reward_model"]))
    throw new ConfigError(setting, path, { expected, hint: `The file has the columns ${columns?.join(", ")}.` });
  if (records === undefined) return { count: file.count, read: async () => (await file.read()).map(questionOf) };
  const questions = asSetting(setting, path, () => records.map(questionOf));
  return { count: file.count, read: async () => questions };
}

function opened(path: string, setting: string) {
  return asSetting(setting, path, () => openRecords(path));
}

/** Runs `make`; turns a fault of a file into a fault of the setting that names it. */
function asSetting<T>(setting: string, path: string, make: () => T): T {
  try {
    return make();
  } catch (cause) {
    if (!(cause instanceof ToolError || cause instanceof EnvError)) throw cause;
    const where = String(cause.value).startsWith(path) ? cause.value : cause.subject;
    throw new ConfigError(setting, where, { expected: cause.expected, hint: cause.hint, cause });
  }
}

/** @throws EnvError */
export function questionOf({ value, where }: FileRecord): Question {
  const row = verlSchema.safeParse(value);
  const fields = row.success ? row.data : {};
  const first = <T>(keys: readonly string[], schema: z.ZodType<T>): T | undefined =>
    keys.map((key) => schema.safeParse(fields[key])).find(({ success }) => success)?.data;
  const { prompt, ability, extra_info, reward_model } = row.data ?? {};
  const question = first(questionKeys, text) ?? extra_info?.question ?? prompt?.findLast(({ role }) => role === "user")?.content;
  const golds = reward_model?.ground_truth ?? first(answerKeys, answers);
  if (question === undefined || golds === undefined) {
    const keys = Object.keys(typeof value === "object" ? (value ?? {}) : {});
    throw new EnvError(where, value, { expected, hint: `The record has ${keys.length === 0 ? "nothing" : keys.join(", ")}.` });
  }
  return {
    question,
    golds: golds.map((gold) => (gold.includes("\n#### ") ? gsm8kAnswer(gold) : gold)),
    ability: ability ?? undefined,
    prompt: prompt?.map(({ role, content }) => ({ role, content: withBoxes(content) })),
  };
}

/** In ARPO's files the `\b` of `\boxed` became a backspace. */
function withBoxes(content: string): string {
  return content.replaceAll("\boxed", "\\boxed");
}

/** A question's words: what two questions share that are the same up to case, punctuation and white space. */
export function wordsOfQuestion(question: string): string {
  return (question.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []).join(" ");
}
