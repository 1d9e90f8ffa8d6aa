import { mean } from "../../core/mean.ts";
import { present } from "../../core/present.ts";
import { type Group, sampledTokens, succeeded, type Trajectory, type Turn } from "../../core/trajectory.ts";
import type { Task } from "../../environments/environment.ts";
import type { Behaviour, Breakdown, EvaluationRecord } from "../../runs/records.ts";
import { passAtK, passHatK } from "../../statistics/attempts.ts";
import type { Estimate } from "../../statistics/estimate.ts";
import { type IntervalOptions, meanInterval } from "../../statistics/intervals.ts";

type Summarised = Omit<EvaluationRecord, "when" | "step" | "split" | "decoding" | "temperature">;

/**
 * Summarises the attempts of an evaluation. The unit of every interval is the task, since attempts at one task resemble each other; where tasks belong to
 * scenarios, it is the scenario.
 * @param groups one for each task, in the order of the tasks, each with the same number k of attempts
 * @param metrics names of the sub-scores whose means are reported
 */
export function summarise(
  tasks: readonly Task[],
  groups: readonly Group[],
  seed: number,
  metrics: readonly string[] = [],
): Summarised {
  const attempts: Attempt[] = tasks.flatMap((task, i) =>
    (groups[i]?.trajectories ?? []).map((trajectory) => ({ trajectory, task })),
  );
  const trajectories = attempts.map(({ trajectory }) => trajectory);
  const k = attemptsOf(groups);
  const successes = groups.map((group) => group.trajectories.filter(succeeded).length);
  const units = tasks.map(({ scenario }, i) => scenario ?? `task ${i}`);
  const estimate = (values: readonly number[], range = rangeOf(values)) =>
    clusteredInterval(
      values.map((value, i) => ({ unit: present(units[i], "the task of a value"), value })),
      { seed, range },
    );
  const share = (values: readonly number[]) => estimate(values, [0, 1]);
  const ofAttempts = (chance: (n: number, c: number, k: number) => number) =>
    powersOfTwo(k).map((j) => ({ k: j, ...share(successes.map((c) => chance(k, c, j))) }));
  const turns = trajectories.flatMap((trajectory) => trajectory.turns);
  return {
    ...share(successes.map((c) => c / k)),
    measure: measureOf(trajectories),
    tasks: tasks.length,
    k,
    passAt: ofAttempts(passAtK),
    passAll: ofAttempts(passHatK),
    reward: estimate(groups.map((group) => mean(group.trajectories.map(({ reward }) => reward)))),
    ...(metrics.length > 0 && {
      metrics: metrics.map((name) => {
        const values = groups.map(({ trajectories: own }) => mean(own.map(({ scores }) => scores[name] ?? 0)));
        return { name, ...estimate(values) };
      }),
    }),
    meanTurns: mean(trajectories.map((trajectory) => trajectory.turns.length)),
    toolCalls: turns.reduce((sum, turn) => sum + turn.toolCalls, 0),
    sampledTokens: turns.reduce((sum, turn) => sum + sampledTokens(turn), 0),
    ...usageOf(turns),
    stopReasons: Object.fromEntries(
      [...groupBy(attempts, ({ trajectory }) => trajectory.stopReason)].map(([reason, members]) => [reason, members.length]),
    ),
    byKind: breakdown(attempts.flatMap(kindParts), seed),
    behaviours: behavioursOf(trajectories),
    ...scenariosOf(tasks, groups, seed),
    byRequests: breakdown(
      attempts.map((attempt) => part(attempt, String(attempt.task.requestCount ?? kindsOf(attempt.task).length))),
      seed,
    ),
    byTurns: breakdown(
      attempts.map((attempt) => part(attempt, String(attempt.trajectory.turns.length))),
      seed,
    ),
  };
}

/** Tokens that a server counted; nothing of turns that were sampled here, whose ids are known. */
function usageOf(turns: readonly Turn[]): Pick<Summarised, "usage"> {
  const asked = turns.filter(({ action, usage }) => usage !== undefined || action.length === 0);
  if (asked.length === 0) return {};
  const sum = (of: (usage: NonNullable<Turn["usage"]>) => number) =>
    asked.reduce((total, { usage }) => total + (usage === undefined ? 0 : of(usage)), 0);
  return {
    usage: {
      promptTokens: sum(({ promptTokens }) => promptTokens),
      completionTokens: sum(({ completionTokens }) => completionTokens),
      unreported: asked.filter(({ usage }) => usage === undefined).length,
    },
  };
}

/** The attempts at each task. */
function attemptsOf(groups: readonly Group[]): number {
  return present(groups[0], "a task").trajectories.length;
}

/** The unit is the scenario. Attempt j at one of its tasks belongs with attempt j at the others. */
function scenariosOf(tasks: readonly Task[], groups: readonly Group[], seed: number): Pick<Summarised, "scenarios"> {
  const named = tasks.flatMap(({ scenario }, i) =>
    scenario === undefined ? [] : [{ scenario, solved: (groups[i]?.trajectories ?? []).map(succeeded) }],
  );
  if (named.length === 0) return {};
  const k = attemptsOf(groups);
  const solved = [...groupBy(named, ({ scenario }) => scenario).values()].map((own) =>
    Array.from({ length: k }, (_, j) => own.every(({ solved }) => solved[j] === true)),
  );
  return {
    scenarios: {
      ...meanInterval(
        solved.map((attempts) => mean(attempts.map(Number))),
        { seed, range: [0, 1] },
      ),
      count: solved.length,
      any: mean(solved.map((attempts) => Number(attempts.some(Boolean)))),
      all: mean(solved.map((attempts) => Number(attempts.every(Boolean)))),
    },
  };
}

interface Attempt {
  readonly trajectory: Trajectory;
  readonly task: Task;
}

/**
 * Returns what the environment lets an evaluation measure: success where it scores success or an attempt reached the reward 1; the reward alone where there
 * are rewards above 0 and none reaches it; nothing yet where all rewards are 0 or less.
 */
export function measureOf(trajectories: readonly Trajectory[]): EvaluationRecord["measure"] {
  if (trajectories.some((trajectory) => trajectory.scores.success !== undefined || succeeded(trajectory))) return "success";
  return trajectories.some(({ reward }) => reward > 0) ? "reward" : "nothing";
}

interface Part {
  readonly name: string;
  readonly unit: string;
  readonly value: number;
}

/** An attempt as a part of a breakdown, with the episode's success. */
function part({ task, trajectory }: Attempt, name: string): Part {
  return { name, unit: task.scenario ?? task.id, value: Number(succeeded(trajectory)) };
}

/** An attempt for each kind of its task's requests. What the environment scores as `kind.NAME` is the kind's own success. */
function kindParts(attempt: Attempt): Part[] {
  return [...new Set(kindsOf(attempt.task))].map((name) => {
    const whole = part(attempt, name);
    return { ...whole, value: attempt.trajectory.scores[`kind.${name}`] ?? whole.value };
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

function breakdown(parts: readonly Part[], seed: number): Breakdown[] {
  return [...groupBy(parts, ({ name }) => name)]
    .map(([name, members]) => {
      const range = rangeOf(members.map(({ value }) => value));
      const { mean: success, ...ends } = clusteredInterval(members, { seed, range });
      return { name, attempts: members.length, success, ...ends };
    })
    .sort((a, b) => a.name.localeCompare(b.name, "en", { numeric: true }));
}

/** The interval takes units as independent; its mean is that of the values, to which it is stretched where units have unequal numbers of them. */
function clusteredInterval(
  values: readonly { readonly unit: string; readonly value: number }[],
  options: IntervalOptions,
): Estimate {
  const middle = (of: typeof values) => mean(of.map(({ value }) => value));
  const { low, high } = meanInterval([...groupBy(values, ({ unit }) => unit).values()].map(middle), options);
  return { mean: middle(values), low: Math.min(low, middle(values)), high: Math.max(high, middle(values)) };
}

function rangeOf(values: readonly number[]): readonly [number, number] {
  return [Math.min(0, ...values), Math.max(1, ...values)];
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
