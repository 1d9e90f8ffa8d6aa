import { createHash } from "node:crypto";
import { createReadStream, existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { RunError } from "../../core/errors.ts";
import { isScored } from "../../core/outcome.ts";
import type { Trajectory } from "../../core/trajectory.ts";
import type { Task } from "../../environments/environment.ts";
import {
  appendLine,
  isOwnRecord,
  largestRecord,
  readRunFile,
  writeFileAtomic,
  writeOwnRecord,
  writeRecord,
} from "../../runs/files.ts";
import { damaged, finishedNames } from "../../runs/read.ts";
import { type Decoding, decodings, type EvaluationRecord, evaluationRecordSchema } from "../../runs/records.ts";
import { schemaVersion, versionSchema } from "../../runs/schema.ts";
import { sealed, unsealed } from "../../runs/seal.ts";
import { decodeTrajectory, encodeTrajectory } from "../../runs/trajectory-file.ts";
import { packageVersion, requireEmpty } from "../../runs/write.ts";
import type { TrainingConfig } from "../config/settings.ts";

/** Where evaluations go that are given no folder of their own. */
export const evaluationsFolder = "evaluations";

/**
 * The settings of a measurement: everything that decides the result. Two evaluations with the same world, tasks and draws can be
 * compared task by task.
 */
const askedSchema = z.object({
  schema: versionSchema,
  /** As it was named. */
  model: z.string(),
  /** SHA-256 of the weights. Absent where they are elsewhere. */
  weights: z.string().optional(),
  /** SHA-256 of tokenizer.json. Absent of a chat endpoint, whose tokens nobody here knows. */
  tokenizer: z.string().optional(),
  /** The chat endpoint, and what of its requests decides the answers. */
  endpoint: z
    .object({ baseUrl: z.string(), maxTokensField: z.string(), growing: z.string(), request: z.record(z.string(), z.unknown()) })
    .optional(),
  environment: z.object({ name: z.string(), settings: z.record(z.string(), z.unknown()) }),
  /** SHA-256 of the tasks: the same name and settings may mean other tasks in another version. */
  world: z.string(),
  /** SHA-256 of the environment's code that is in files, and of the files that it imports. Absent if there is none. */
  code: z.record(z.string(), z.string()).optional(),
  split: z.string(),
  tasks: z.int(),
  k: z.int(),
  temperature: z.number(),
  greedy: z.boolean(),
  rollout: z.object({ maxTurns: z.int(), maxTokens: z.int(), topP: z.number(), topK: z.int() }),
  seed: z.int(),
  version: z.string(),
});
export type Asked = z.infer<typeof askedSchema>;

/** The settings that decide who plays. */
export type ActorIdentity = Pick<Asked, "model" | "weights" | "tokenizer" | "endpoint">;

const reportSchema = z.object({
  schema: versionSchema,
  asked: askedSchema,
  evaluations: z.array(evaluationRecordSchema),
  /** The seconds of all processes that worked on it. */
  seconds: z.number(),
});
export type EvaluationReport = z.infer<typeof reportSchema>;

const files = {
  asked: (folder: string) => join(folder, "evaluation.json"),
  episodes: (folder: string, decoding: Decoding) => join(folder, `${decoding}.jsonl`),
  report: (folder: string) => join(folder, "report.json"),
  page: (folder: string) => join(folder, "report.txt"),
} as const;

/** Gathers what decides an evaluation's result. */
export function askedOf(
  config: TrainingConfig,
  actor: ActorIdentity,
  tasks: readonly Task[],
  code: Readonly<Record<string, string>> = {},
): Asked {
  const { environment, evaluation, rollout, seed } = config;
  const { maxTurns, maxTokens, topP, topK } = rollout;
  return {
    schema: schemaVersion,
    ...actor,
    environment,
    world: createHash("sha256").update(JSON.stringify(tasks, plain)).digest("hex"),
    ...(Object.keys(code).length === 0 ? {} : { code: { ...code } }),
    ...{ split: evaluation.split, tasks: tasks.length, k: evaluation.k, temperature: evaluation.temperature },
    greedy: evaluation.greedy,
    rollout: { maxTurns, maxTokens, topP, topK },
    seed,
    version: packageVersion(),
  };
}

/** Digests of a model's folder. */
export async function modelIdentity(folder: string): Promise<Pick<Asked, "weights" | "tokenizer">> {
  const weights = readdirSync(folder).filter((name) => name.endsWith(".safetensors"));
  return {
    ...(weights.length > 0 && { weights: await digestOf(weights.sort().map((name) => join(folder, name))) }),
    tokenizer: await digestOf([join(folder, "tokenizer.json")]),
  };
}

function plain(_: string, value: unknown): unknown {
  return typeof value === "bigint" ? String(value) : value;
}

async function digestOf(paths: readonly string[]): Promise<string> {
  const hash = createHash("sha256");
  for (const path of paths) for await (const chunk of createReadStream(path)) hash.update(chunk as Uint8Array);
  return hash.digest("hex");
}

/**
 * Begins an evaluation's folder, or continues it.
 * @returns true if it was begun: the folder was new or empty
 * @throws RunError where the folder has other files, an evaluation already, or one of something else, naming the first thing that differs
 */
export function openEvaluation(folder: string, asked: Asked, resume: boolean): boolean {
  const path = files.asked(folder);
  if (!existsSync(path)) {
    requireEmpty(folder);
    writeOwnRecord(path, asked);
    return true;
  }
  if (!resume)
    throw new RunError(folder, "an evaluation already", {
      expected: "a new folder",
      hint: "Continue it with --resume, or choose another folder with --out.",
    });
  const known = readAsked(folder);
  // Weights are the model, wherever they are by now; one behind an endpoint is known by its name alone.
  const free = ["version", "schema", "world", ...(asked.weights === undefined ? [] : ["model"])];
  // The digest of the tasks differs too where their number does, and says less.
  const names = [...Object.keys(asked).filter((key) => !free.includes(key)), "world"];
  const name = names.find((key) => JSON.stringify(known[key as keyof Asked]) !== JSON.stringify(asked[key as keyof Asked]));
  if (name === undefined) return false;
  throw new RunError(`${name} of the evaluation in ${folder}`, known[name as keyof Asked], {
    expected: `${JSON.stringify(asked[name as keyof Asked])}, as it is asked for now`,
    hint: "An evaluation continues only as it began. Choose another folder with --out.",
  });
}

/** True for a folder that an evaluation was written into. */
export function isEvaluation(folder: string): boolean {
  return existsSync(files.asked(folder));
}

/** True if the evaluation was begun on this machine, by this user. */
export function isOwnEvaluation(folder: string): boolean {
  return isOwnRecord(files.asked(folder));
}

export function readAsked(folder: string): Asked {
  return read(files.asked(folder), askedSchema);
}

/** Reads the episodes that have ended, by their ids. Of a last line that a kill cut off nothing is taken. */
export function playedIn(folder: string, decoding: Decoding): Map<string, Trajectory> {
  const path = files.episodes(folder, decoding);
  if (!existsSync(path)) return new Map();
  try {
    const text = readRunFile(path).toString("utf8");
    const whole = text.slice(0, text.lastIndexOf("\n") + 1);
    // The next line must not continue half of one.
    if (whole !== text) writeFileAtomic(path, whole);
    const lines = whole.split("\n").slice(0, -1);
    return new Map(lines.map(decodeTrajectory).map((trajectory) => [trajectory.id, trajectory]));
  } catch (cause) {
    throw damaged(path, cause);
  }
}

/** The episodes that are not played again: an error of a server or the environment is no result. */
export function scoredIn(folder: string, decoding: Decoding): Map<string, Trajectory> {
  return new Map([...playedIn(folder, decoding)].filter(([, trajectory]) => isScored(trajectory)));
}

/** Writes an episode that has ended; one that was cancelled is played again. */
export function keepEpisode(folder: string, decoding: Decoding, trajectory: Trajectory): void {
  if (trajectory.stopReason !== "cancelled") appendLine(files.episodes(folder, decoding), sealed(encodeTrajectory(trajectory)));
}

/** Ends an evaluation: its report for programs and for people. */
export function finishEvaluation(
  folder: string,
  evaluations: readonly EvaluationRecord[],
  seconds: number,
  page: (report: EvaluationReport) => string,
): EvaluationReport {
  const report = { schema: schemaVersion, asked: readAsked(folder), evaluations: [...evaluations], seconds };
  writeFileAtomic(files.page(folder), page(report));
  writeRecord(files.report(folder), report);
  return report;
}

/** Undefined until the evaluation has finished. */
export function readReport(folder: string): EvaluationReport | undefined {
  return existsSync(files.report(folder)) ? read(files.report(folder), reportSchema) : undefined;
}

/** Returns the newest evaluation under a root that has not finished. */
export function unfinishedEvaluation(root: string): string | undefined {
  const folders = finishedNames(root).map((name) => join(root, name));
  return folders.findLast((folder) => isEvaluation(folder) && !existsSync(files.report(folder)));
}

/** Returns every episode of a finished evaluation, in the order of tasks and attempts. */
export function episodesOf(folder: string, decoding: Decoding): Trajectory[] {
  const number = ({ id }: Trajectory, place: -2 | -1) => Number(id.split("/").at(place));
  const episodes = [...playedIn(folder, decoding).values()];
  return episodes.sort((a, b) => number(a, -2) - number(b, -2) || number(a, -1) - number(b, -1));
}

/** Ways of decoding of which an evaluation has episodes. */
export function decodingsOf(folder: string): Decoding[] {
  return decodings.filter((decoding) => existsSync(files.episodes(folder, decoding)));
}

function read<Schema extends z.ZodType>(path: string, schema: Schema): z.output<Schema> {
  try {
    return schema.parse(unsealed(readRunFile(path, largestRecord).toString("utf8")));
  } catch (cause) {
    throw damaged(path, cause);
  }
}
