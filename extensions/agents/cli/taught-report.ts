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
    const find = (of: string, records: readonly EvaluationRecord[], moment: EvaluationRecord["when"]) => {
      const record = records.find((each) => each.when === moment && each.decoding === decoding);
      return record && { folder: of, record };
    };
    const start = find(supervised.folder, early, "before");
    const [taught, end] = [find(folder, late, "before"), find(folder, late, "after")];
    if (start === undefined || taught === undefined || end === undefined) return [];
    const label = (text: string, what: string) => `  ${text.padEnd(13)}${what.padEnd(14)} `;
    return [
      `${label(decoding === "greedy" ? "greedy" : `sampled × ${start.record.k}`, "before")}${interval(start.record)}`,
      `${label("", "after sft")}${interval(taught.record)}   ${changeText(start, taught, seed)}`,
      `${label("", `after ${algorithm}`)}${interval(end.record)}   ${changeText(taught, end, seed)}`,
      `${label("", "in all")}${changeText(start, end, seed)}`,
    ];
  });
  const measured = late.find(({ when }) => when === "after");
  const peak = Math.max(summary.peakRssMb, supervised.summary.peakRssMb);
  return [
    ...(measured === undefined ? [] : [`Success on ${plural(measured.tasks, "task")} that no stage had, with 95 % intervals`]),
    ...rows,
    `  ${plural(record.rows, "demonstration")}, kept from ${percent(record.kept / Math.max(1, record.attempts - record.errors))} of the teacher's attempts; ` +
      `sft ${duration(supervised.summary.wallSeconds)}, ${algorithm} ${duration(summary.wallSeconds)}, at most ${count(peak)} MB`,
  ];
}

function changeText(before: Measured, after: Measured, seed: number): string {
  const of = ({ folder, record }: Measured) => outcomesOf(readEpisodes(folder, record));
  const { success, withheld } = compareOutcomes(of(before), of(after), seed, ["the start", "the end"]);
  if (success === undefined) return withheld ?? "no verdict";
  return `${points(success.difference)}, ${pText(success.pValue)}`;
}
