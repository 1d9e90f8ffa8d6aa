import { closeSync, lstatSync, readdirSync, readSync } from "node:fs";
import { join, relative } from "node:path";
import { crc32 } from "node:zlib";
import { z } from "zod";
import { openRegular } from "../files/regular.ts";
import { largestRecord, readRunFile, writeFileAtomic } from "./files.ts";
import { schemaVersion, versionSchema } from "./schema.ts";

/**
 * `checksums.json` of a checkpoint or a trained model: length and CRC-32 of each of its other files, by their paths. CRC-32 finds every single
 * flipped bit and every burst of up to 32, at the speed of the disk.
 */
const checksumsSchema = z.object({
  schema: versionSchema,
  files: z.record(z.string(), z.object({ bytes: z.int().min(0), crc32: z.int().min(0) })),
  /** CRC-32 of the `run.json` that a checkpoint belongs to. */
  run: z.int().optional(),
});
type Checksums = z.infer<typeof checksumsSchema>;

export const checksumsName = "checksums.json";

/** Writes the checksums of a folder's files beside them. @param run CRC-32 of the `run.json` that they belong to */
export function writeChecksums(folder: string, run?: number): void {
  const content: Checksums = { schema: schemaVersion, files: checksumsOf(folder), run };
  writeFileAtomic(join(folder, checksumsName), `${JSON.stringify(content, null, 2)}\n`);
}

/**
 * Returns what differs from what was written, in words; undefined if nothing does.
 * @param run CRC-32 of the run.json that they should belong to
 */
export function damageOf(folder: string, run?: number): string | undefined {
  let expected: Checksums;
  try {
    expected = checksumsSchema.parse(JSON.parse(readRunFile(join(folder, checksumsName), largestRecord).toString("utf8")));
  } catch {
    return `${checksumsName} is unreadable`;
  }
  // Of a file of another size nothing is read: it could be of any.
  for (const [name, { bytes }] of Object.entries(expected.files)) {
    const size = lstatSync(join(folder, name), { throwIfNoEntry: false })?.size ?? bytes;
    if (size !== bytes) return `${name} has ${size} bytes of ${bytes}`;
  }
  const found = checksumsOf(folder);
  for (const [name, { crc32: sum }] of Object.entries(expected.files)) {
    const now = found[name];
    if (now === undefined) return `${name} is missing`;
    if (now.crc32 !== sum) return `${name} has another checksum than when it was written`;
  }
  return expected.run !== run ? "it was written under another run.json" : undefined;
}

function checksumsOf(folder: string): Checksums["files"] {
  return Object.fromEntries(
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && entry.name !== checksumsName)
      .map((entry) => join(entry.parentPath, entry.name))
      .map((path) => [relative(folder, path).replaceAll("\\", "/"), checksumOf(path)] as const)
      .sort(([a], [b]) => (a < b ? -1 : 1)),
  );
}

function checksumOf(path: string): Checksums["files"][string] {
  const { handle: file } = openRegular(path, { links: "refuse" });
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
