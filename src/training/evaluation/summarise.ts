import { groupBy } from "../../core/group-by.ts";
import { mean } from "../../core/mean.ts";
import { type Outcome, outcomeOf, succeeded } from "../../core/outcome.ts";
import { present } from "../../core/present.ts";
import { type Group, sampledTokens, type Trajectory, type Turn } from "../../core/trajectory.ts";
import type { Task } from "../../environments/environment.ts";
import type { Behaviour, Breakdown, EvaluationRecord } from "../../runs/records.ts";
import { passAtK, passHatK } from "../../statistics/attempts.ts";
import type { Estimate } from "../../statistics/estimate.ts";
import { type IntervalOptions, meanInterval } from "../../statistics/intervals.ts";

type Summarised = Omit<EvaluationRecord, "when" | "step" | "split" | "decoding" | "temperature">;

/**
 * Summarises the attempts of an evaluation. The unit of every interval is the task, since attempts at one task resemble each other; where tasks belong to
 * scenarios, it is the scenario. Attempts that ended by an error have no score: they are in no mean, and are counted in `errors`.
 * @param groups one for each task, in the order of the tasks, each with the same number k of attempts
 * @param metrics names of the sub-scores whose means are reported
 * @throws RangeError where no attempt has a score
 */
export function summarise(
  tasks: readonly Task[],
  groups: readonly Group[],
  seed: number,
  metrics: readonly string[] = [],
): Summarised {
  const attempts: Attempt[] = tasks.flatMap((task, i) =>
    (groups[i]?.trajectories ?? []).map((trajectory) => ({ trajectory, task, outcome: outcomeOf(trajectory) })),
  );
  const trajectories = attempts.map(({ trajectory }) => trajectory);
  const scored = attempts.filter(({ outcome }) => outcome.kind === "score");
  const k = attemptsOf(groups);
  const perTask = tasks.flatMap(({ scenario }, i) => {
    const own = scored.filter(({ task }) => task === tasks[i]);
    const unit = scenario ?? `task ${i}`;
    return own.length === 0 ? [] : [{ unit, own, n: own.length, c: own.filter(isSuccess).length }];
  });
  type OfTask = (typeof perTask)[number];
  const estimate = (of: (task: OfTask) => number, range?: readonly [number, number], from: readonly OfTask[] = perTask) => {
    const values = from.map((task) => ({ unit: task.unit, value: of(task) }));
    return clusteredInterval(values, { seed, range: range ?? rangeOf(values.map(({ value }) => value)) });
  };
  const ofAttempts = (chance: (n: number, c: number, k: number) => number) =>
    powersOfTwo(k).flatMap((j) => {
      const enough = perTask.filter(({ n }) => n >= j);
      return enough.length === 0 ? [] : [{ k: j, ...estimate(({ n, c }) => chance(n, c, j), [0, 1], enough) }];
    });
  const errors = attempts.length - scored.length;
  return {
    ...estimate(({ n, c }) => c / n, [0, 1]),
    measure: measureOf(scored.map(({ trajectory }) => trajectory)),
    tasks: tasks.length,
    k,
    ...(errors === 0 ? {} : { errors }),
    passAt: ofAttempts(passAtK),
    passAll: ofAttempts(passHatK),
    reward: estimate(({ own }) => mean(own.map(({ trajectory }) => trajectory.reward))),
    ...(metrics.length > 0 && {
      metrics: metrics.map((name) => ({
        name,
        ...estimate(({ own }) => mean(own.map(({ trajectory }) => trajectory.scores[name] ?? 0))),
      })),
    }),
    ...countsOf(trajectories),
    byKind: breakdown(scored.flatMap(kindParts), seed),
    behaviours: behavioursOf(trajectories),
    ...scenariosOf(tasks, groups, seed),
    byRequests: breakdown(
      scored.map((attempt) => part(attempt, String(attempt.task.requestCount ?? kindsOf(attempt.task).length))),
      seed,
    ),
    byTurns: breakdown(
      scored.map((attempt) => part(attempt, String(attempt.trajectory.turns.length))),
      seed,
    ),
  };
}

/** Turns, calls, tokens and ends of all attempts. */
function countsOf(trajectories: readonly Trajectory[]) {
  const turns = trajectories.flatMap((trajectory) => trajectory.turns);
  const byEnd = groupBy(trajectories, ({ stopReason }) => stopReason);
  return {
    meanTurns: mean(trajectories.map((trajectory) => trajectory.turns.length)),
    toolCalls: turns.reduce((sum, turn) => sum + turn.toolCalls, 0),
    sampledTokens: turns.reduce((sum, turn) => sum + sampledTokens(turn), 0),
    ...usageOf(turns),
    stopReasons: Object.fromEntries([...byEnd].map(([reason, members]) => [reason, members.length])),
  };
}

/** Tokens that a server counted; nothing of turns that were sampled here, whose ids are known. */
function usageOf(turns: readonly Turn[]): Pick<Summarised, "usage"> {
  const requested = turns.filter(({ action, usage }) => usage !== undefined || action.length === 0);
  if (requested.length === 0) return {};
  const sum = (of: (usage: NonNullable<Turn["usage"]>) => number) =>
    requested.reduce((total, { usage }) => total + (usage === undefined ? 0 : of(usage)), 0);
  return {
    usage: {
      promptTokens: sum(({ promptTokens }) => promptTokens),
      completionTokens: sum(({ completionTokens }) => completionTokens),
      unreported: requested.filter(({ usage }) => usage === undefined).length,
    },
  };
}

function attemptsOf(groups: readonly Group[]): number {
  return present(groups[0], "a task").trajectories.length;
}

/** The unit is the scenario. Attempt j at one of its tasks belongs with attempt j at the others; where one of them has no score, none of them has. */
function scenariosOf(tasks: readonly Task[], groups: readonly Group[], seed: number): Pick<Summarised, "scenarios"> {
  const named = tasks.flatMap(({ scenario }, i) =>
    scenario === undefined ? [] : [{ scenario, outcomes: (groups[i]?.trajectories ?? []).map(outcomeOf) }],
  );
  const k = attemptsOf(groups);
  const solved = [...groupBy(named, ({ scenario }) => scenario).values()]
    .map((own) =>
      Array.from({ length: k }, (_, j) => own.map(({ outcomes }) => outcomes[j]))
        .filter((attempt) => attempt.every((outcome) => outcome?.kind === "score"))
        .map((attempt) => attempt.every((outcome) => outcome?.kind === "score" && outcome.success)),
    )
    .filter((attempts) => attempts.length > 0);
  if (solved.length === 0) return {};
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
  readonly outcome: Outcome;
}

function isSuccess({ outcome }: Attempt): boolean {
  return outcome.kind === "score" && outcome.success;
}

/**
 * Returns what the environment lets an evaluation measure: success where it scores success or an attempt reached the reward 1; the reward alone where
 * rewards differ, or are above 0, and none reaches it; nothing yet where all are one number of 0 or less.
 */
export function measureOf(trajectories: readonly Trajectory[]): EvaluationRecord["measure"] {
  if (trajectories.some((trajectory) => trajectory.scores.success !== undefined || succeeded(trajectory))) return "success";
  return trajectories.some(({ reward }) => reward > 0 || reward !== trajectories[0]?.reward) ? "reward" : "nothing";
}

interface Part {
  readonly name: string;
  readonly unit: string;
  readonly value: number;
}

/** An attempt as a part of a breakdown, with the episode's success. */
function part(attempt: Attempt, name: string): Part {
  return { name, unit: attempt.task.scenario ?? attempt.task.id, value: Number(isSuccess(attempt)) };
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

function powersOfTwo(upTo: number): number[] {
  return [...Array.from({ length: Math.ceil(Math.log2(upTo)) }, (_, i) => 2 ** i), upTo];
}
