import { existsSync } from "node:fs";
import type { Environment, Split, Task } from "../environments/environment.ts";
import { codeDigests, sha256, sha256OfFile } from "../files/code-digests.ts";
import { rewardsFromCode } from "../training/config/config.ts";
import { filesOf } from "../training/config/config-file.ts";
import type { TrainingConfig } from "../training/config/settings.ts";
import { sizeOf, tasksAt } from "../training/config/tasks.ts";
import type { UserConfig } from "../training/config/user-config.ts";

/** SHA-256 of what decides a run beside its configuration: tasks, data and code, by their names. */
export type MadeOf = Readonly<Record<string, string>>;

/** Training tasks that are looked at. Those of an evaluation are all of them. */
const trainingTasks = 64;

export async function codeAndData(config: TrainingConfig, environment: Environment, user: UserConfig): Promise<MadeOf> {
  const files = [environment, ...rewardsFromCode(user)].flatMap(filesOf);
  const code = Object.entries(codeDigests(files)).map(([name, digest]) => [`code ${name}`, digest]);
  const { algorithm } = config;
  const data = algorithm.kind === "sft" ? algorithm.data : undefined;
  return {
    ...Object.fromEntries(code),
    ...(data === undefined || !existsSync(data) ? {} : { "the conversations": await sha256OfFile(data) }),
  };
}

/** Digests of the tasks that a run trains and measures, and what its splits share. The environment is open. */
export async function tasksOf(
  { rollout, evaluation, algorithm }: Pick<TrainingConfig, "rollout" | "evaluation" | "algorithm">,
  environment: Environment,
): Promise<{ readonly madeOf: MadeOf; readonly shared: string | undefined }> {
  const first = async (split: Split, most: number) => {
    const size = await sizeOf(environment, split, rollout.episodeTimeoutMs);
    const indices = Array.from({ length: Math.min(size, most) }, (_, i) => i);
    return { size, tasks: await tasksAt(environment, split, indices, rollout.episodeTimeoutMs) };
  };
  const { split, tasks, challenge, during } = evaluation;
  const measured = new Map<Split, number>([
    ...(during.every > 0 ? [[during.split, during.tasks] as const] : []),
    ...(tasks > 0 && challenge ? [["challenge", tasks] as const] : []),
    ...(tasks > 0 ? [[split, tasks] as const] : []),
  ]);
  const madeOf: Record<string, string> = {};
  const own = rollout.split ?? "train";
  const trained = algorithm.kind === "sft" && algorithm.data !== undefined ? undefined : await first(own, trainingTasks);
  if (trained !== undefined) madeOf[`the ${own} tasks`] = digestOfTasks(trained.tasks, trained.size);
  let shared: string | undefined;
  for (const [name, count] of measured) {
    const { tasks: of } = await first(name, count);
    madeOf[name === own ? `the measured ${name} tasks` : `the ${name} tasks`] = digestOfTasks(of);
    if (name === own || trained === undefined || promptOf(of[0]) === undefined || trained.size === Number.POSITIVE_INFINITY)
      continue;
    shared ??= sharedPrompts((await first(own, maxCompared)).tasks, of, own, name);
  }
  return { madeOf, shared };
}

const maxCompared = 20_000;

/** Says which prompts are on both sides of a split: what is measured was trained. */
function sharedPrompts(trained: readonly Task[], measured: readonly Task[], own: Split, other: Split): string | undefined {
  const known = new Set(trained.map(promptOf));
  const both = measured.filter((task) => known.has(promptOf(task)));
  const [example] = both;
  if (example === undefined) return undefined;
  return (
    `${both.length} of ${measured.length} ${other} tasks have the prompt of a ${own} task, so what is measured was trained; the first: ` +
    `${JSON.stringify(promptOf(example)?.slice(0, 80))}. Put equal prompts on one side.`
  );
}

/** The prompt of a task of `defineEnvironment` or of an agent. */
function promptOf(task: Task | undefined): string | undefined {
  const { request } = (task ?? {}) as { readonly request?: { readonly prompt?: unknown } };
  return typeof request?.prompt === "string" ? request.prompt : undefined;
}

function digestOfTasks(tasks: readonly Task[], size?: number): string {
  const plain = (_: string, value: unknown) => (typeof value === "bigint" ? String(value) : value);
  return sha256(JSON.stringify([size === undefined || Number.isFinite(size) ? (size ?? null) : "no end", tasks], plain));
}
