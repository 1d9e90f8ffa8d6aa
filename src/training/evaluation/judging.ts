import { join } from "node:path";
import { present } from "../../core/present.ts";
import type { Trajectory } from "../../core/trajectory.ts";
import type { Environment, Task } from "../../environments/environment.ts";
import { type Judged, type JudgeSettings, openJudge } from "../../rewards/judge/answers.ts";
import { Ledger } from "../../rewards/judge/ledger.ts";
import type { JudgedRecord } from "../../runs/records.ts";
import { passAtK } from "../../statistics/attempts.ts";
import { meanInterval } from "../../statistics/intervals.ts";

export interface JudgingOptions {
  readonly settings: JudgeSettings;
  /** The evaluation's folder: verdicts are kept there as they come, and are not asked for again. */
  readonly folder: string;
  readonly seed: number;
  readonly signal?: AbortSignal;
  readonly onJudged?: (done: number, total: number) => void;
}

type Outcome = Judged | "by rules" | "empty";

/**
 * Asks a judge about the answers of an evaluation, by ARPO's rule: an answer is right if rules say so or the judge does. Episodes are not played again.
 * @param trajectories the same number for each task, in the order of the tasks
 * @returns undefined if the environment's tasks are no questions
 * @throws CompletionError if the judge gives no reply at all: what it said before is kept
 */
export async function judgeEvaluation(
  environment: Environment,
  tasks: readonly Task[],
  trajectories: readonly Trajectory[],
  { settings, folder, seed, signal, onJudged }: JudgingOptions,
): Promise<JudgedRecord | undefined> {
  const { answer } = environment;
  if (answer === undefined || tasks.length === 0) return undefined;
  const ledger = new Ledger(join(folder, "judge.jsonl"));
  const judge = openJudge(settings, ledger);
  const k = trajectories.length / tasks.length;
  let done = 0;
  const outcomes = await Promise.all(
    trajectories.map(async ({ messages }, i): Promise<Outcome> => {
      const given = answer(present(tasks[Math.floor(i / k)], "the task of an episode"), messages);
      const outcome = given.right ? "by rules" : given.prediction === "" ? "empty" : (await judge(given, signal)).verdict;
      onJudged?.(++done, trajectories.length);
      return outcome;
    }),
  );
  const right = outcomes.map((outcome) => Number(outcome === "by rules" || outcome === "correct"));
  const rightOf = tasks.map((_, i) => right.slice(i * k, (i + 1) * k).reduce((sum, each) => sum + each, 0));
  const share = (of: (correct: number) => number) => meanInterval(rightOf.map(of), { seed, range: [0, 1] });
  const attempts = [...new Set([...Array.from({ length: Math.ceil(Math.log2(k)) }, (_, i) => 2 ** i), k])];
  const count = (outcome: Outcome) => outcomes.filter((each) => each === outcome).length;
  return {
    ...share((correct) => correct / k),
    model: settings.model,
    passAt: attempts.map((j) => ({ k: j, ...share((correct) => passAtK(k, correct, j)) })),
    ...{ byRules: count("by rules"), empty: count("empty"), correct: count("correct"), incorrect: count("incorrect") },
    unjudged: trajectories.flatMap(({ id }, i) => (outcomes[i] === "unusable" ? [id] : [])),
    usage: ledger.spent,
  };
}
