import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { z } from "zod";
import { ConfigError, RunError } from "../../src/core/errors.ts";
import { parseJson } from "../../src/core/json.ts";
import { appendLine, writeFileAtomic } from "../../src/files/atomic.ts";
import { readBounded, utf8Of } from "../../src/files/bounded.ts";
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
const headSchema = z.strictObject({ teacher: z.string(), agent: z.string(), scoredBy: z.string() });
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

/** Requests of attempts, and their tokens as the server counted them. */
export type TeacherUsage = z.infer<typeof usageSchema>;
export type RecordedAttempt = z.infer<typeof attemptSchema>;

/** The teacher, the agent and the reward: attempts under others do not belong together. */
export type RecordHead = z.infer<typeof headSchema>;

/** The attempts of a recording, each written as it ends. */
export interface RecordFile {
  /** Attempts that have a score. */
  readonly known: ReadonlyMap<string, RecordedAttempt>;
  /** The requests of all attempts that were ever made, those that ended by errors too. */
  readonly spent: readonly TeacherUsage[];
  add(attempt: RecordedAttempt): void;
  close(): void;
}

const largestFile = 512 * 2 ** 20;

/** The file of all attempts beside the file of demonstrations. */
export function attemptsFile(out: string): string {
  return `${out.replace(/\.jsonl$/, "")}.attempts.jsonl`;
}

/** The id of an attempt at a task, the same in every recording. */
export function attemptId(task: object, attempt: number): string {
  return `${createHash("sha256").update(JSON.stringify(task)).digest("hex").slice(0, 16)}/${attempt}`;
}

/**
 * Opens the attempts beside a file of demonstrations, for this process alone.
 * @throws ConfigError for demonstrations of another origin, and attempts under another teacher, agent or reward; RunError if another process records there
 */
export function openRecord(out: string, head: RecordHead): RecordFile {
  const file = attemptsFile(out);
  if (existsSync(out) && !existsSync(file))
    throw new ConfigError("out", out, { expected: "a new file, or one that a recording wrote: it would be overwritten" });
  const taken = takeLock(`${file}.lock`);
  if ("holder" in taken)
    throw new RunError(out, `recorded by process ${taken.holder.pid}`, { expected: "one recording at a time" });
  const close = () => taken.lock.release();
  try {
    const attempts = existsSync(file) ? readAttempts(file, head) : [];
    if (!existsSync(file)) appendLine(file, JSON.stringify(head));
    return {
      known: new Map(attempts.flatMap((each) => (each.outcome.kind === "score" ? [[each.id, each] as const] : []))),
      spent: attempts.map(({ usage }) => usage),
      add: (attempt) => appendLine(file, JSON.stringify(attempt)),
      close,
    };
  } catch (error) {
    close();
    throw error;
  }
}

function readAttempts(file: string, head: RecordHead): RecordedAttempt[] {
  const text = utf8Of(readBounded(file, largestFile));
  const lines = text.split("\n");
  // A kill can leave half a line, and the next one must not be written behind it.
  if (lines.pop() !== "") writeFileAtomic(file, lines.map((line) => `${line}\n`).join(""));
  const [first = "", ...rest] = lines;
  const read = <S extends z.ZodType>(line: string, schema: S, i: number): z.output<S> =>
    parseJson(line, schema, (expected, cause) => new ConfigError(`${file}:${i}`, line.slice(0, 80), { expected, cause }));
  const found = read(first, headSchema, 1);
  const attempts = rest.map((line, i) => read(line, attemptSchema, i + 2));
  // Of a teacher or a reward that failed everywhere and was repaired nothing is mixed.
  if (attempts.every(({ outcome }) => outcome.kind === "error")) {
    writeFileAtomic(file, [JSON.stringify(head), ...rest].map((line) => `${line}\n`).join(""));
    return attempts;
  }
  const subjects = { teacher: "the teacher", agent: "the SHA-256 of the agent", scoredBy: "the SHA-256 of the reward" } as const;
  for (const field of ["teacher", "agent", "scoredBy"] as const)
    if (found[field] !== head[field])
      throw new ConfigError(subjects[field], head[field], {
        expected: `${found[field]}, as in ${file}`,
        hint: "Attempts of two teachers, agents or rewards are not mixed: give another --out.",
      });
  return attempts;
}
