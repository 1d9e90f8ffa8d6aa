import type { Chat } from "../chat/chat.ts";
import { seedOf } from "../core/random.ts";
import type { Group, Trajectory } from "../core/trajectory.ts";
import type { Sampler } from "../engines/engine.ts";
import type { Environment, Split, Task } from "../environments/environment.ts";
import { rolloutGroups } from "../rollouts/rollout.ts";
import type { Behaviour, Breakdown, EvaluationRecord } from "../runs/records.ts";
import type { TrainingConfig } from "./config.ts";
import { estimateMean, mean, passAtK } from "./estimates.ts";
import { succeeded } from "./rollout-metrics.ts";
import { checkSplit, evaluationTasks } from "./tasks.ts";

export interface EvaluationOptions {
  readonly when: EvaluationRecord["when"];
  /** Optimisation steps that the weights have seen. */
  readonly step: number;
  readonly split: Split;
  readonly tasks: number;
  /** Attempts at each task. */
  readonly k: number;
  readonly temperature: number;
  readonly rollout: TrainingConfig["rollout"];
  readonly seed: number;
  readonly signal?: AbortSignal;
  readonly onTrajectory?: (trajectory: Trajectory) => void;
}

export interface Evaluation {
  readonly record: EvaluationRecord;
  readonly trajectories: readonly Trajectory[];
}

/** Attempts each of the first tasks of a split k times. @throws ConfigError where the split is empty */
export async function evaluate(
  sampler: Sampler,
  chat: Chat,
  environment: Environment,
  { when, step, split, tasks: wanted, k, temperature, rollout, seed, signal, onTrajectory }: EvaluationOptions,
): Promise<Evaluation> {
  await checkSplit(environment, "evaluation.split", split);
  const tasks = await evaluationTasks(environment, split, wanted);
  const groups = await rolloutGroups(sampler, chat, environment, tasks, {
    ...rollout,
    groupSize: k,
    temperature,
    seed: seedOf(seed, "evaluation", split),
    name: `${when}-${split}-${step}`,
    signal,
    onTrajectory,
  });
  const trajectories = groups.flatMap((group) => group.trajectories);
  return { record: { when, step, split, temperature, ...summarise(tasks, groups, seed) }, trajectories };
}

/** @param groups one for each task, in the order of the tasks, each with the same number k of attempts */
export function summarise(
  tasks: readonly Task[],
  groups: readonly Group[],
  seed: number,
): Omit<EvaluationRecord, "when" | "step" | "split" | "temperature"> {
  const attempts = groups.flatMap((group, i) => group.trajectories.map((trajectory) => ({ trajectory, task: tasks[i] })));
  const k = groups[0].trajectories.length;
  const successes = groups.map((group) => group.trajectories.filter(succeeded).length);
  return {
    ...estimateMean(
      successes.map((c) => c / k),
      seed,
    ),
    tasks: tasks.length,
    k,
    passAt: powersOfTwo(k).map((j) => ({
      k: j,
      ...estimateMean(
        successes.map((c) => passAtK(k, c, j)),
        seed,
      ),
    })),
    reward: estimateMean(
      groups.map((group) => mean(group.trajectories.map(({ reward }) => reward))),
      seed,
    ),
    meanTurns: mean(attempts.map(({ trajectory }) => trajectory.turns.length)),
    toolCalls: attempts.flatMap(({ trajectory }) => trajectory.turns).reduce((sum, turn) => sum + turn.toolCalls, 0),
    stopReasons: Object.fromEntries(
      [...groupBy(attempts, ({ trajectory }) => trajectory.stopReason)].map(([reason, members]) => [reason, members.length]),
    ),
    byKind: breakdown(attempts.flatMap(kindParts)),
    behaviours: behavioursOf(attempts.map(({ trajectory }) => trajectory)),
    byRequests: breakdown(attempts.map(({ task, trajectory }) => part(trajectory, String(kindsOf(task).length)))),
    byTurns: breakdown(attempts.map(({ trajectory }) => part(trajectory, String(trajectory.turns.length)))),
  };
}

interface Part {
  readonly name: string;
  readonly success: number;
}

/** An attempt as a part of the breakdown, with the episode's success. */
function part(trajectory: Trajectory, name: string): Part {
  return { name, success: Number(succeeded(trajectory)) };
}

/** An attempt for each kind of its task's requests. What the environment scores as `kind.NAME` is the kind's own success. */
function kindParts({ task, trajectory }: { readonly task: Task; readonly trajectory: Trajectory }): Part[] {
  return [...new Set(kindsOf(task))].map((name) => {
    const own = trajectory.scores[`kind.${name}`];
    return own === undefined ? part(trajectory, name) : { name, success: own };
  });
}

/** Adds up the counts of each behaviour. */
export function behavioursOf(trajectories: readonly Trajectory[]): Behaviour[] {
  const all = trajectories.flatMap(({ behaviours = {} }) =>
    Object.entries(behaviours).map(([name, counts]) => ({ name, ...counts })),
  );
  const sum = (counts: readonly Behaviour[], of: "done" | "called") => counts.reduce((total, count) => total + count[of], 0);
  return [...groupBy(all, ({ name }) => name)]
    .map(([name, counts]) => ({ name, done: sum(counts, "done"), called: sum(counts, "called") }))
    .sort((a, b) => a.name.localeCompare(b.name, "en"));
}

function kindsOf(task: Task): string[] {
  return (task.kind ?? "task").split("+");
}

function breakdown(parts: readonly Part[]): Breakdown[] {
  return [...groupBy(parts, ({ name }) => name)]
    .map(([name, members]) => ({ name, attempts: members.length, success: mean(members.map(({ success }) => success)) }))
    .sort((a, b) => a.name.localeCompare(b.name, "en", { numeric: true }));
}

function groupBy<T>(items: readonly T[], keyOf: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const members = groups.get(keyOf(item));
    if (members === undefined) groups.set(keyOf(item), [item]);
    else members.push(item);
  }
  return groups;
}

function powersOfTwo(upTo: number): number[] {
  return [...Array.from({ length: Math.ceil(Math.log2(upTo)) }, (_, i) => 2 ** i), upTo];
}
