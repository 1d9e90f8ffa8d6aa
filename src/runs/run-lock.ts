import { join } from "node:path";
import { RunError } from "../core/errors.ts";
import { type Lock, takeLock } from "../files/lock.ts";
import { explained } from "./files.ts";

/**
 * Takes a folder for this process alone: nobody else writes into it until the lock is released.
 * @throws RunError naming the process that works on it, or if the disk is full or the folder cannot be written
 */
export function lockRun(folder: string): Lock {
  const file = join(folder, ".lock");
  const taken = explained(folder, () => takeLock(file));
  if ("lock" in taken) return taken.lock;
  const { pid, host } = taken.holder;
  throw new RunError(folder, `in use by process ${pid} on ${host}`, {
    expected: "a folder that no other process writes into",
    hint: `Wait until that process has ended, or choose another folder with --out. If it no longer exists, delete ${file}.`,
  });
}
