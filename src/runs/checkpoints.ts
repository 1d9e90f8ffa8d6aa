import { existsSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import { RunError } from "../core/errors.ts";
import { damageOf, writeChecksums } from "./checksums.ts";
import { largestRecord, readRunFile, writeFolderAtomic, writeRecord } from "./files.ts";
import { layout } from "./layout.ts";
import { checkpointSteps } from "./read.ts";
import type { Progress } from "./records.ts";
import { schemaVersion } from "./schema.ts";

/** An engine's states, for checkpoints. */
export interface StateKeeper {
  /** Writes the state, or a reference to it, into a folder. */
  saveState(folder: string): Promise<void>;
  /** Deletes what the state in a folder refers to outside of it. */
  dropState(folder: string): Promise<void>;
}

/**
 * Writes a checkpoint. It carries checksums of its files, and of the run.json with the configuration that led to it.
 * @param keep number of checkpoints that stay: the newest ones
 */
export async function writeCheckpoint(
  folder: string,
  progress: Progress,
  { saveState, dropState }: StateKeeper,
  keep: number,
): Promise<string> {
  const path = layout.checkpoint(folder, progress.step);
  await writeFolderAtomic(path, async (unfinished) => {
    mkdirSync(join(unfinished, "engine"));
    await saveState(join(unfinished, "engine"));
    writeRecord(join(unfinished, "trainer.json"), { schema: schemaVersion, ...progress });
    writeChecksums(unfinished, runChecksum(folder));
  });
  for (const step of checkpointSteps(folder).slice(0, -keep)) {
    await dropState(engineStateFolder(folder, step));
    rmSync(layout.checkpoint(folder, step), { recursive: true, force: true });
  }
  return path;
}

export function engineStateFolder(folder: string, step: number): string {
  return join(layout.checkpoint(folder, step), "engine");
}

/** @throws RunError if the checkpoint of a step is not as it was written */
export function requireWhole(folder: string, step: number): void {
  const damage = damageOf(layout.checkpoint(folder, step), runChecksum(folder));
  if (damage === undefined) return;
  throw new RunError(layout.checkpoint(folder, step), `damaged (${damage})`, {
    expected: "a checkpoint that is as it was written",
    hint: `The run keeps those of the steps ${checkpointSteps(folder).join(", ")}.`,
  });
}

/**
 * Returns the step of the newest checkpoint that is as it was written. 0 if there is none at all.
 * @param warn is given a sentence about each newer one that is damaged
 * @throws RunError if all are damaged
 */
export function newestWhole(folder: string, warn: (message: string) => void): number {
  const steps = checkpointSteps(folder);
  const run = runChecksum(folder);
  let damage: string | undefined;
  for (const step of steps.toReversed()) {
    const found = damageOf(layout.checkpoint(folder, step), run);
    if (found === undefined) return step;
    damage ??= found;
    const older = steps.filter((other) => other < step).at(-1);
    if (older !== undefined) warn(`The checkpoint of step ${step} is damaged (${found}): continuing from that of step ${older}.`);
  }
  if (damage === undefined) return 0;
  throw new RunError(layout.checkpointFolder(folder), `damaged (${damage})`, {
    expected: "at least one checkpoint that is as it was written",
    hint: "No checkpoint of this run can be used. Start a new run with --out.",
  });
}

/** CRC-32 of the run.json that checkpoints belong to. Undefined where there is none. */
function runChecksum(folder: string): number | undefined {
  return existsSync(layout.run(folder)) ? crc32(readRunFile(layout.run(folder), largestRecord)) : undefined;
}
