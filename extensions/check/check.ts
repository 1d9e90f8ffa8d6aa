import type { Chat } from "../../src/chat/chat.ts";
import { optionsDoor } from "../../src/core/door.ts";
import { reasonOf } from "../../src/core/errors.ts";
import { mean } from "../../src/core/mean.ts";
import { succeeded } from "../../src/core/outcome.ts";
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
import { measureCopying } from "./copying.ts";
import { type LazyReport, searchLazyPolicies, successOf } from "./lazy.ts";
import { measureOverlap } from "./overlap.ts";
import { playScript } from "./play.ts";
import { blindPolicies, chancePolicy, type DegeneratePolicy, saying, talkingPolicies, toolOrder } from "./policies.ts";
import { findUnrepeatable } from "./repeats.ts";
import type { EnvironmentReport, ModelReport } from "./report.ts";
import { openenvRules } from "./rules.ts";

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
  const estimate = async (policy: DegeneratePolicy, on: readonly Task[], played: readonly Performance[]) => {
    const rewards: number[] = [];
    for (const [i, task] of on.entries())
      rewards.push(successOf(await playScript(environment, task, policy.script(task.id, played[i]?.messages ?? []), limits)));
    return rewards;
  };

  onProgress("whether it repeats itself");
  const unrepeatable = await findUnrepeatable(environment, split, limits);

  onProgress("the expert");
  const played = tasks.map((task) => expert?.play(task)).filter((performance) => performance !== undefined);
  if (expert === undefined) {
    unchecked.push(
      "The environment has no expert (Environment.expert), so its success, constant answers, policies that act as the expert and copying are not known.",
    );
  }
  onProgress("policies that understand nothing");
  const policies: { name: string; success: Estimate }[] = [];
  // Where nothing is called, what the expert says is all that it does.
  const acts = played.some(({ messages, protocol }) => protocol !== undefined || messages.some(({ role }) => role === "tool"));
  const measure = async (policy: DegeneratePolicy) => {
    try {
      return [{ name: policy.name, success: share(await estimate(policy, tasks, played)) }];
    } catch (problem) {
      unchecked.push(`The policy "${policy.name}": left out, since playing it failed: ${reasonOf(problem)}`);
      return [];
    }
  };
  for (const policy of [...blindPolicies, ...(acts ? talkingPolicies : [])]) policies.push(...(await measure(policy)));
  const [chance] = await measure(chancePolicy);

  onProgress("the best of many fixed policies");
  let lazy: LazyReport = { choices: [], combined: [], leftOut: [] };
  const training = has("train") ? await trainingTasks(environment, 0, searchTasks, seed) : [];
  if (training[0] !== undefined) {
    const first = await whileEpisode(environment, training[0], 0, (episode) => episode);
    if (expert !== undefined) {
      const searched = await trainingTasks(environment, 0, constantTasks, seed);
      lazy = await searchLazyPolicies(environment, first.tools, { searched, measured: tasks }, limits, share);
      unchecked.push(...lazy.leftOut);
    }
    const shown = training.map((task) => expert?.play(task)).filter((performance) => performance !== undefined);
    const search = async (candidates: readonly DegeneratePolicy[]) => {
      const scored: { policy: DegeneratePolicy; success: number }[] = [];
      for (const policy of candidates) scored.push({ policy, success: mean(await estimate(policy, training, shown)) });
      return scored.sort((a, b) => b.success - a.success);
    };
    if (expert !== undefined) {
      const [best] = await search(commonClosings(shown).map((words) => saying(JSON.stringify(words), () => words)));
      if (best !== undefined)
        policies.push({
          name: `acts as the expert, best of ${closingCandidates} fixed closings: ${best.policy.name}`,
          success: share(await estimate(best.policy, tasks, played)),
        });
    }
    const tools = first.protocol === undefined ? first.tools.map(({ name }) => name) : [];
    let orders: string[][] = [[]];
    let bestOrder: { policy: DegeneratePolicy; success: number } | undefined;
    for (let length = 1; length <= 3 && tools.length > 0; length++) {
      const candidates = orders.flatMap((order) => tools.map((name) => [...order, name]));
      const found = await search(candidates.map(toolOrder));
      if (found[0] !== undefined && found[0].success > (bestOrder?.success ?? -1)) bestOrder = found[0];
      orders = found.slice(0, 4).map(({ policy }) => policy.name.split(", "));
    }
    if (bestOrder !== undefined)
      policies.push({
        name: `best of many tool orders: ${bestOrder.policy.name}`,
        success: share(await estimate(bestOrder.policy, tasks, played)),
      });
  } else unchecked.push("Without a training split no fixed policies were searched for.");

  onProgress("overlap of the splits");
  const overlap =
    has("train") && names.some((other) => other !== "train" && has(other))
      ? await measureOverlap(environment, seed, { train: options.trainingTasks, others: wanted })
      : [];
  if (overlap.length === 0) unchecked.push("The overlap of splits needs a training split and another one.");
  else if (expert === undefined)
    unchecked.push("Overlap is of the first messages only: later ones of the user are not known without an expert.");

  if (options.model === undefined) unchecked.push("No model was measured.");
  const model = options.model && (await checkModel(environment, tasks, played, options, options.model));
  const measured = { policies, ...(expert === undefined ? {} : { expert: share(played.map(({ score }) => successOf(score))) }) };
  return {
    environment: environment.name,
    sizes: Object.fromEntries([...sizes].map(([name, size]) => [name, Number.isFinite(size) ? size : null])),
    split,
    tasks: tasks.length,
    ...measured,
    ...(chance === undefined ? {} : { chance: chance.success }),
    lazy: { choices: lazy.choices, combined: lazy.combined },
    rules: openenvRules(measured),
    overlap,
    ...(model === undefined ? {} : { model }),
    unrepeatable,
    unchecked,
  };
}

/** Groups of which it is counted how many have a signal: as many as four steps have. */
const signalTasks = 64;

/** Tasks on which fixed policies are searched. */
const searchTasks = 40;
/** Tasks on which constant answers are compared. */
const constantTasks = 128;
const closingCandidates = 40;

/** The commonest last words of the expert. */
function commonClosings(performances: readonly Performance[]): string[] {
  const counts = new Map<string, number>();
  for (const { messages } of performances)
    for (const message of messages)
      if (message.role === "assistant" && !message.toolCalls?.length)
        counts.set(message.content, (counts.get(message.content) ?? 0) + 1);
  return [...counts]
    .sort((a, b) => b[1] - a[1])
    .slice(0, closingCandidates)
    .map(([words]) => words);
}

/** Measures what a model can do in an environment before training. @param played the expert's performances of the tasks */
export async function checkModel(
  environment: Environment,
  tasks: readonly Task[],
  played: readonly Performance[],
  { seed, rollout, onProgress = () => {} }: Pick<CheckOptions, "seed" | "rollout" | "onProgress">,
  { engine, chat }: NonNullable<CheckOptions["model"]>,
): Promise<ModelReport> {
  const groupsOf = (on: readonly Task[], name: string, groupSize: number, temperature: number) =>
    rolloutGroups(engine, chat, environment, on, { ...rollout, name, groupSize, temperature, seed });
  const shares = (groups: Awaited<ReturnType<typeof groupsOf>>) =>
    meanInterval(
      groups.map(({ trajectories }) => mean(trajectories.map((trajectory) => Number(succeeded(trajectory))))),
      { seed },
    );
  onProgress("the model at temperature 0");
  const greedy = shares(await groupsOf(tasks, "check-greedy", 1, 0));
  onProgress("the model at temperature 1");
  const attempts = 4;
  const sampled = shares(await groupsOf(tasks, "check-sampled", attempts, 1));
  onProgress("groups of a training step");
  const source =
    (await environment.size("train")) > 0
      ? await trainingTasks(environment, 0, Math.min(tasks.length, signalTasks), seed)
      : tasks;
  const groups = await groupsOf(source, "check-signal", rollout.groupSize, rollout.temperature);
  const hasSignal = groups.map(({ trajectories }) => Number(new Set(trajectories.map(({ reward }) => reward)).size > 1));
  onProgress("copying");
  const starts = [];
  for (const task of tasks.slice(0, 100)) starts.push(await whileEpisode(environment, task, 0, (started) => started));
  const lengths = starts.map(({ messages, tools }) => chat.open(messages, tools).ids.length);
  const prompt = { mean: mean(lengths), longest: Math.max(...lengths) };
  const performances = starts.flatMap(({ messages: opening, tools }, i) =>
    played[i] === undefined ? [] : [{ ...played[i], opening, tools }],
  );
  const copying = await measureCopying(engine, chat, performances);
  return { prompt, greedy, sampled, attempts, signal: meanInterval(hasSignal, { seed }), groupSize: rollout.groupSize, copying };
}
