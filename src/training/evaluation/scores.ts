import { present } from "../../core/present.ts";
import type { Decoding, EvaluationRecord, ScoreSummary } from "../../runs/records.ts";

/** Several evaluations of one moment and split as one score. @param records at least one; the sampled one first */
export function scoreOf(records: readonly EvaluationRecord[]): ScoreSummary {
  const { split, tasks, k, mean, low, high } = present(records[0], "an evaluation");
  const byDecoding = <T>(of: (record: EvaluationRecord) => T) =>
    Object.fromEntries(records.map((record) => [record.decoding, of(record)])) as Partial<Record<Decoding, T>>;
  return {
    ...{ split, tasks, k, measure: measureOf(records), mean, low, high },
    ...byDecoding(({ mean: share, low: from, high: to }) => ({ mean: share, low: from, high: to })),
    reward: byDecoding(({ reward }) => reward),
  };
}

/** Returns what several evaluations of one environment measure together. */
export function measureOf(records: readonly EvaluationRecord[]): EvaluationRecord["measure"] {
  if (records.some(({ measure }) => measure === "success")) return "success";
  return records.some(({ measure }) => measure === "reward") ? "reward" : "nothing";
}
