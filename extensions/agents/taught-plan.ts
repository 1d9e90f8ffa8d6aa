import { existsSync, mkdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { z } from "zod";
import { optionsDoor } from "../../src/core/door.ts";
import { ConfigError } from "../../src/core/errors.ts";
import type { TaskRequest } from "../../src/environments/define.ts";
import { writeFileAtomic } from "../../src/files/atomic.ts";
import { sha256 } from "../../src/files/code-digests.ts";
import { runsFolder } from "../../src/runs/layout.ts";
import { readJson } from "../../src/runs/read.ts";
import { shownPath } from "../../src/terminal/invocation.ts";
import type { UserConfig } from "../../src/training/config/user-config.ts";
import type { Prices } from "./prices.ts";
import { type AgentTeacher, askedTeacher } from "./scripted-teacher.ts";
import type { SplitTasks } from "./tasks.ts";
import { type AgentTraining, codeOf, isProgram, tasksOf } from "./train-agent.ts";

/** How demonstrations are recorded and learned, where a teacher is named. */
export interface DemonstrationSettings {
  /** Training tasks that the teacher plays; the others are for reinforcement. Default half of them, at most 100. */
  readonly tasks?: number;
  /** As in `recordAgent`. */
  readonly keep?: string;
  /** The teacher's attempts at each task. Default 1. */
  readonly k?: number;
  /** For a million tokens of the teacher. */
  readonly prices?: Prices;
  /** Steps on demonstrations. Default 40. */
  readonly steps?: number;
  /** Default 2000. */
  readonly tokensPerStep?: number;
  /** Default: that of the training. */
  readonly learningRate?: number;
}

/** A training with a teacher. */
export interface TaughtTraining<T extends TaskRequest = TaskRequest> extends AgentTraining<T> {
  /**
   * A strong model behind an endpoint, or a scripted expert. It plays a part of the training tasks, the model learns from the episodes that are kept,
   * and is then trained by reinforcement on the others. The same call continues what was interrupted.
   */
  readonly teacher?: AgentTeacher;
  readonly demonstrations?: DemonstrationSettings;
}

const refuseUnknown = optionsDoor<DemonstrationSettings>("demonstrations", {
  ...{ tasks: true, keep: true, k: true, prices: true, steps: true, tokensPerStep: true, learningRate: true },
});

export type RunSettings = Omit<UserConfig, "environment">;

/** A training with a teacher: its tasks in three parts, and where its stages are kept. */
export interface TaughtPlan<T extends TaskRequest> {
  /** No prompt is in two of them. */
  readonly tasks: { readonly demonstrations: readonly T[]; readonly reinforcement: readonly T[]; readonly test: readonly T[] };
  readonly teacher: { readonly name: string; readonly isScript: boolean };
  /** Absolute. The last run's folder is the result; the other two are beside it. */
  readonly folders: { readonly demonstrations: string; readonly supervised: string; readonly reinforced: string };
  readonly file: string;
}

/** The fewest tasks of each part: with fewer, nothing that is learned or measured means anything. */
const fewest = { train: 4, test: 2 };
/** More demonstrations are seldom worth a strong model's money. */
const maxDemonstrations = 100;

/**
 * Plans a training with a teacher. The same arguments give the same folders, so that a call that is repeated continues.
 * @throws ConfigError for too few tasks, a part of them that is measured and trained, an invalid teacher, and a folder of another plan
 */
export async function planTaught<T extends TaskRequest>(
  { agent, reward, tasks, teacher, demonstrations = {}, name = "agent" }: TaughtTraining<T> & { readonly teacher: AgentTeacher },
  { out, ...settings }: RunSettings,
): Promise<TaughtPlan<T>> {
  refuseUnknown({ ...demonstrations });
  const parts = partsOf(tasksOf(tasks), demonstrations.tasks);
  const asked = await askedTeacher(teacher);
  const record = {
    agent: nameOf(agent as AgentTraining["agent"]),
    reward: digest(codeOf(reward)),
    tasks: digest(parts),
    teacher: asked.identity,
    demonstrations: JSON.stringify(demonstrations),
    settings: JSON.stringify(settings),
  };
  const reinforced = resolve(out ?? join(runsFolder, `${name}-${digest(record).slice(0, 8)}`));
  const folders = { demonstrations: `${reinforced}-demonstrations`, supervised: `${reinforced}-sft`, reinforced };
  const plan = join(folders.demonstrations, "plan.json");
  const isTraining = existsSync(reinforced) || existsSync(folders.supervised);
  if (existsSync(plan)) requireSame(plan, record, folders, isTraining);
  else if (isTraining) throw new ConfigError("out", reinforced, { expected: "a new folder, or one that the same command began" });
  if (!isTraining) {
    mkdirSync(folders.demonstrations, { recursive: true });
    writeFileAtomic(plan, `${JSON.stringify({ schema: 1, ...record }, null, 2)}\n`);
  }
  return {
    tasks: parts,
    teacher: { name: asked.name, isScript: typeof teacher !== "object" },
    folders,
    file: join(folders.demonstrations, "demonstrations.jsonl"),
  };
}

/**
 * Returns the tasks that the reinforced run of a training with a teacher had: those of the file less the demonstrated ones.
 * @returns undefined for another run
 * @throws ConfigError if they are not those of the plan
 */
export function taughtTasks(folder: string, file: string): SplitTasks<TaskRequest> | undefined {
  const plan = join(`${resolve(folder)}-demonstrations`, "plan.json");
  if (!existsSync(plan)) return undefined;
  const { tasks: digested, demonstrations } = readJson(plan, planSchema);
  const { tasks: count } = z.looseObject({ tasks: z.int().optional() }).parse(JSON.parse(demonstrations));
  const parts = partsOf(tasksOf<TaskRequest>(file), count);
  if (digest(parts) !== digested) throw new ConfigError("the tasks", file, { expected: `those with which ${folder} began` });
  return { train: [...parts.reinforcement], test: [...parts.test] };
}

function nameOf(agent: AgentTraining["agent"]): string {
  if (typeof agent === "string") return agent;
  return isProgram(agent) ? agent.command.join(" ") : digest(codeOf(agent));
}

const text = z.string();
const planSchema = z.strictObject({
  schema: z.literal(1),
  ...{ agent: text, reward: text, tasks: text, teacher: text, demonstrations: text, settings: text },
});

/** Names what decides the attempts of a teacher, beside the rule that keeps them; the other fields are of the runs behind. */
const ofRecording = ["agent", "reward", "tasks", "teacher"] as const;

/** @param isTraining whether a run began; until then only what the recording was made of has to be the same */
function requireSame(
  plan: string,
  wanted: Omit<z.output<typeof planSchema>, "schema">,
  { demonstrations, reinforced }: TaughtPlan<TaskRequest>["folders"],
  isTraining: boolean,
): void {
  const found = readJson(plan, planSchema);
  for (const field of isTraining ? [...ofRecording, "demonstrations" as const, "settings" as const] : ofRecording) {
    if (found[field] === wanted[field]) continue;
    const copied = `give another --out for others; a copy of ${shownPath(demonstrations)} beside it, named alike, saves the teacher's attempts.`;
    const other = "Demonstrations are of one agent, reward, teacher and list of tasks: give another --out for others.";
    throw new ConfigError(`the ${field} of this training`, wanted[field], {
      expected: `${found[field]}, with which ${reinforced} began`,
      hint: ofRecording.some((each) => each === field) ? other : `A training continues under its own settings: ${copied}`,
    });
  }
}

/** @throws ConfigError for too few tasks, and for tasks that are trained and measured */
function partsOf<T extends TaskRequest>({ train, test }: SplitTasks<T>, wanted?: number): TaughtPlan<T>["tasks"] {
  const both = test.find(({ prompt }) => train.some((task) => task.prompt === prompt));
  const enough = `at least ${2 * fewest.train} training tasks and ${fewest.test} others that measure`;
  const hint = "A list of ten or more is split by itself.";
  if (train.length < 2 * fewest.train || test.length < fewest.test)
    throw new ConfigError("tasks", `${train.length} to train and ${test.length} to measure`, { expected: enough, hint });
  if (both !== undefined)
    throw new ConfigError("tasks", both.prompt, { expected: "a prompt that is trained or measured, and not both", hint });
  const most = train.length - fewest.train;
  const count = wanted ?? Math.min(maxDemonstrations, Math.floor(train.length / 2));
  if (!Number.isInteger(count) || count < fewest.train || count > most)
    throw new ConfigError("demonstrations.tasks", count, { expected: `a whole number from ${fewest.train} to ${most} here` });
  // By the prompts' digests, so that neither part is the head of a sorted file; equal prompts stay together.
  const ranked = train.map(({ prompt }) => prompt).sort((a, b) => (digest(a) < digest(b) ? -1 : 1));
  const shown = new Set(ranked.slice(0, count));
  const part = (isShown: boolean) => train.filter((task) => shown.has(task.prompt) === isShown);
  return { demonstrations: part(true), reinforcement: part(false), test };
}

function digest(value: unknown): string {
  return sha256(typeof value === "string" ? value : JSON.stringify(value));
}
