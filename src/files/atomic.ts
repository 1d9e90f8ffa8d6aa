import { randomUUID } from "node:crypto";
import {
  closeSync,
  constants,
  existsSync,
  fsyncSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeSync,
} from "node:fs";
import { open, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { makeFolder } from "./folder.ts";
import { NotAFile, openRegular } from "./regular.ts";

/**
 * Files that are whole or absent: written under another name, flushed, renamed. A kill at any moment leaves the old file
 * or the new one; what fails is removed. Names that start with "." are unfinished and never read. Whatever has such a name is removed first: a link
 * would lead the writing elsewhere. All throw the system's errors.
 */
export function writeFileAtomic(path: string, data: string | Uint8Array): void {
  const unfinished = unfinishedName(path);
  try {
    makeFolder(dirname(path));
    rmSync(unfinished, { recursive: true, force: true });
    writeFlushed(openSync(unfinished, "wx"), data);
    renameSync(unfinished, path);
    flushFolder(dirname(path));
  } catch (error) {
    rmSync(unfinished, { force: true });
    throw error;
  }
}

/**
 * Writes a file as `writeFileAtomic` does, on the thread pool.
 * @param chunks created one by one while they are written, so that a large file is never in memory twice
 */
export async function writeChunksAtomic(path: string, chunks: Iterable<Uint8Array>): Promise<void> {
  const unfinished = unfinishedName(path);
  try {
    makeFolder(dirname(path));
    await rm(unfinished, { recursive: true, force: true });
    const file = await open(unfinished, "wx");
    try {
      for (const chunk of chunks) await file.writeFile(chunk);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(unfinished, path);
  } catch (error) {
    await rm(unfinished, { force: true }).catch(() => {});
    throw error;
  }
}

type Fill = (folder: string) => Promise<void>;

/** Writes a folder, whose files `fill` writes into the folder that it is given. A folder of that name is replaced. */
export async function writeFolderAtomic(path: string, fill: Fill): Promise<void> {
  await writeFolder(unfinishedName(path), fill, (unfinished) => {
    rmSync(path, { recursive: true, force: true });
    renameSync(unfinished, path);
    flushFolder(dirname(path));
  });
}

/** Writes a folder that several programs may write at once, each the same. One of them is kept: none takes another's files from it. */
export async function writeSharedFolder(path: string, fill: Fill): Promise<void> {
  await writeFolder(unfinishedName(`${path}.${randomUUID()}`), fill, (unfinished) => {
    try {
      renameSync(unfinished, path);
    } catch (error) {
      if (!existsSync(path)) throw error;
      rmSync(unfinished, { recursive: true, force: true });
    }
    flushFolder(dirname(path));
  });
}

async function writeFolder(unfinished: string, fill: Fill, finish: (unfinished: string) => void): Promise<void> {
  try {
    rmSync(unfinished, { recursive: true, force: true });
    makeFolder(unfinished);
    await fill(unfinished);
    for (const entry of readdirSync(unfinished, { recursive: true, withFileTypes: true }))
      if (entry.isFile()) flush(join(entry.parentPath, entry.name));
    finish(unfinished);
  } catch (error) {
    rmSync(unfinished, { recursive: true, force: true });
    throw error;
  }
}

/** Adds a line to a file that is no link, whole or not at all. Only a kill can leave half a line at the end, which readers leave out. */
export function appendLine(path: string, line: string): void {
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  try {
    writeFlushed(openRegular(path, { flags: appending, links: "refuse" }).handle, `${line}\n`);
  } catch (error) {
    if (!(error instanceof NotAFile) && existsSync(path) && statSync(path).size > size) truncateSync(path, size);
    throw error;
  }
}

/** True for names of files and folders that a kill left half written. */
export function isUnfinished(name: string): boolean {
  return name.startsWith(".") && name.endsWith(".unfinished");
}

const appending = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT;

function writeFlushed(file: number, data: string | Uint8Array): void {
  try {
    const bytes = typeof data === "string" ? Buffer.from(data) : data;
    for (let written = 0; written < bytes.length; ) written += writeSync(file, bytes, written);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/** Windows flushes only files that are open for writing. */
function flush(path: string): void {
  const handle = openSync(path, process.platform === "win32" ? "r+" : "r");
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}

/** Makes a rename in a folder last. Windows flushes no folders, and some network file systems do not: there the file system decides when. */
function flushFolder(path: string): void {
  let handle: number | undefined;
  try {
    handle = openSync(path, "r");
    fsyncSync(handle);
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "";
    if (!["EPERM", "EACCES", "EISDIR", "EINVAL", "ENOTSUP", "EBADF"].includes(code)) throw error;
  } finally {
    if (handle !== undefined) closeSync(handle);
  }
}

function unfinishedName(path: string): string {
  return join(dirname(path), `.${basename(path)}.unfinished`);
}
