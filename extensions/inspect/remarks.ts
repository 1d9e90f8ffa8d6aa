import { z } from "zod";
import { appendRecord } from "../../src/runs/files.ts";
import { layout } from "../../src/runs/layout.ts";
import { readLines } from "../../src/runs/read.ts";
import { schemaVersion, versionSchema } from "../../src/runs/schema.ts";

/** A person's remark: a note on the run, or a mark of an episode. */
export const remarkSchema = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("note"), text: z.string().trim().min(1).max(4000) }),
  /** Null takes the mark back. */
  z.strictObject({
    kind: z.literal("mark"),
    trajectory: z.string().min(1).max(200),
    reward: z.number().min(0).max(1).nullable(),
  }),
]);
export type Remark = z.infer<typeof remarkSchema>;

/** One line of `remarks.jsonl`, beside its checksum. */
const recordSchema = z.object({ schema: versionSchema, at: z.string(), remark: remarkSchema });
export type RemarkRecord = z.infer<typeof recordSchema>;

export function addRemark(folder: string, remark: Remark): void {
  const record: RemarkRecord = { schema: schemaVersion, at: new Date().toISOString(), remark };
  appendRecord(layout.remarks(folder), record);
}

/** Reads what people wrote, in order. */
export function readRemarks(folder: string): RemarkRecord[] {
  return readLines(layout.remarks(folder), recordSchema);
}

/** Returns the rewards that people gave, by trajectory: of several marks of one the last. */
export function marksOf(records: readonly RemarkRecord[]): Map<string, number> {
  const marks = new Map<string, number>();
  for (const { remark } of records) {
    if (remark.kind !== "mark") continue;
    if (remark.reward === null) marks.delete(remark.trajectory);
    else marks.set(remark.trajectory, remark.reward);
  }
  return marks;
}
