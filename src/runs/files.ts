import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { RunError } from "../core/errors.ts";

/**
 * Files that are whole or absent: written under another name, flushed, renamed. A kill at any moment leaves the old file
 * or the new one; what fails is removed. Names that start with "." are unfinished and never read.
 * @throws RunError where the disk is full or the folder cannot be written
 */
export function writeFileAtomic(path: string, data: string | Uint8Array): void {
  const unfinished = unfinishedName(path);
  try {
    mkdirSync(dirname(path), { recursive: true });
    writeFlushed(unfinished, "w", data);
    renameSync(unfinished, path);
    flush(dirname(path));
  } catch (error) {
    if (existsSync(unfinished)) rmSync(unfinished);
    throw systemError(path, error);
  }
}

/** The same for a folder, whose files `fill` writes into the folder that it is given. A folder of that name is replaced. */
export async function writeFolderAtomic(path: string, fill: (folder: string) => Promise<void>): Promise<void> {
  const unfinished = unfinishedName(path);
  try {
    rmSync(unfinished, { recursive: true, force: true });
    mkdirSync(unfinished, { recursive: true });
    await fill(unfinished);
    for (const entry of readdirSync(unfinished, { recursive: true, withFileTypes: true }))
      if (entry.isFile()) flush(join(entry.parentPath, entry.name));
    rmSync(path, { recursive: true, force: true });
    renameSync(unfinished, path);
    flush(dirname(path));
  } catch (error) {
    rmSync(unfinished, { recursive: true, force: true });
    throw systemError(path, error);
  }
}

/** Adds a line to a file, whole or not at all; only a kill can leave half a line at the end, which readers leave out. */
export function appendLine(path: string, line: string): void {
  const size = existsSync(path) ? statSync(path).size : 0;
  try {
    writeFlushed(path, "a", `${line}\n`);
  } catch (error) {
    if (existsSync(path) && statSync(path).size > size) truncateSync(path, size);
    throw systemError(path, error);
  }
}

function writeFlushed(path: string, flag: "w" | "a", data: string | Uint8Array): void {
  const file = openSync(path, flag);
  try {
    const bytes = typeof data === "string" ? Buffer.from(data) : data;
    for (let written = 0; written < bytes.length; ) written += writeSync(file, bytes, written);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

function flush(path: string): void {
  const handle = openSync(path, "r");
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}

function unfinishedName(path: string): string {
  return join(dirname(path), `.${basename(path)}.unfinished`);
}

/** Errors of the file system in a reader's words; others, such as an engine's, as they are. */
export function systemError(path: string, error: unknown): unknown {
  const code = systemCode(error);
  if (code === "ENOSPC" || code === "EDQUOT")
    return new RunError(path, "not written", {
      expected: "space on the disk",
      hint: "The disk is full. Free some space, then continue with --resume: everything up to the last checkpoint is kept.",
      cause: error,
    });
  if (["EACCES", "EPERM", "EROFS", "ENOTDIR", "EEXIST"].includes(String(code)))
    return new RunError(path, `not written (${code})`, {
      expected: "a folder that can be written",
      hint: "Choose another folder with --out.",
      cause: error,
    });
  return error;
}

/** Of the error or of what caused it: an engine wraps what its own files meet. */
function systemCode(error: unknown): unknown {
  if (!(error instanceof Error)) return undefined;
  return "code" in error ? error.code : systemCode(error.cause);
}
