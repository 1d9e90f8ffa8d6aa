import { EnvError } from "../../src/core/errors.ts";
import { isRecord } from "../../src/core/record.ts";
import { didYouMean } from "../../src/core/settings.ts";
import { readVerified } from "./files.ts";
import { type JsonRecord, parseRecord } from "./records.ts";

export const categories = ["base", "miss_func", "miss_param", "long_context"] as const;
export type Category = (typeof categories)[number];

/** A task of a multi-turn category, with its published answer. */
export interface BfclTask {
  /** Unique: the task's id. */
  readonly id: string;
  /** The category, and for a task that cannot be passed a word of it. */
  readonly kind: string;
  readonly category: Category;
  readonly involvedClasses: readonly string[];
  /** The task's line, from which the official classes take their states. */
  readonly record: string;
  /** The published calls of each turn. */
  readonly groundTruth: readonly (readonly string[])[];
  readonly requestCount: number;
  /** The user's message of each turn. Undefined at the turn at which held-out functions appear. */
  readonly userTurns: readonly (string | undefined)[];
  /** Names of functions that are left out of the documents until their turn, by turn. */
  readonly missedFunctions: ReadonlyMap<number, readonly string[]>;
}

/**
 * Reads the tasks of a category, in the order of their file.
 * @throws ConfigError or EnvError if a file is missing, of another version, or malformed
 */
export function readTasks(folder: string, category: Category): BfclTask[] {
  const name = `BFCL_v4_multi_turn_${category}.json`;
  const answers = new Map<string, JsonRecord>();
  for (const record of recordsOf(readVerified(folder, `possible_answer/${name}`), `possible_answer/${name}`))
    answers.set(record.text("id"), record);
  return recordsOf(readVerified(folder, name), name).map((record) => {
    const id = record.text("id");
    const answer = answers.get(id);
    if (answer === undefined) throw new EnvError(`${name}: answer of task`, id, { expected: "one in possible_answer" });
    return readTask(record, answer, category);
  });
}

/** The objects of a text of JSON lines. */
export function recordsOf(text: string, name: string): JsonRecord[] {
  return text.split("\n").flatMap((line, i) => (line.trim() === "" ? [] : [parseRecord(line, `${name} line ${i + 1}`)]));
}

/** A task from its line and that of its answer. */
export function readTask(record: JsonRecord, answer: JsonRecord, category: Category): BfclTask {
  const id = record.text("id");
  const groundTruth = answer.list("ground_truth").map((calls, i) => {
    if (!Array.isArray(calls) || !calls.every((call) => typeof call === "string"))
      throw answer.wrong(`ground_truth[${i}]`, calls, "a list of call texts");
    return calls as string[];
  });
  const userTurns = record.list("question").map((turn) => userText(turn));
  const missed = Object.hasOwn(record.value, "missed_function") ? Object.entries(record.object("missed_function")) : [];
  return {
    id,
    kind: category,
    category,
    requestCount: userTurns.length,
    userTurns,
    involvedClasses: record.texts("involved_classes"),
    record: record.line,
    missedFunctions: new Map(missed.map(([turn, names]) => [Number(turn), names as string[]])),
    groundTruth,
  };
}

function userText(turn: unknown): string | undefined {
  const [message]: unknown[] = Array.isArray(turn) ? turn : [];
  return isRecord(message) ? String(message.content) : undefined;
}

/** Tasks by id, each category read when first asked for. */
export function taskIndex(folder: string): (id: string) => BfclTask {
  const known = new Map<Category, ReadonlyMap<string, BfclTask>>();
  return (id) => {
    const category = categories.find((name) => id.startsWith(`multi_turn_${name}_`));
    if (category !== undefined && !known.has(category))
      known.set(category, new Map(readTasks(folder, category).map((task) => [task.id, task])));
    const task = category === undefined ? undefined : known.get(category)?.get(id);
    if (task !== undefined) return task;
    const names =
      category === undefined ? categories.map((name) => `multi_turn_${name}_0`) : [...(known.get(category)?.keys() ?? [])];
    throw new EnvError("task id", id, { expected: "a task of BFCL's multi-turn categories", hint: didYouMean(id, names) });
  };
}
