import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { Worker } from "node:worker_threads";

/** What may be in the place of a file. */
export const kinds = ["device", "pipe", "folder", "link"] as const;
type Kind = (typeof kinds)[number];

/** Puts something else into the place of a file while `work` runs. A link leads to the file itself, elsewhere. */
export async function withSpecial<T>(path: string, kind: Kind, work: () => T | Promise<T>): Promise<T> {
  const aside = join(tmpdir(), `aside-${process.pid}`);
  renameSync(path, aside);
  if (kind === "device") symlinkSync("/dev/zero", path);
  if (kind === "pipe") execFileSync("mkfifo", [path]);
  if (kind === "folder") mkdirSync(path);
  if (kind === "link") symlinkSync(aside, path);
  const freed = kind === "pipe" ? freeReaders(path) : undefined;
  const [outcome] = await Promise.allSettled([Promise.resolve().then(work)]);
  const waited = (await freed?.()) === true;
  rmSync(path, { recursive: true, force: true });
  renameSync(aside, path);
  if (waited) throw new Error(`${path}: a reader waited for the pipe`);
  if (outcome.status === "rejected") throw outcome.reason;
  return outcome.value;
}

/** Lets a reader that waits for a pipe go, so that a test fails instead of never ending. @returns a function that says whether one waited */
function freeReaders(path: string): () => Promise<boolean> {
  const waited = new Int32Array(new SharedArrayBuffer(4));
  const source = `
    const { closeSync, constants, openSync } = require("node:fs");
    const { workerData: { path, waited } } = require("node:worker_threads");
    setTimeout(() => setInterval(() => {
      try { closeSync(openSync(path, constants.O_WRONLY | constants.O_NONBLOCK)); waited[0] = 1; } catch {}
    }, 50), 2000);`;
  const worker = new Worker(source, { eval: true, workerData: { path, waited } });
  return async () => {
    await worker.terminate();
    return waited[0] === 1;
  };
}

/** Files below a folder, relative to it. */
export function filesOf(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
    .sort();
}

/** A file of the user's that a link of a run leads to: nothing may change it. */
export function bait(folder: string): string {
  const path = join(dirname(folder), "bait.txt");
  writeFileSync(path, "as it was\n");
  return path;
}
