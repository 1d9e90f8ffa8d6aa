import { randomUUID } from "node:crypto";
import { linkSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { readBounded } from "./bounded.ts";
import { makeFolder } from "./folder.ts";

/** The process that has a lock. */
export interface Holder {
  readonly pid: number;
  readonly host: string;
}

export interface Lock {
  release(): void;
}

/** The holder touches the file at this rate. On another machine this is the only sign that it lives. */
const heartbeatMs = 5000;
const silenceMs = 5 * 60_000;
/** Bytes of a lock, at most. */
const longestLock = 2 ** 12;
const pollMs = 100;

/**
 * Takes a lock file, which names its holder. The lock of a process that has ended is taken over: on this machine at once, of another one
 * after five minutes without a sign of life. It is released when the process exits.
 * @param link makes a hard link
 * @returns the lock, or the process that holds it
 */
export function takeLock(file: string, link: Link = linkSync): { readonly lock: Lock } | { readonly holder: Holder } {
  makeFolder(dirname(file));
  for (;;) {
    const text = identity();
    if (create(file, text, link)) return { lock: held(file, text) };
    const found = read(file);
    if (found === undefined) continue; // released since
    if (!isAbandoned(found)) return { holder: found };
    removeAbandoned(file, found.text, link);
  }
}

/**
 * Runs while no other process runs under the same lock file, and waits for it.
 * @param onWait called once if another process holds it
 */
export async function withLock<T>(file: string, onWait: () => void, run: () => Promise<T>): Promise<T> {
  for (let waited = false; ; waited = true) {
    const taken = takeLock(file);
    if ("lock" in taken) {
      try {
        return await run();
      } finally {
        taken.lock.release();
      }
    }
    if (!waited) onWait();
    await sleep(pollMs);
  }
}

interface Found extends Holder {
  readonly text: string;
  /** When its process started, in ticks since the machine did. It distinguishes a process from a later one with its number. */
  readonly started: string | undefined;
  readonly silentMs: number;
}

/** A text that no other lock has. */
function identity(): string {
  return [process.pid, hostname(), startOf(process.pid) ?? "-", randomUUID()].join(" ");
}

type Link = (from: string, to: string) => void;

/** Creates a file with its content in one step. @returns false if it is there already */
function create(file: string, text: string, link: Link): boolean {
  const draft = `${file}.${process.pid}-${randomUUID()}`;
  try {
    writeFileSync(draft, text);
    link(draft, file);
    return true;
  } catch (error) {
    const code = codeOf(error);
    if (code === "EEXIST") return false;
    if (code !== "EPERM" && code !== "ENOTSUP" && code !== "ENOSYS") throw error;
    return createWithoutLinks(file, text);
  } finally {
    rmSync(draft, { force: true });
  }
}

/** For file systems without hard links: a kill between the two steps leaves an empty file, which is abandoned soon. */
function createWithoutLinks(file: string, text: string): boolean {
  try {
    writeFileSync(file, text, { flag: "wx" });
    return true;
  } catch (error) {
    if (codeOf(error) === "EEXIST") return false;
    throw error;
  }
}

function held(file: string, text: string): Lock {
  const heartbeat = setInterval(() => {
    const now = new Date();
    try {
      utimesSync(file, now, now);
    } catch {
      // The folder was removed: there is nothing to protect.
    }
  }, heartbeatMs);
  heartbeat.unref();
  const release = () => {
    clearInterval(heartbeat);
    process.off("exit", release);
    if (read(file)?.text === text) rmSync(file, { force: true });
  };
  process.on("exit", release);
  return { release };
}

function read(file: string): Found | undefined {
  try {
    const text = readBounded(file, longestLock, "refuse").toString("utf8");
    const [pid, host = "", started] = text.split(" ");
    const silentMs = Date.now() - statSync(file).mtimeMs;
    return { text, pid: Number(pid), host, started: started === "-" ? undefined : started, silentMs };
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  }
}

function isAbandoned({ pid, host, started, silentMs }: Found): boolean {
  if (!Number.isInteger(pid) || pid <= 0) return silentMs > heartbeatMs; // no lock of this program, or an empty file
  if (host !== hostname()) return silentMs > silenceMs;
  return !isAlive(pid) || (started !== undefined && startOf(pid) !== started);
}

/**
 * Removes an abandoned lock. Only one process at a time does so, and only while the file is the one that it looked at: otherwise two that see
 * the same dead holder could remove each other's new lock.
 */
function removeAbandoned(file: string, text: string, link: Link): void {
  const claim = `${file}.takeover`;
  if (create(claim, identity(), link)) {
    if (read(file)?.text === text) rmSync(file, { force: true });
    rmSync(claim, { force: true });
    return;
  }
  const claimant = read(claim);
  if (claimant !== undefined && isAbandoned(claimant)) rmSync(claim, { force: true });
}

/** A process that has ended but was not waited for by its parent does not count as alive. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0); // asks whether it is there, and does nothing to it
    return statOf(pid)?.[0] !== "Z";
  } catch (error) {
    return codeOf(error) === "EPERM";
  }
}

function startOf(pid: number): string | undefined {
  return statOf(pid)?.[19];
}

/** Returns what Linux knows of a process, from its state on (proc_pid_stat(5)). undefined on other systems. */
function statOf(pid: number): string[] | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "utf8");
    return text.slice(text.lastIndexOf(")") + 2).split(" ");
  } catch {
    return undefined;
  }
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && "code" in error ? error.code : undefined;
}
