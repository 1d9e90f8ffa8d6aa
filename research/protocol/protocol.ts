import { z } from "zod";
import { firstDuplicate } from "../../src/core/duplicate.ts";
import { type ErrorDetails, RetrogradeError, reasonOf } from "../../src/core/errors.ts";
import { parseJson } from "../../src/core/json.ts";
import { isRecord } from "../../src/core/record.ts";
import { parseSettings } from "../../src/core/settings.ts";
import { readBounded, utf8Of } from "../../src/files/bounded.ts";
import { sha256 } from "../../src/files/code-digests.ts";
import { smallestDetectable } from "../../src/statistics/power.ts";

/**
 * A protocol: everything that decides a measurement but the player. Any program can play it and fill a result file (results.ts). Its hashes are
 * SHA-256 of canonical JSON: keys sorted, no spaces, UTF-8.
 */

const problems = [
  "malformed",
  "changed",
  "other-protocol",
  "other-task",
  "other-scorer",
  "other-sampling",
  "missing",
  "duplicate",
  "misscored",
] as const;

/** A protocol or a result file that gives no number. */
export class ProtocolError extends RetrogradeError {
  readonly problem: (typeof problems)[number];

  constructor(problem: ProtocolError["problem"], subject: string, value: unknown, details: ErrorDetails) {
    super(subject, value, details);
    this.problem = problem;
  }
}

const hash = z.string().regex(/^[0-9a-f]{64}$/, "SHA-256 in hexadecimal");
const messageSchema = z.strictObject({ role: z.enum(["system", "user", "assistant"]), content: z.string() });

const taskSchema = z.strictObject({
  id: z.string().min(1),
  messages: z.array(messageSchema).min(1),
  /** Any of them is right. Where the scorer compares texts. */
  answers: z.array(z.string()).min(1).optional(),
  /** As the environment shows them. */
  tools: z.array(z.record(z.string(), z.unknown())).optional(),
  sha256: hash,
});

const scorerSchema = z.discriminatedUnion("kind", [
  /** Success if the answer equals one of the task's, without what is ignored and without white space around it. */
  z.strictObject({ kind: z.literal("equal"), ignore: z.array(z.enum(["case", "spaces"])), sha256: hash }),
  /** The reward is the environment's: whoever plays has to play there. */
  z.strictObject({
    kind: z.literal("environment"),
    name: z.string(),
    settings: z.record(z.string(), z.unknown()),
    /** SHA-256 of its own code, by file. */
    code: z.record(z.string(), hash),
    sha256: hash,
  }),
]);

const samplingSchema = z.strictObject({
  /** One attempt at each task at temperature 0. */
  greedy: z.boolean(),
  /** Attempts at each task at the temperature. */
  attempts: z.int().min(0).max(1000),
  temperature: z.number().positive().max(10),
  topP: z.number().positive().max(1),
  maxTokens: z.int().positive(),
  maxTurns: z.int().positive(),
  seed: z.int().min(0),
});

const powerSchema = z.strictObject({
  /** Assumed share of tasks on which two players differ, in both directions alike. */
  differing: z.number().min(0).max(1),
  /** The difference of greedy success that the exact test then sees in four of five comparisons, at a level of 5 %. null: too few tasks for any. */
  smallest: z.number().max(1).nullable(),
});

const protocolSchema = z.strictObject({
  version: z.literal(1),
  name: z.string().regex(/^[\w][\w .:-]{0,99}$/, "letters, digits, spaces and _.:-"),
  /** Where the tasks are from, for people. */
  source: z.string(),
  split: z.string(),
  tasks: z.array(taskSchema).min(1),
  scorer: scorerSchema,
  sampling: samplingSchema,
  power: powerSchema,
  sha256: hash,
});

export type Protocol = z.output<typeof protocolSchema>;
export type ProtocolTask = Protocol["tasks"][number];
export type Scorer = Protocol["scorer"];
export type Sampling = Protocol["sampling"];
type Unhashed<T> = T extends unknown ? Omit<T, "sha256"> : never;
export const decodings = ["greedy", "sampled"] as const;
export { hash as hashSchema, samplingSchema };

/** Canonical JSON: as Python's `json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)`. */
export function canonical(value: unknown): string {
  const sorted = (_: string, each: unknown) =>
    isRecord(each) ? Object.fromEntries(Object.entries(each).sort(([a], [b]) => (a < b ? -1 : 1))) : each;
  return JSON.stringify(value, sorted);
}

/** Adds the hash of everything else. */
export function hashed<T extends object>(value: T): T & { readonly sha256: string } {
  return { ...value, sha256: sha256(canonical(value)) };
}

/** @param differing see `Protocol.power` */
export function makeProtocol(
  parts: Omit<Protocol, "version" | "tasks" | "scorer" | "power" | "sha256"> & {
    readonly tasks: readonly Unhashed<ProtocolTask>[];
    readonly scorer: Unhashed<Scorer>;
  },
  differing: number,
): Protocol {
  const tasks = parts.tasks.map((task) => hashed(task));
  const protocol = {
    version: 1,
    ...parts,
    tasks,
    scorer: hashed(parts.scorer),
    power: { differing, smallest: smallestSeen(tasks.length, differing) },
  };
  return checked(hashed(protocol), "the protocol");
}

/** See `Protocol.power`. */
export function smallestSeen(tasks: number, differing: number): number | null {
  const differences = Array.from({ length: tasks }, (_, i) => (i < Math.round(tasks * differing) ? (i % 2 === 0 ? 1 : -1) : 0));
  const smallest = Math.round(smallestDetectable(differences, 1) * 1e4) / 1e4;
  return smallest > 1 ? null : smallest;
}

const largest = 64 * 2 ** 20;

/** @throws ProtocolError naming what is wrong in it */
export function readProtocol(file: string): Protocol {
  return checked(parseJson(textOf(file), z.unknown(), malformed(file)), file);
}

/** @throws ProtocolError */
export function textOf(file: string): string {
  try {
    return utf8Of(readBounded(file, largest));
  } catch (cause) {
    throw new ProtocolError("malformed", file, reasonOf(cause), { expected: "a file that can be read", cause });
  }
}

function malformed(file: string) {
  return (expected: string, cause: unknown) => new ProtocolError("malformed", file, "no protocol", { expected, cause });
}

/** Form, then hashes, then what fits together. */
function checked(value: unknown, file: string): Protocol {
  let protocol: Protocol;
  try {
    protocol = parseSettings(protocolSchema, value);
  } catch (cause) {
    throw malformed(file)(reasonOf(cause), cause);
  }
  const { tasks, scorer } = protocol;
  for (const task of tasks) requireHash(task, `task ${task.id} of ${file}`);
  requireHash(scorer, `the scorer of ${file}`);
  requireHash(protocol, file);
  const twice = firstDuplicate(tasks.map((task) => task.sha256)) ?? firstDuplicate(tasks.map(({ id }) => id));
  if (twice !== undefined)
    throw new ProtocolError("duplicate", `a task of ${file}`, twice, { expected: "each task, and each id, once" });
  const unanswered = tasks.find(({ answers }) => (answers !== undefined) !== (scorer.kind === "equal"));
  if (unanswered !== undefined)
    throw new ProtocolError("malformed", `answers of task ${unanswered.id} of ${file}`, unanswered.answers, {
      expected: scorer.kind === "equal" ? "the right answers" : "none: the environment scores",
    });
  return protocol;
}

function requireHash<T extends { readonly sha256: string }>({ sha256: recorded, ...rest }: T, what: string): void {
  const found = sha256(canonical(rest));
  if (found === recorded) return;
  throw new ProtocolError("changed", what, found, {
    expected: `${recorded}, which it records`,
    hint: "It was changed after the protocol was made. Take the original, or make a new protocol.",
  });
}
