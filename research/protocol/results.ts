import { z } from "zod";
import { parseJson } from "../../src/core/json.ts";
import { mean } from "../../src/core/mean.ts";
import { reachesOne } from "../../src/core/outcome.ts";
import type { TaskOutcomes } from "../../src/training/evaluation/compare.ts";
import { canonical, decodings, hashSchema, type Protocol, ProtocolError, samplingSchema, textOf } from "./protocol.ts";
import { isRight } from "./scorer.ts";

/** The first line of a result file. */
export const headerSchema = z.strictObject({
  /** SHA-256 of the protocol, of its scorer, and what was sampled by. */
  protocol: hashSchema,
  scorer: hashSchema,
  sampling: samplingSchema,
  /** Who played, and the program that played it. */
  model: z.string().min(1),
  program: z.string().min(1),
});

/** Every other line: one attempt. */
const attemptSchema = z
  .strictObject({
    /** SHA-256 of the task. */
    task: hashSchema,
    decoding: z.enum(decodings),
    /** From 0, of the task's attempts with this decoding. */
    attempt: z.int().min(0),
    /** The last message of the player. */
    answer: z.string().optional(),
    reward: z.number().optional(),
    /** Why there is no reward: of a server or a network, not of the player. */
    error: z.string().min(1).optional(),
  })
  .refine(({ reward, error }) => (reward === undefined) !== (error === undefined), "either a reward or an error");

export type Header = z.output<typeof headerSchema>;
export type Attempt = z.output<typeof attemptSchema>;
export type Decoding = Attempt["decoding"];

export interface Results {
  readonly file: string;
  readonly header: Header;
  readonly attempts: readonly Attempt[];
}

/** How many attempts at each task a protocol asks for. */
export const attemptsOf = ({ sampling }: Protocol): Readonly<Record<Decoding, number>> => ({
  greedy: sampling.greedy ? 1 : 0,
  sampled: sampling.attempts,
});

/**
 * Reads a result file, whoever wrote it.
 * @throws ProtocolError where it is of another task, scorer, sampling or protocol, where an attempt is missing or there twice, or where a
 * reward is not what the protocol's scorer gives
 */
export function readResults(file: string, protocol: Protocol): Results {
  const [first = "", ...rest] = textOf(file)
    .split("\n")
    .filter((line) => line.trim() !== "");
  const at = (line: number) => (expected: string, cause: unknown) =>
    new ProtocolError("malformed", `line ${line} of ${file}`, "no result", { expected, cause });
  const header = parseJson(first, headerSchema, at(1));
  requireSame(file, header, protocol);
  const attempts = rest.map((line, i) => parseJson(line, attemptSchema, at(i + 2)));
  const tasks = new Map(protocol.tasks.map((task) => [task.sha256, task]));
  for (const attempt of attempts) {
    const task = tasks.get(attempt.task);
    if (task === undefined)
      throw new ProtocolError("other-task", `a task of ${file}`, attempt.task, {
        expected: `one of the ${protocol.tasks.length} tasks of "${protocol.name}"`,
      });
    if (protocol.scorer.kind !== "equal" || attempt.error !== undefined) continue;
    const right = attempt.answer === undefined ? undefined : Number(isRight(attempt.answer, task.answers ?? [], protocol.scorer));
    if (attempt.reward !== right)
      throw new ProtocolError("misscored", `reward of ${nameOf(attempt, task.id)} of ${file}`, attempt.reward, {
        expected:
          right === undefined ? "its answer beside it" : `${right}, which the protocol's scorer gives for ${attempt.answer}`,
      });
  }
  if (header.protocol !== protocol.sha256)
    throw new ProtocolError("other-protocol", `protocol of ${file}`, header.protocol, {
      expected: `${protocol.sha256}, that of "${protocol.name}"`,
      hint: "Tasks or their order differ. Play this protocol.",
    });
  requireComplete(file, attempts, protocol);
  return { file, header, attempts };
}

function requireSame(file: string, header: Header, { scorer, sampling }: Protocol): void {
  if (header.scorer !== scorer.sha256)
    throw new ProtocolError("other-scorer", `scorer of ${file}`, header.scorer, { expected: `${scorer.sha256}, the protocol's` });
  const keys = Object.keys(sampling) as (keyof typeof sampling)[];
  const other = keys.find((key) => canonical(header.sampling[key]) !== canonical(sampling[key]));
  if (other !== undefined)
    throw new ProtocolError("other-sampling", `sampling.${other} of ${file}`, header.sampling[other], {
      expected: `${sampling[other]}, the protocol's`,
    });
}

function requireComplete(file: string, attempts: readonly Attempt[], protocol: Protocol): void {
  const wanted = attemptsOf(protocol);
  const key = ({ task, decoding, attempt }: Omit<Attempt, "answer">) => `${task} ${decoding} ${attempt}`;
  const missing = new Map<string, string>();
  for (const { sha256: task, id } of protocol.tasks)
    for (const decoding of decodings)
      for (let attempt = 0; attempt < wanted[decoding]; attempt++)
        missing.set(key({ task, decoding, attempt }), nameOf({ decoding, attempt }, id));
  const asked = new Set(missing.keys());
  for (const each of attempts) {
    const id = protocol.tasks.find(({ sha256 }) => sha256 === each.task)?.id ?? each.task;
    if (!asked.has(key(each)))
      throw new ProtocolError("other-sampling", `an attempt of ${file}`, nameOf(each, id), {
        expected: `${wanted.greedy} greedy and ${wanted.sampled} sampled attempts at each task, counted from 0`,
      });
    if (!missing.delete(key(each)))
      throw new ProtocolError("duplicate", `an attempt of ${file}`, nameOf(each, id), { expected: "each attempt once" });
  }
  const [first] = missing.values();
  if (first !== undefined)
    throw new ProtocolError("missing", `attempts of ${file}`, `${missing.size} are missing, first ${first}`, {
      expected: `all ${asked.size} attempts`,
    });
}

const nameOf = ({ decoding, attempt }: Pick<Attempt, "decoding" | "attempt">, task: string) =>
  `${decoding} attempt ${attempt} at task ${task}`;

/** Outcomes of each task in the protocol's order, for comparisons. */
export function outcomesOf({ attempts }: Results, protocol: Protocol, decoding: Decoding): TaskOutcomes {
  const own = attempts.filter((each) => each.decoding === decoding);
  const rewards = protocol.tasks.map(({ sha256 }) =>
    own.flatMap(({ task, reward }) => (task === sha256 && reward !== undefined ? [reward] : [])),
  );
  const meanOf = (values: readonly number[]) => (values.length === 0 ? undefined : mean(values));
  return {
    tasks: protocol.tasks.map(({ id }) => id),
    success: rewards.map((each) => meanOf(each.map((reward) => Number(reachesOne(reward))))),
    reward: rewards.map(meanOf),
    k: attemptsOf(protocol)[decoding],
    attempts: own.length,
    errors: own.filter(({ error }) => error !== undefined).length,
  };
}

/** Two measurements by one protocol, or several pairs of them: those of training seeds. */
export interface ProtocolComparison {
  readonly decoding: Decoding;
  readonly first: readonly TaskOutcomes[];
  readonly second: readonly TaskOutcomes[];
}

/** @param pairs first and second of each seed */
export function pairedResults(pairs: readonly (readonly [Results, Results])[], protocol: Protocol): ProtocolComparison[] {
  const wanted = attemptsOf(protocol);
  return decodings
    .filter((decoding) => wanted[decoding] > 0)
    .map((decoding) => ({
      decoding,
      first: pairs.map(([first]) => outcomesOf(first, protocol, decoding)),
      second: pairs.map(([, second]) => outcomesOf(second, protocol, decoding)),
    }));
}
