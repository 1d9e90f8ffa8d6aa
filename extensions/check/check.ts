import type { Chat } from "../../src/chat/chat.ts";
import { optionsDoor } from "../../src/core/door.ts";
import { reasonOf } from "../../src/core/errors.ts";
import { mean } from "../../src/core/mean.ts";
import { reachesOne, succeeded } from "../../src/core/outcome.ts";
import type { Group } from "../../src/core/trajectory.ts";
import type { Engine } from "../../src/engines/engine.ts";
import {
  type Environment,
  type Performance,
  type Split,
  splits,
  splitsOf,
  type Task,
} from "../../src/environments/environment.ts";
import { whileEpisode } from "../../src/environments/lifetime.ts";
import { rolloutGroups } from "../../src/rollouts/rollout.ts";
import type { Estimate } from "../../src/statistics/estimate.ts";
import { meanInterval } from "../../src/statistics/intervals.ts";
import type { TrainingConfig } from "../../src/training/config/settings.ts";
import { evaluationTasks, trainingTasks } from "../../src/training/config/tasks.ts";
import { measureOverlap } from "./overlap.ts";
import { playScript } from "./play.ts";
import { blindPolicies, chancePolicy, type DegeneratePolicy, talkingPolicies } from "./policies.ts";
import { findUnrepeatable } from "./repeats.ts";
import type { EnvironmentReport, ModelReport } from "./report.ts";

export interface CheckOptions {
  readonly seed: number;
  /** Tasks that policies and the model are measured on. */
  readonly tasks: number;
  /** Tasks of the training stream whose texts are compared with the other splits'. */
  readonly trainingTasks: number;
  readonly rollout: TrainingConfig["rollout"];
  /** The model before training; without it nothing is said about one. */
  readonly model?: { readonly engine: Engine; readonly chat: Chat };
  /** Says what is being measured. */
  readonly onProgress?: (what: string) => void;
}

const checkOptions = optionsDoor<CheckOptions>("checkEnvironment", {
  ...{ seed: true, tasks: true, trainingTasks: true, rollout: true, model: true, onProgress: true },
});

/**
 * Measures what an environment asks for, what it gives away, and what a model can do in it before training.
 * @example
 * const report = await checkEnvironment(officeEnvironment(), { seed: 1, tasks: 100, trainingTasks: 1000, rollout });
 * report.expert?.mean; // the success of the scripted expert
 */
export async function checkEnvironment(environment: Environment, options: CheckOptions): Promise<EnvironmentReport> {
  checkOptions({ ...options });
  const { seed, tasks: wanted, onProgress = () => {} } = options;
  const unchecked: string[] = [];
  const names = splitsOf(environment);
  const sizes = new Map(await Promise.all(names.map(async (name) => [name, await environment.size(name)] as const)));
  const has = (split: Split) => (sizes.get(split) ?? 0) > 0;
  for (const split of new Set([...splits, ...names])) if (!has(split)) unchecked.push(`There is no ${split} split.`);
  const split = ["test", "validation", "train", ...names].find(has);
  if (split === undefined) throw new RangeError(`the environment "${environment.name}" has no tasks`);
  const tasks = await evaluationTasks(environment, split, wanted);
  const { expert } = environment;
  const limits = { timeoutMs: options.rollout.episodeTimeoutMs };
  const share = (values: readonly number[]) => meanInterval(values, { seed });

  onProgress("whether it repeats itself");
  const unrepeatable = await findUnrepeatable(environment, split, limits);

  onProgress("the expert");
  const played = tasks.map((task) => expert?.play(task)).filter((performance) => performance !== undefined);
  if (expert === undefined) unchecked.push(withoutExpert);
  onProgress("policies that understand nothing");
  const policies: { name: string; success: Estimate }[] = [];
  // Where nothing is called, what the expert says is all that it does.
  const acts = played.some(({ messages, protocol }) => protocol !== undefined || messages.some(({ role }) => role === "tool"));
  const measure = async (policy: DegeneratePolicy) => {
    const successes = await policySuccesses(policy, environment, tasks, { played, ...limits }).catch(reasonOf);
    if (typeof successes !== "string") return [{ name: policy.name, success: share(successes) }];
    unchecked.push(`The policy "${policy.name}": left out, since playing it failed: ${successes}`);
    return [];
  };
  for (const policy of [...blindPolicies, ...(acts ? talkingPolicies : [])]) policies.push(...(await measure(policy)));
  const [chance] = await measure(chancePolicy);

  onProgress("overlap of the splits");
  const overlap =
    has("train") && names.some((other) => other !== "train" && has(other))
      ? await measureOverlap(environment, seed, { train: options.trainingTasks, others: wanted })
      : [];
  if (overlap.length === 0) unchecked.push("The overlap of splits needs a training split and another one.");
  else if (expert === undefined)
    unchecked.push("Overlap is of the first messages only: later ones of the user are not known without an expert.");

  if (options.model === undefined) unchecked.push("No model was measured.");
  const model = options.model && (await checkModel(environment, tasks, options, options.model));
  return {
    environment: environment.name,
    sizes: Object.fromEntries([...sizes].map(([name, size]) => [name, Number.isFinite(size) ? size : null])),
    split,
    tasks: tasks.length,
    policies,
    ...(expert === undefined ? {} : { expert: share(played.map(({ score }) => successOf(score))) }),
    chance: chance?.success,
    overlap,
    model,
    unrepeatable,
    unchecked,
  };
}

const withoutExpert =
  "The environment has no expert (Environment.expert), so its success and policies that act as the expert are not known.";

/** The success of a policy at each task. @param played the expert's performances */
export async function policySuccesses(
  policy: DegeneratePolicy,
  environment: Environment,
  tasks: readonly Task[],
  { played, timeoutMs }: { readonly played: readonly Performance[]; readonly timeoutMs: number },
): Promise<number[]> {
  const successes: number[] = [];
  for (const [i, task] of tasks.entries()) {
    const script = policy.script(task.id, played[i]?.messages ?? []);
    successes.push(successOf(await playScript(environment, task, script, { timeoutMs })));
  }
  return successes;
}

/** Groups of which it is counted how many have a signal: as many as four steps have. */
const signalTasks = 64;

/** The success of a performance: 1 or 0. */
const successOf = ({ reward, scores }: Performance["score"]) => Number(reachesOne(scores?.success ?? reward));

/** The success over tasks, each a group. */
export function successIn(groups: readonly Group[], seed: number): Estimate {
  const shares = groups.map(({ trajectories }) => mean(trajectories.map((trajectory) => Number(succeeded(trajectory)))));
  return meanInterval(shares, { seed });
}

/** The share of groups whose rewards are not all equal. */
export function signalIn(groups: readonly Group[], seed: number): Estimate {
  const differ = groups.map(({ trajectories }) => Number(new Set(trajectories.map(({ reward }) => reward)).size > 1));
  return meanInterval(differ, { seed });
}

/** Measures what a model can do in an environment before training. */
export async function checkModel(
  environment: Environment,
  tasks: readonly Task[],
  { seed, rollout, onProgress = () => {} }: Pick<CheckOptions, "seed" | "rollout" | "onProgress">,
  { engine, chat }: NonNullable<CheckOptions["model"]>,
): Promise<ModelReport> {
  const groupsOf = (on: readonly Task[], name: string, groupSize: number, temperature: number) =>
    rolloutGroups(engine, chat, environment, on, { ...rollout, name, groupSize, temperature, seed });
  onProgress("the model at temperature 0");
  const greedy = successIn(await groupsOf(tasks, "check-greedy", 1, 0), seed);
  onProgress("the model at temperature 1");
  const attempts = 4;
  const sampled = successIn(await groupsOf(tasks, "check-sampled", attempts, 1), seed);
  onProgress("groups of a training step");
  const source =
    (await environment.size("train")) > 0
      ? await trainingTasks(environment, 0, Math.min(tasks.length, signalTasks), seed)
      : tasks;
  const groups = await groupsOf(source, "check-signal", rollout.groupSize, rollout.temperature);
  const starts = [];
  for (const task of tasks.slice(0, 100)) starts.push(await whileEpisode(environment, task, 0, (started) => started));
  const lengths = starts.map(({ messages, tools }) => chat.open(messages, tools).ids.length);
  const prompt = { mean: mean(lengths), longest: Math.max(...lengths) };
  return { prompt, greedy, sampled, attempts, signal: signalIn(groups, seed), groupSize: rollout.groupSize };
}
