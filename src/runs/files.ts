import { lstatSync } from "node:fs";
import { RunError, reasonOf } from "../core/errors.ts";
import * as atomic from "../files/atomic.ts";
import { readBounded } from "../files/bounded.ts";
import { isSignedHere, signatureOf } from "../files/own-key.ts";
import { NotAFile } from "../files/regular.ts";
import { sealed, unsealed } from "./seal.ts";

/** Files of a run: as files/atomic.ts writes them, with errors in a reader's words. */

/** The largest texts that Node holds have about this many bytes. */
const largestFile = 2 ** 29;
/** The largest record of one object. */
export const largestRecord = 64 * 2 ** 20;

/**
 * Reads a file of a run, whoever made the run: a regular file, no link, of bounded size.
 * @throws RunError that says what it is instead
 */
export function readRunFile(path: string, maxBytes = largestFile): Buffer {
  try {
    return readBounded(path, maxBytes, "refuse");
  } catch (cause) {
    throw new RunError(path, `unreadable (${reasonOf(cause)})`, { expected: "a file, as a run has it there", cause });
  }
}

/** A link instead of a run's folder would lead what is written, and removed, elsewhere. @throws RunError */
export function requireOwnFolder(path: string): void {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found !== undefined && !found.isDirectory())
    throw systemError(path, new NotAFile(`${path} is a ${found.isSymbolicLink() ? "link" : "file"}, not a folder`));
}

/** Does what touches a path. @throws RunError if the disk is full or the folder cannot be written; what it throws otherwise */
export function explained<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw systemError(path, error);
  }
}

/** @throws RunError as `explained` */
export function writeFileAtomic(path: string, data: string | Uint8Array): void {
  explained(path, () => atomic.writeFileAtomic(path, data));
}

/** The same on the thread pool. @throws RunError as `writeFileAtomic` */
export async function writeFileLater(path: string, data: Uint8Array): Promise<void> {
  await atomic.writeChunksAtomic(path, [data]).catch((error: unknown) => {
    throw systemError(path, error);
  });
}

/** A folder, whose files `fill` writes into the folder that it is given. @throws RunError as `writeFileAtomic`, and what `fill` throws */
export async function writeFolderAtomic(path: string, fill: (folder: string) => Promise<void>): Promise<void> {
  await atomic.writeFolderAtomic(path, fill).catch((error: unknown) => {
    throw systemError(path, error);
  });
}

/** Adds a line to a file, whole or not at all. @throws RunError as `writeFileAtomic` */
export function appendLine(path: string, line: string): void {
  explained(path, () => atomic.appendLine(path, line));
}

/** Writes a record as a whole file, with its checksum. @throws RunError as `writeFileAtomic` */
export function writeRecord(path: string, record: object): void {
  writeFileAtomic(path, `${sealed(JSON.stringify(record, null, 2))}\n`);
}

/** Writes a record by which this machine knows that it made it: its settings may act (sdk/trust.ts). @throws RunError as `writeFileAtomic` */
export function writeOwnRecord(path: string, record: object): void {
  writeRecord(path, { ...record, origin: signatureOf(path, record) });
}

/** True if this user wrote a record, on this machine. */
export function isOwnRecord(path: string): boolean {
  const { crc32: _, ...record } = unsealed(readRunFile(path, largestRecord).toString("utf8")) as Record<string, unknown>;
  return isSignedHere(path, record);
}

/** Adds a record to a file of lines, with its checksum. @throws RunError as `writeFileAtomic` */
export function appendRecord(path: string, record: object): void {
  appendLine(path, sealed(JSON.stringify(record)));
}

/** Returns errors of the file system in a reader's words; others, such as an engine's, as they are. */
export function systemError(path: string, error: unknown): unknown {
  const code = systemCode(error);
  if (error instanceof NotAFile)
    return new RunError(path, `not written (${error.message})`, {
      expected: "files and folders of a run, and no links",
      hint: "Whoever made the run could lead a link anywhere. Remove it, or copy what it leads to.",
      cause: error,
    });
  if (code === "ENOSPC" || code === "EDQUOT")
    return new RunError(path, "not written", {
      expected: "space on the disk",
      hint: "The disk is full. Free some space, then continue with --resume: everything up to the last checkpoint is kept.",
      cause: error,
    });
  const why = reasons[String(code)];
  if (why !== undefined)
    return new RunError(path, `not written (${code}: ${why})`, {
      expected: "a folder that can be written",
      hint: "Choose another folder with --out.",
      cause: error,
    });
  return error;
}

const reasons: Readonly<Record<string, string>> = {
  EACCES: "this user may not write there",
  EPERM: "this user may not write there",
  EROFS: "the file system is read-only",
  ENOTDIR: "a part of the path is a file",
  EEXIST: "a file has its name",
  EISDIR: "a folder has its name",
  ENOENT: "there can be no folder",
  ENAMETOOLONG: "the name is too long",
  ELOOP: "links that lead in a circle",
};

/** Returns the code of the error or of what caused it: an engine wraps the errors of its files. */
function systemCode(error: unknown): unknown {
  if (!(error instanceof Error)) return undefined;
  return "code" in error ? error.code : systemCode(error.cause);
}
