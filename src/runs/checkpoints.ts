import { closeSync, existsSync, mkdirSync, openSync, readdirSync, readFileSync, readSync, rmSync } from "node:fs";
import { join, relative } from "node:path";
import { crc32 } from "node:zlib";
import { z } from "zod";
import { RunError } from "../core/errors.ts";
import { writeFileAtomic, writeFolderAtomic } from "./files.ts";
import { layout } from "./layout.ts";
import { checkpointSteps } from "./read.ts";
import type { Progress } from "./records.ts";
import { schemaVersion, versionSchema } from "./schema.ts";

/** An engine's states, for checkpoints. */
export interface StateKeeper {
  /** Writes the state, or a reference to it, into a folder. */
  saveState(folder: string): Promise<void>;
  /** Deletes what the state in a folder refers to outside of it. */
  dropState(folder: string): Promise<void>;
}

/**
 * `checksums.json` of a checkpoint: length and CRC-32 of each of its other files, by their paths. CRC-32 finds every single flipped bit and
 * every burst of up to 32, at the speed of the disk.
 */
const checksumsSchema = z.object({
  schema: versionSchema,
  files: z.record(z.string(), z.object({ bytes: z.int().min(0), crc32: z.int().min(0) })),
});
type Checksums = z.infer<typeof checksumsSchema>["files"];

const checksumsName = "checksums.json";

/** @param keep number of checkpoints that stay: the newest ones */
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
    writeFileAtomic(join(unfinished, "trainer.json"), json({ schema: schemaVersion, ...progress }));
    writeFileAtomic(join(unfinished, checksumsName), json({ schema: schemaVersion, files: checksumsOf(unfinished) }));
  });
  for (const step of checkpointSteps(folder).slice(0, -keep)) {
    await dropState(engineStateFolder(folder, step));
    rmSync(layout.checkpoint(folder, step), { recursive: true, force: true });
  }
  return path;
}

/** The folder in which a checkpoint's engine state lies. */
export function engineStateFolder(folder: string, step: number): string {
  return join(layout.checkpoint(folder, step), "engine");
}

/**
 * Returns the step of the newest checkpoint that is as it was written. 0 if there is none at all.
 * @param warn is given a sentence about each newer one that is damaged
 * @throws RunError if all are damaged
 */
export function newestWhole(folder: string, warn: (message: string) => void): number {
  const steps = checkpointSteps(folder);
  let damage: string | undefined;
  for (const step of steps.toReversed()) {
    const found = damageOf(layout.checkpoint(folder, step));
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

/** Returns what differs from what was written. undefined if nothing does, or if a version before checksums wrote the checkpoint. */
function damageOf(checkpoint: string): string | undefined {
  const path = join(checkpoint, checksumsName);
  if (!existsSync(path)) return existsSync(join(checkpoint, "trainer.json")) ? undefined : "trainer.json is missing";
  try {
    const expected = checksumsSchema.parse(JSON.parse(readFileSync(path, "utf8"))).files;
    const found = checksumsOf(checkpoint);
    for (const [name, { bytes, crc32: sum }] of Object.entries(expected)) {
      if (found[name] === undefined) return `${name} is missing`;
      if (found[name].bytes !== bytes) return `${name} has ${found[name].bytes} bytes of ${bytes}`;
      if (found[name].crc32 !== sum) return `${name} has another checksum than when it was written`;
    }
    return undefined;
  } catch {
    return `${checksumsName} is unreadable`;
  }
}

function checksumsOf(checkpoint: string): Checksums {
  return Object.fromEntries(
    readdirSync(checkpoint, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && entry.name !== checksumsName)
      .map((entry) => join(entry.parentPath, entry.name))
      .map((path) => [relative(checkpoint, path).replaceAll("\\", "/"), checksumOf(path)] as const)
      .sort(([a], [b]) => (a < b ? -1 : 1)),
  );
}

function checksumOf(path: string): Checksums[string] {
  const file = openSync(path, "r");
  try {
    const chunk = Buffer.allocUnsafe(4 * 2 ** 20);
    let [bytes, sum] = [0, 0];
    for (let read = readSync(file, chunk); read > 0; read = readSync(file, chunk)) {
      bytes += read;
      sum = crc32(chunk.subarray(0, read), sum);
    }
    return { bytes, crc32: sum };
  } finally {
    closeSync(file);
  }
}

function json(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}
