import { ConfigError, MeasurementError } from "../../core/errors.ts";
import { groupBy } from "../../core/group-by.ts";
import { mean } from "../../core/mean.ts";
import { type AttemptCount, outcomeOf, verdictWithheld } from "../../core/outcome.ts";
import { present } from "../../core/present.ts";
import type { Trajectory } from "../../core/trajectory.ts";
import { pairedBySeed, type SeedsByTasks, seedsAndTasksInterval } from "../../statistics/clustered.ts";
import type { Estimate } from "../../statistics/estimate.ts";
import { comparePaired, type PairedComparison, scoredPairs } from "../../statistics/paired.ts";

/** The outcomes that an evaluation found for each task, in the order of the tasks; for each scenario, where tasks belong to some. */
export interface TaskOutcomes extends AttemptCount {
  readonly tasks: readonly string[];
  /** Share of the attempts that succeeded. Undefined where no attempt has a score. */
  readonly success: readonly (number | undefined)[];
  readonly reward: readonly (number | undefined)[];
  /** Attempts at each task, or at all tasks of a scenario. */
  readonly k: number;
}

/**
 * Sorts the episodes of an evaluation by task, or by scenario: tasks of one resemble each other, so that it is the unit of tests.
 * @param trajectories the same number for every task
 * @throws ConfigError where two tasks have one id: nothing distinguishes their outcomes
 */
export function outcomesOf(trajectories: readonly Trajectory[]): TaskOutcomes {
  const byTask = groupBy(trajectories, ({ task }) => task);
  for (const [task, own] of byTask)
    if (own.some(({ group }) => group !== own[0]?.group))
      throw new ConfigError("the id of two tasks of an evaluation", task, {
        expected: "another id for each task",
        hint: "Comparisons pair outcomes by the id. Give every task of the environment its own one, and evaluate again.",
      });
  const byUnit = groupBy([...byTask.values()].flat(), ({ scenario, task }) => scenario ?? task);
  const attempts = [...byUnit.values()];
  const scored = attempts.map((own) => own.map(outcomeOf).flatMap((outcome) => (outcome.kind === "score" ? [outcome] : [])));
  const meanOf = (values: readonly number[]) => (values.length === 0 ? undefined : mean(values));
  return {
    tasks: [...byUnit.keys()],
    success: scored.map((own) => meanOf(own.map(({ success }) => Number(success)))),
    reward: scored.map((own) => meanOf(own.map(({ reward }) => reward))),
    k: Math.max(0, ...attempts.map((own) => own.length)),
    attempts: trajectories.length,
    errors: trajectories.length - scored.flat().length,
  };
}

/** The comparison of two evaluations. Attempts that ended by an error are no pairs. */
export interface OutcomeComparison {
  /** Attempts of both sides, and how many of them have no score. */
  readonly counts: readonly [AttemptCount, AttemptCount];
  /** Absent where there is no verdict. */
  readonly success?: PairedComparison;
  readonly reward?: PairedComparison;
  /** Why there is none. */
  readonly withheld?: string;
}

/**
 * Compares two evaluations of the same tasks.
 * @param names of the two, for people
 * @throws ConfigError if their tasks differ
 */
export function compareOutcomes(
  first: TaskOutcomes,
  second: TaskOutcomes,
  seed: number,
  names: readonly [string, string] = ["the first evaluation", "the second"],
): OutcomeComparison {
  requireSameTasks(first, second, names);
  const counts = [first, second].map(({ attempts, errors }) => ({ attempts, errors })) as [AttemptCount, AttemptCount];
  const withheld = verdictWithheld(counts, names);
  if (withheld !== undefined) return { counts, withheld };
  const step = 1 / Math.max(first.k, second.k);
  return {
    counts,
    success: comparePaired(...scoredPairs(first.success, second.success), { seed, range: [0, 1], step }),
    reward: comparePaired(...scoredPairs(first.reward, second.reward), { seed }),
  };
}

function requireSameTasks(first: TaskOutcomes, second: TaskOutcomes, [a, b]: readonly [string, string]): void {
  const at = first.tasks.findIndex((task, i) => task !== second.tasks[i]);
  if (at === -1 && first.tasks.length === second.tasks.length) return;
  throw new ConfigError(`the tasks of ${b}`, at === -1 ? `${second.tasks.length} tasks` : (second.tasks[at] ?? "fewer tasks"), {
    expected: `the tasks of ${a}: ${at === -1 ? `${first.tasks.length} tasks` : first.tasks[at]} at position ${Math.max(at, 0) + 1}`,
    hint: "Only evaluations of the same tasks in the same order are compared.",
  });
}

/** Several training seeds: what was measured of each, over the same tasks. */
export interface AcrossSeeds {
  readonly seeds: number;
  readonly tasks: number;
  readonly perSeed: readonly number[];
  readonly success: Estimate;
}

/** Estimates success over training seeds and tasks. @param runs one evaluation for each seed */
export function acrossSeeds(runs: readonly TaskOutcomes[], seed: number): AcrossSeeds {
  return ofTable(tableOf(runs), seed, [0, 1]);
}

/** Estimates the difference of two evaluations of each seed, second minus first, over training seeds and tasks. */
export function differenceAcrossSeeds(
  first: readonly TaskOutcomes[],
  second: readonly TaskOutcomes[],
  seed: number,
): AcrossSeeds {
  const names = ["the first evaluation", "the second"] as const;
  requireSameTasks(present(first[0], names[0]), present(second[0], names[1]), names);
  return ofTable(pairedBySeed(tableOf(first), tableOf(second)), seed, [-1, 1]);
}

/** @throws MeasurementError as `requireScored` */
function tableOf(runs: readonly TaskOutcomes[]): SeedsByTasks {
  for (const run of runs) requireSameTasks(present(runs[0], "a run"), run, ["the first run", "another"]);
  return runs.map((run) => requireScored(run).success);
}

/**
 * Returns the values of every task, for tables that have no gaps.
 * @throws MeasurementError where a task has no attempt with a score, or too many attempts have none
 */
export function requireScored(outcomes: TaskOutcomes): Readonly<Record<"success" | "reward", readonly number[]>> {
  const { tasks, success, reward } = outcomes;
  const at = success.indexOf(undefined);
  const withheld = verdictWithheld([outcomes], ["an evaluation"]);
  const numbers = (values: TaskOutcomes["success"]) => values.filter((value) => value !== undefined);
  if (at === -1 && withheld === undefined) return { success: numbers(success), reward: numbers(reward) };
  throw new MeasurementError("an evaluation", withheld ?? `no score in task ${tasks[at]}`, {
    expected: "a score for each task, and errors in at most a tenth of the attempts",
    hint: "Repair what raises the errors (runs show has them), and evaluate again.",
  });
}

function ofTable(table: SeedsByTasks, seed: number, range: readonly [number, number]): AcrossSeeds {
  return {
    seeds: table.length,
    tasks: present(table[0], "a run").length,
    perSeed: table.map(mean),
    success: seedsAndTasksInterval(table, { seed, range }),
  };
}
