import { open, rename, rm } from "node:fs/promises";
import { ModelError } from "../../../core/errors.ts";

/**
 * Writes a file that appears whole or not at all: beside its final name first, then renamed. An old file stays until then.
 * @param chunks made one by one while they are written, so that a large file is never in memory twice
 * @throws ModelError if the disk is full or the folder cannot be written
 */
export async function writeAtomically(file: string, chunks: Iterable<Uint8Array>): Promise<void> {
  const temporary = `${file}.${process.pid}.tmp`;
  try {
    const handle = await open(temporary, "w");
    try {
      for (const chunk of chunks) await handle.writeFile(chunk);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(temporary, file);
  } catch (cause) {
    await rm(temporary, { force: true });
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new ModelError(file, `not written (${reason})`, { hint: "Free disk space or choose another folder.", cause });
  }
}
