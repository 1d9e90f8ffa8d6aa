import type { RunDetail } from "../api.ts";
import { intervalText, scoreText } from "../format.ts";
import { Stat } from "./bits.tsx";
import type { Series } from "./chart.tsx";

type Evaluation = RunDetail["evaluations"][number];

const decodings = ["sampled", "greedy"] as const;

/** The splits that a run was evaluated on: its own first, then others, such as a challenge. */
function splitsOf({ evaluations, row }: RunDetail): string[] {
  return [...new Set(evaluations.map(({ split }) => split))].sort(
    (a, b) => Number(b === row.split) - Number(a === row.split) || a.localeCompare(b),
  );
}

/** Success; the reward where the environment has no success. */
function scoreOf(
  evaluation: Evaluation,
  { row }: RunDetail,
): { readonly mean: number; readonly low: number; readonly high: number } {
  return row.measure === "reward" ? evaluation.reward : evaluation;
}

/** How success changed from the evaluation before training to the one after it, for each split, with the interval of the last. */
export function EvaluationStats({ run }: { readonly run: RunDetail }) {
  return splitsOf(run).map((split) => {
    const find = (when: Evaluation["when"], decoding: Evaluation["decoding"]) =>
      run.evaluations.find((one) => one.when === when && one.decoding === decoding && one.split === split);
    const found = decodings.flatMap((decoding) => {
      const [before, after] = [find("before", decoding), find("after", decoding)];
      const last = after ?? before;
      return last === undefined ? [] : [{ decoding, before, after, last }];
    });
    const [first, second] = found;
    if (first === undefined) return null;
    const words = (one: Evaluation) => scoreText(scoreOf(one, run).mean, run.row);
    const interval = intervalText(scoreOf(first.last, run), run.row);
    const from = ({ before, after }: typeof first) =>
      before !== undefined && after !== undefined ? [`from ${words(before)}`] : after === undefined ? ["before training"] : [];
    const greedy =
      second === undefined ? [] : [`${second.decoding} ${words(second.last)}${from(second).map((text) => ` ${text}`)}`];
    return (
      <Stat
        key={split}
        label={`${run.row.measure === "reward" ? "Reward" : "Success"}, ${split}, ${first.decoding}`}
        value={words(first.last)}
        note={[interval, ...from(first), ...greedy].join("; ")}
      />
    );
  });
}

/** The scores of every split and decoding at each of these steps, as points. */
export function evaluationPoints(run: RunDetail, steps: readonly number[]): Series[] {
  const colours = ["s3", "s5", "s4", "s7"];
  return splitsOf(run)
    .flatMap((split) => decodings.map((decoding) => ({ split, decoding })))
    .map(({ split, decoding }) => ({
      label: `${split}, ${decoding}`,
      values: steps.map((step) => {
        const found = run.evaluations.find((one) => one.step === step && one.split === split && one.decoding === decoding);
        return found === undefined ? null : scoreOf(found, run).mean;
      }),
    }))
    .filter(({ values }) => values.some((value) => value !== null))
    .map((one, i) => ({ ...one, colour: colours[i % colours.length], points: true }));
}
