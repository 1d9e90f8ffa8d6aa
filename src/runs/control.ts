import { randomUUID } from "node:crypto";
import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { RunError, reasonOf } from "../core/errors.ts";
import { appendRecord, largestRecord, readRunFile, requireOwnFolder, writeFileAtomic } from "./files.ts";
import { layout } from "./layout.ts";
import { finishedNames, readLines, readSummary, recordOf } from "./read.ts";
import { schemaVersion, versionSchema } from "./schema.ts";
import { sealed } from "./seal.ts";

/** A request that a person makes of a run in progress. */
export const controlRequestSchema = z.discriminatedUnion("action", [
  z.strictObject({ action: z.literal("pause") }),
  z.strictObject({ action: z.literal("resume") }),
  /** Ends the run after the step that is being made. It can be resumed. */
  z.strictObject({ action: z.literal("stop") }),
  /** From the next step on; the schedule keeps its shape, relative to this rate. */
  z.strictObject({ action: z.literal("learning-rate"), value: z.number().positive().max(10) }),
]);
export type ControlRequest = z.infer<typeof controlRequestSchema>;

/** One line of `control.jsonl`: a request, and the first step that it is true of. */
export const controlRecordSchema = z.object({
  schema: versionSchema,
  step: z.int().min(1),
  request: controlRequestSchema,
  /** ISO 8601. When the trainer took it. */
  at: z.string(),
});
export type ControlRecord = z.infer<typeof controlRecordSchema>;

/**
 * Leaves a request for the run's trainer, which takes it before its next step.
 * @throws RunError where the run has finished
 */
export function requestControl(folder: string, request: ControlRequest): void {
  if (readSummary(folder) !== undefined)
    throw new RunError(folder, "finished", { expected: "a run that is being trained", hint: "Start a new run to change it." });
  requireOwnFolder(layout.requests(folder));
  const name = `${new Date().toISOString().replaceAll(/[:.]/g, "-")}-${randomUUID().slice(0, 8)}.json`;
  writeFileAtomic(join(layout.requests(folder), name), `${sealed(JSON.stringify({ schema: schemaVersion, request }))}\n`);
}

/**
 * Takes the requests that wait, oldest first, and records each with the step at which it takes effect. The record is written before the
 * request is removed: a kill in between applies a request twice, which changes nothing.
 * @param step the next one to be made
 * @param refused is given what is no request, which is removed
 */
export function takeRequests(folder: string, step: number, refused: (problem: string) => void): ControlRequest[] {
  return finishedNames(layout.requests(folder)).flatMap((name) => {
    const path = join(layout.requests(folder), name);
    const request = readRequest(path, refused);
    if (request !== undefined) recordControl(folder, step, request);
    rmSync(path, { recursive: true, force: true });
    return request === undefined ? [] : [request];
  });
}

/** Records a request as of a step. */
export function recordControl(folder: string, step: number, request: ControlRequest): void {
  const record: ControlRecord = { schema: schemaVersion, step, request, at: new Date().toISOString() };
  appendRecord(layout.control(folder), record);
}

/** Reads what was changed so far, in order. */
export function readControl(folder: string): ControlRecord[] {
  return readLines(layout.control(folder), controlRecordSchema);
}

/** Returns the learning rate requested as of a step; undefined if it is the configuration's. */
export function learningRateAt(records: readonly ControlRecord[], step: number): number | undefined {
  return records.reduce<number | undefined>(
    (rate, record) => (record.request.action === "learning-rate" && record.step <= step ? record.request.value : rate),
    undefined,
  );
}

function readRequest(path: string, refused: (problem: string) => void): ControlRequest | undefined {
  if (!existsSync(path)) return undefined;
  try {
    return recordOf(path, readRunFile(path, largestRecord).toString("utf8"), z.object({ request: controlRequestSchema })).request;
  } catch (error) {
    refused(`${path} is no request and was removed: ${reasonOf(error)}`);
    return undefined;
  }
}
