import { z } from "zod";
import { firstDuplicate } from "../../src/core/duplicate.ts";
import { ConfigError, reasonOf } from "../../src/core/errors.ts";
import { parseJson } from "../../src/core/json.ts";
import { present } from "../../src/core/present.ts";
import type { TaskRequest } from "../../src/environments/define.ts";
import { readBounded, utf8Of } from "../../src/files/bounded.ts";
import { sha256 } from "../../src/files/code-digests.ts";

/** Tasks of which some are kept for measuring. */
export interface SplitTasks<T> {
  readonly train: readonly T[];
  readonly test: readonly T[];
}

const largestFile = 256 * 2 ** 20;
/** Share of the tasks that are kept for measuring, and the least number of tasks of which some are. */
const [testShare, leastToSplit] = [0.2, 5];

/**
 * Splits tasks into those that are trained and a fifth that is measured: by their texts alone, so that a longer list keeps what it had where it
 * was. Tasks of one prompt are on one side: else what is measured was trained. Fewer than five tasks are trained and measured alike.
 * @throws ConfigError for an empty list and for equal tasks
 */
export function splitTasks<T extends TaskRequest>(tasks: readonly T[]): SplitTasks<T> {
  if (tasks.length === 0) throw new ConfigError("tasks", "none", { expected: "at least one task with a prompt" });
  const texts = tasks.map((task) => JSON.stringify(task));
  const twice = firstDuplicate(texts);
  if (twice !== undefined)
    throw new ConfigError("tasks", twice, { expected: "each task once: it could be trained and measured" });
  if (tasks.length < leastToSplit) return { train: tasks, test: tasks };
  const ranked = tasks.map(({ prompt }, i) => ({ prompt, rank: sha256(present(texts[i], "a text")) }));
  ranked.sort((a, b) => (a.rank < b.rank ? -1 : 1));
  const kept = new Set(ranked.slice(0, Math.round(testShare * tasks.length)).map(({ prompt }) => prompt));
  return { train: tasks.filter(({ prompt }) => !kept.has(prompt)), test: tasks.filter(({ prompt }) => kept.has(prompt)) };
}

const taskSchema = z.looseObject({ prompt: z.string(), kind: z.string().optional() });

/** Reads tasks from a file of JSON lines, each an object with a prompt. @throws ConfigError naming the first malformed line */
export function readTasks(file: string): TaskRequest[] {
  return readLines("tasks", file, taskOf);
}

/**
 * Reads each line of a file that is not blank.
 * @param subject names the file in the error
 * @param read is given a line and its place, `FILE:NUMBER`
 * @throws ConfigError if there is no such file of text, or it is too large
 */
export function readLines<T>(subject: string, file: string, read: (line: string, where: string) => T): T[] {
  return textOf(subject, file)
    .split("\n")
    .flatMap((line, i) => (line.trim() === "" ? [] : [read(line, `${file}:${i + 1}`)]));
}

function textOf(subject: string, file: string): string {
  try {
    return utf8Of(readBounded(file, largestFile));
  } catch (cause) {
    throw new ConfigError(subject, file, { expected: "a file of JSON lines", hint: reasonOf(cause), cause });
  }
}

function taskOf(line: string, where: string): TaskRequest {
  const expected = 'an object as JSON, with a "prompt"';
  return parseJson(line, taskSchema, (_, cause) => new ConfigError(where, line.slice(0, 80), { expected, cause }));
}
