import { ModelError, reasonOf } from "../../../src/core/errors.ts";
import { writeChunksAtomic } from "../../../src/files/atomic.ts";

/**
 * Writes a file of a model, which appears whole or not at all.
 * @param chunks created one by one while they are written
 * @throws ModelError if the disk is full or the folder cannot be written
 */
export async function writeAtomically(file: string, chunks: Iterable<Uint8Array>): Promise<void> {
  try {
    await writeChunksAtomic(file, chunks);
  } catch (cause) {
    const reason = reasonOf(cause);
    throw new ModelError(file, `not written (${reason})`, { hint: "Free disk space or choose another folder.", cause });
  }
}
