import { join } from "node:path";
import { MeasurementError } from "../../src/core/errors.ts";
import { isScored } from "../../src/core/outcome.ts";
import { present } from "../../src/core/present.ts";
import { passAtK } from "../../src/statistics/attempts.ts";
import { meanInterval } from "../../src/statistics/intervals.ts";
import type { JudgeAnswers } from "../../src/training/evaluation/judge.ts";
import { type Judged, openJudge } from "./answers.ts";
import { Ledger } from "./ledger.ts";

type Verdict = Judged | "by rules" | "empty";

/**
 * Asks a judge about the answers of an evaluation, by ARPO's rule: an answer is right if rules say so or the judge does. Episodes are not played again.
 * An answer without a verdict and an episode that an error ended are in no mean.
 * @param trajectories the same number for each task, in the order of the tasks
 * @returns undefined if the environment's tasks are no questions
 * @throws CompletionError if the judge gives no reply at all: what it said before is kept; MeasurementError if no answer has a verdict
 */
export const judgeEvaluation: JudgeAnswers = async (
  environment,
  tasks,
  trajectories,
  { settings, folder, seed, signal, onJudged },
) => {
  const { answer } = environment;
  if (answer === undefined || tasks.length === 0) return undefined;
  const ledger = new Ledger(join(folder, "judge.jsonl"));
  const judge = openJudge(settings, ledger);
  const k = trajectories.length / tasks.length;
  let done = 0;
  const outcomes = await Promise.all(
    trajectories.map(async (trajectory, i): Promise<Verdict | undefined> => {
      if (!isScored(trajectory)) return undefined;
      const given = answer(present(tasks[Math.floor(i / k)], "the task of an episode"), trajectory.messages);
      const outcome = given.right ? "by rules" : given.prediction === "" ? "empty" : (await judge(given, signal)).verdict;
      onJudged?.(++done, trajectories.length);
      return outcome;
    }),
  );
  const perTask = tasks.map((_, i) => {
    const verdicts = outcomes.slice(i * k, (i + 1) * k).filter((verdict) => verdict !== undefined && verdict !== "unusable");
    return { n: verdicts.length, c: verdicts.filter((verdict) => verdict === "by rules" || verdict === "correct").length };
  });
  const share = (j: number, of: (n: number, correct: number) => number) => {
    const enough = perTask.filter(({ n }) => n >= j);
    return enough.length === 0
      ? undefined
      : meanInterval(
          enough.map(({ n, c }) => of(n, c)),
          { seed, range: [0, 1] },
        );
  };
  const mean = share(1, (n, correct) => correct / n);
  if (mean === undefined)
    throw new MeasurementError(`the judge ${settings.model}`, "no verdict on any answer", {
      expected: "at least one",
      hint: "Check the judge's model and its replies; --resume asks again.",
    });
  const attempts = [...new Set([...Array.from({ length: Math.ceil(Math.log2(k)) }, (_, i) => 2 ** i), k])];
  const count = (outcome: Verdict) => outcomes.filter((each) => each === outcome).length;
  return {
    ...mean,
    model: settings.model,
    passAt: attempts.flatMap((j) => {
      const passed = share(j, (n, correct) => passAtK(n, correct, j));
      return passed === undefined ? [] : [{ k: j, ...passed }];
    }),
    ...{ byRules: count("by rules"), empty: count("empty"), correct: count("correct"), incorrect: count("incorrect") },
    unjudged: trajectories.flatMap(({ id }, i) => (outcomes[i] === "unusable" ? [id] : [])),
    usage: ledger.spent,
  };
};
