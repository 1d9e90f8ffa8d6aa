import { existsSync } from "node:fs";
import { z } from "zod";
import { ConfigError, RunError } from "../../src/core/errors.ts";
import { parseJson } from "../../src/core/json.ts";
import { appendLine, writeFileAtomic } from "../../src/files/atomic.ts";
import { readBounded, utf8Of } from "../../src/files/bounded.ts";
import { sha256 } from "../../src/files/code-digests.ts";
import { takeLock } from "../../src/files/lock.ts";

const usageSchema = z.strictObject({
  requests: z.int().min(0),
  promptTokens: z.number().min(0),
  completionTokens: z.number().min(0),
  /** Answers whose tokens the server did not report. */
  unreported: z.int().min(0),
});
const rowSchema = z.strictObject({
  messages: z.array(z.record(z.string(), z.unknown())),
  tools: z.array(z.record(z.string(), z.unknown())),
});
const subjects = {
  ...{ teacher: "the teacher", model: "the model", tasks: "the SHA-256 of the tasks" },
  ...{ agent: "the SHA-256 of the agent", scoredBy: "the SHA-256 of the reward" },
} as const;
const fields = Object.keys(subjects) as (keyof typeof subjects)[];
const headSchema = z.partialRecord(z.enum(fields), z.string());
const outcomeSchema = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("score"), reward: z.number(), success: z.boolean(), failure: z.string().optional() }),
  z.strictObject({ kind: z.literal("error"), error: z.string() }),
]);
const attemptSchema = z.strictObject({
  /** The id of the task and of the attempt at it. */
  id: z.string(),
  outcome: outcomeSchema,
  usage: usageSchema,
  /** The episode's conversations; empty after an error. */
  rows: z.array(rowSchema),
  /** Why a conversation of the episode teaches nothing that can be read. */
  unreadable: z.string().optional(),
});

type Ended = Pick<RecordedAttempt, "id" | "outcome">;

/** An attempt of an evaluation, with its episode as a line of a file of trajectories. */
export const measuredSchema = z.strictObject({ id: z.string(), outcome: outcomeSchema, episode: z.string() });

/** Requests of attempts, and their tokens as the server counted them. */
export type TeacherUsage = z.infer<typeof usageSchema>;
export type RecordedAttempt = z.infer<typeof attemptSchema>;

/** The origin of attempts: those of another teacher, model, agent or reward do not belong with them. */
export type RecordHead = z.infer<typeof headSchema>;

/** Attempts, each written as it ends. */
export interface AttemptsFile<A> {
  /** Attempts that have a score. */
  readonly known: ReadonlyMap<string, A>;
  /** All attempts that were made before, those that ended by errors too. */
  readonly made: readonly A[];
  add(attempt: A): void;
  close(): void;
}

const largestFile = 512 * 2 ** 20;

/** The file of all attempts beside the file of demonstrations. */
export function attemptsFile(out: string): string {
  return `${out.replace(/\.jsonl$/, "")}.attempts.jsonl`;
}

/** The id of an attempt at a task, the same in every recording. */
export function attemptId(task: object, attempt: number): string {
  return `${sha256(JSON.stringify(task)).slice(0, 16)}/${attempt}`;
}

/**
 * Opens the attempts beside a file of demonstrations, for this process alone.
 * @throws ConfigError for demonstrations of another origin; else as `openAttempts`
 */
export function openRecord(out: string, head: RecordHead): AttemptsFile<RecordedAttempt> {
  const file = attemptsFile(out);
  if (existsSync(out) && !existsSync(file))
    throw new ConfigError("out", out, { expected: "a new file, or one that a recording wrote: it would be overwritten" });
  return openAttempts(file, head, attemptSchema);
}

/**
 * Opens a file of attempts, for this process alone. It is there with the first of them.
 * @throws ConfigError for attempts of another origin; RunError if another process plays them
 */
export function openAttempts<A extends Ended>(file: string, head: RecordHead, schema: z.ZodType<A>): AttemptsFile<A> {
  const taken = takeLock(`${file}.lock`);
  if ("holder" in taken)
    throw new RunError(file, `written by process ${taken.holder.pid}`, { expected: "one process at a time" });
  const close = () => taken.lock.release();
  const add = (attempt: A) => {
    if (!existsSync(file)) appendLine(file, JSON.stringify(head));
    appendLine(file, JSON.stringify(attempt));
  };
  try {
    const made = existsSync(file) ? readAttempts(file, head, schema) : [];
    return { known: new Map(made.flatMap((each) => (each.outcome.kind === "score" ? [[each.id, each]] : []))), made, add, close };
  } catch (error) {
    close();
    throw error;
  }
}

function readAttempts<A extends Ended>(file: string, head: RecordHead, schema: z.ZodType<A>): A[] {
  const text = utf8Of(readBounded(file, largestFile));
  const lines = text.split("\n");
  // A kill can leave half a line, and the next one must not be written behind it.
  if (lines.pop() !== "") writeFileAtomic(file, lines.map((line) => `${line}\n`).join(""));
  const [first = "", ...rest] = lines;
  const read = <S extends z.ZodType>(line: string, schema: S, i: number): z.output<S> =>
    parseJson(line, schema, (expected, cause) => new ConfigError(`${file}:${i}`, line.slice(0, 80), { expected, cause }));
  const found = read(first, headSchema, 1);
  const attempts = rest.map((line, i) => read(line, schema, i + 2));
  // Of a teacher or a reward that failed everywhere and was repaired nothing is mixed.
  if (attempts.every(({ outcome }) => outcome.kind === "error")) {
    writeFileAtomic(file, [JSON.stringify(head), ...rest].map((line) => `${line}\n`).join(""));
    return attempts;
  }
  for (const field of fields)
    if (found[field] !== head[field])
      throw new ConfigError(subjects[field], head[field], {
        expected: `${found[field]}, as in ${file}`,
        hint: "Attempts of two teachers, models, agents or rewards are not mixed: give another --out.",
      });
  return attempts;
}
