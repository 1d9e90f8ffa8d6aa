import { present } from "../../../src/core/present.ts";
import { readEpisodes, readEvaluations } from "../../../src/runs/read.ts";
import type { EvaluationRecord } from "../../../src/runs/records.ts";
import { count, duration, interval, percent, plural, points, pText } from "../../../src/terminal/format.ts";
import { compareOutcomes, outcomesOf } from "../../../src/training/evaluation/compare.ts";
import type { TaughtRun } from "../taught-agent.ts";

/** An evaluation and the run that has it. */
interface Measured {
  readonly folder: string;
  readonly record: EvaluationRecord;
}

/**
 * The success before, after demonstrations and after reinforcement, with the paired changes.
 * @param algorithm the name of the second stage
 */
export function taughtLines({ record, supervised, folder, summary }: TaughtRun, algorithm: string, seed: number): string[] {
  const [early, late] = [readEvaluations(supervised.folder), readEvaluations(folder)];
  const decodings = [...new Set(late.filter(({ when }) => when === "after").map(({ decoding }) => decoding))].sort();
  const rows = decodings.flatMap((decoding) => {
    const find = (records: readonly EvaluationRecord[], when: EvaluationRecord["when"], of: string): Measured[] =>
      records
        .filter((each) => each.when === when && each.decoding === decoding)
        .slice(0, 1)
        .map((found) => ({ folder: of, record: found }));
    const stages = [...find(early, "before", supervised.folder), ...find(late, "before", folder), ...find(late, "after", folder)];
    return stages.length === 3 ? [stageLines(stages, ["sft", algorithm], seed)] : [];
  });
  const measured = late.find(({ when }) => when === "after");
  const peak = Math.max(summary.peakRssMb, supervised.summary.peakRssMb);
  return [
    ...(measured === undefined ? [] : [`Success on ${plural(measured.tasks, "task")} that no stage had, with 95 % intervals`]),
    ...rows.flat(),
    `  ${plural(record.rows, "demonstration")}, kept from ${percent(record.kept / Math.max(1, record.attempts - record.errors))} of the teacher's attempts; ` +
      `sft ${duration(supervised.summary.wallSeconds)}, ${algorithm} ${duration(summary.wallSeconds)}, at most ${count(peak)} MB`,
  ];
}

function stageLines(stages: readonly Measured[], learned: readonly string[], seed: number): string[] {
  const [start, ...after] = stages.map((stage) => present(stage, "an evaluation"));
  const { decoding, k } = present(start, "an evaluation").record;
  const name = decoding === "greedy" ? "greedy" : `sampled × ${k}`;
  const label = (text: string, what: string) => `  ${text.padEnd(13)}${what.padEnd(14)} `;
  const lines = after.map(({ record }, i) => {
    const change = changeText(present(stages[i], "an evaluation"), present(stages[i + 1], "an evaluation"), seed);
    return `${label("", `after ${learned[i]}`)}${interval(record)}   ${change}`;
  });
  const whole = changeText(present(start, "an evaluation"), present(after.at(-1), "an evaluation"), seed);
  return [
    `${label(name, "before")}${interval(present(start, "an evaluation").record)}`,
    ...lines,
    `${label("", "in all")}${whole}`,
  ];
}

function changeText(before: Measured, after: Measured, seed: number): string {
  const of = ({ folder, record }: Measured) => outcomesOf(readEpisodes(folder, record));
  const { success, withheld } = compareOutcomes(of(before), of(after), seed, ["the start", "the end"]);
  if (success === undefined) return withheld ?? "no verdict";
  return `${points(success.difference)}, ${pText(success.pValue)}`;
}
