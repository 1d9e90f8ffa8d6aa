import { copyFileSync, mkdirSync, readdirSync, renameSync, rmSync, statfsSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { EngineError, RetrogradeError } from "../../../../src/core/errors.ts";
import { makeFolder } from "../../../../src/files/folder.ts";
import { withLock } from "../../../../src/files/lock.ts";
import { downloadWheels, lastWords, pythons, requireDigest, unpackMembers, wheelFile } from "../../../../src/hub/wheels.ts";
import type { PackagedRuntime } from "../native/packaged.ts";
import { cudaFolder, holds, installedCuda, runtimeFile } from "./installed.ts";
import { type CudaWheel, cudaRuntime, cudaWheels } from "./packages.ts";

export interface Installation {
  /** The runtime that the provider is for. */
  readonly runtime: PackagedRuntime;
  readonly folder?: string;
  readonly wheels?: readonly CudaWheel[];
  readonly onEvent?: (event: InstallEvent) => void;
}

export type InstallEvent =
  | { readonly type: "waiting" }
  /** Bytes of all wheels that came. */
  | { readonly type: "progress"; readonly wheel: string; readonly done: number; readonly total: number }
  | { readonly type: "unpacked"; readonly wheel: string };

/** The parts of a machine that an installation needs: Python's programs, and a disk. */
export interface Machine {
  readonly downloadWheels: typeof downloadWheels;
  readonly unpackMembers: typeof unpackMembers;
  readonly freeBytes: (folder: string) => number;
}

const thisMachine: Machine = { downloadWheels, unpackMembers, freeBytes };

/** Bytes that are free for this user where a folder is. */
export function freeBytes(folder: string): number {
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize;
}

/** An hour for the largest wheel: 1 Mbit/s. */
const timeoutMs = 3_600_000;
const pollMs = 300;

/** The system as far as the libraries depend on it. @param glibc its version, undefined where there is another C library */
export interface System {
  readonly platform: string;
  readonly arch: string;
  readonly glibc: string | undefined;
}

export function thisSystem(): System {
  const { header } = process.report.getReport() as { readonly header?: { readonly glibcVersionRuntime?: string } };
  return { platform: process.platform, arch: process.arch, glibc: header?.glibcVersionRuntime };
}

/** @throws EngineError for a system that there are no such libraries for, or another version of ONNX Runtime */
export function requireCudaSystem({ platform, arch, glibc }: System, { version }: Pick<PackagedRuntime, "version">): void {
  const [major = 0, minor = 0] = (glibc ?? "").split(".").map(Number);
  if (platform !== "linux" || arch !== "x64" || major < 2 || (major === 2 && minor < 28))
    throw new EngineError("system", `${platform} ${arch}${platform === "linux" ? `, glibc ${glibc ?? "not there"}` : ""}`, {
      expected: "linux x64 with glibc 2.28 or newer, which the CUDA provider is built for",
      hint: 'device: "webgpu" computes on any GPU with a graphics driver.',
    });
  if (version !== cudaRuntime)
    throw new EngineError("onnxruntime-node", version, {
      expected: `${cudaRuntime}, the version of the CUDA provider that this package knows`,
      hint: `npm install --ignore-scripts onnxruntime-node@${cudaRuntime}, or a newer retrograde-rl.`,
    });
}

/** Bytes that cross the network, and those that are kept. */
export function installationBytes({ runtime, wheels = cudaWheels }: Installation) {
  const kept = wheels.reduce((sum, wheel) => sum + unpackedBytes(wheel), statSync(runtime.file).size);
  return { download: wheels.reduce((sum, { bytes }) => sum + bytes, 0), kept };
}

/**
 * Downloads CUDA's libraries of ONNX Runtime from the Python registry, verifies and unpacks them. The folder appears whole or not at all; wheels that
 * an interrupted installation had unpacked are not fetched again.
 * @returns the folder
 * @throws EngineError where there is no network, no pip or no room, or what came is not what was pinned
 */
export async function installCuda(installation: Installation, machine = thisMachine): Promise<string> {
  const { runtime, folder = cudaFolder(), wheels = cudaWheels, onEvent = () => {} } = installation;
  makeFolder(dirname(folder));
  return withLock(
    `${folder}.lock`,
    () => onEvent({ type: "waiting" }),
    async () => {
      if (installedCuda(runtime, { folder, wheels }) !== undefined) return folder;
      const unfinished = `${folder}.incomplete`;
      mkdirSync(unfinished, { recursive: true });
      const missing = wheels.filter((wheel) => !holds(unfinished, wheel));
      requireRoom(missing, unfinished, machine.freeBytes(unfinished));
      const total = wheels.reduce((sum, { bytes }) => sum + bytes, 0);
      let done = wheels.filter((wheel) => !missing.includes(wheel)).reduce((sum, { bytes }) => sum + bytes, 0);
      for (const wheel of missing) {
        const onBytes = (bytes: number) => onEvent({ type: "progress", wheel: wheel.name, done: done + bytes, total });
        await fetchWheel(wheel, unfinished, onBytes, machine);
        done += wheel.bytes;
        onEvent({ type: "unpacked", wheel: wheel.name });
      }
      copyFileSync(runtime.file, join(unfinished, runtimeFile));
      rmSync(folder, { recursive: true, force: true });
      renameSync(unfinished, folder);
      return folder;
    },
  );
}

/** Downloads, verifies and unpacks a wheel, which is removed then. */
async function fetchWheel(wheel: CudaWheel, folder: string, onBytes: (bytes: number) => void, machine: Machine): Promise<void> {
  const work = join(folder, ".wheel");
  rmSync(work, { recursive: true, force: true }); // of an interrupted installation
  const unpacked = join(work, "unpacked");
  mkdirSync(unpacked, { recursive: true });
  // pip collects a wheel in its folder for temporary files: it is seen growing there, and removed with it.
  const env = { ...process.env, TMPDIR: work, PIP_NO_CACHE_DIR: "1", PIP_DISABLE_PIP_VERSION_CHECK: "1" };
  const watch = setInterval(() => onBytes(Math.min(wheel.bytes, largestFile(work))), pollMs);
  try {
    const python = await withPython((python) => machine.downloadWheels(python, [wheel], work, { env, timeoutMs }));
    const file = await wheelFile(wheel, work);
    await requireDigest(file, wheel.sha256);
    const members = Object.keys(wheel.libraries).map((name) => `${wheel.folder}/${name}`);
    await machine.unpackMembers(python, file, members, unpacked);
    if (!holds(unpacked, wheel))
      throw new EngineError(`libraries of ${wheel.name}`, "of other sizes", { expected: "those of the table" });
    for (const name of Object.keys(wheel.libraries)) renameSync(join(unpacked, name), join(folder, name));
  } catch (cause) {
    throw cause instanceof RetrogradeError ? cause : installationError(wheel, cause);
  } finally {
    clearInterval(watch);
    rmSync(work, { recursive: true, force: true });
  }
}

/** @returns the first Python that has pip */
async function withPython(download: (python: string) => Promise<void>): Promise<string> {
  let absent: unknown;
  for (const python of pythons)
    try {
      await download(python);
      return python;
    } catch (cause) {
      if (!isNoPip(cause)) throw cause;
      absent = cause;
    }
  throw absent;
}

function isNoPip(cause: unknown): boolean {
  return /ENOENT|No module named pip/.test(lastWords(cause));
}

const unreachable =
  /Failed to establish|NewConnection|Network is unreachable|resolution|ProxyError|timed? ?out|ConnectTimeout|ETIMEDOUT/i;

/** Why a wheel was not installed, by what pip, Python or the system said. */
export function installationError({ name, version }: Pick<CudaWheel, "name" | "version">, cause: unknown): EngineError {
  const said = lastWords(cause);
  const subject = `${name} ${version}`;
  if (isNoPip(cause))
    return new EngineError("pip", undefined, {
      expected: "Python with pip, which downloads the libraries; no Python runs later",
      hint: "On Debian or Ubuntu: apt-get install python3-pip.",
      cause,
    });
  if (/No space left|ENOSPC|Disk quota|EDQUOT/i.test(said))
    return new EngineError(subject, "not written: the disk is full", {
      hint: "Free some space, or set XDG_CACHE_HOME to a folder elsewhere; then install again: what came is kept.",
      cause,
    });
  if (/DO NOT MATCH THE HASHES/.test(said))
    return new EngineError(`SHA-256 of ${subject}`, "another than this package has pinned", {
      expected: "the same file as everywhere",
      hint: "The registry, or something between, has changed it. Nothing of it was unpacked.",
      cause,
    });
  if (unreachable.test(said))
    return new EngineError("the Python registry", "not reached", {
      expected: "a connection",
      hint: "Connect to the network, or set PIP_INDEX_URL, or PIP_FIND_LINKS to a folder with the wheels; then install again: what came is kept.",
      cause,
    });
  const last = said.split("\n").filter(Boolean).slice(-1).join();
  return new EngineError(subject, "not installed", { expected: "pip to download it", hint: `pip said: ${last}`, cause });
}

/** A wheel lies there twice, as pip copies it, before it is unpacked. @throws EngineError where the disk has less room */
function requireRoom(missing: readonly CudaWheel[], folder: string, free: number): void {
  const unpacked = missing.reduce((sum, wheel) => sum + unpackedBytes(wheel), 0);
  const needed = unpacked + 2 * Math.max(0, ...missing.map(({ bytes }) => bytes));
  if (needed <= free) return;
  throw new EngineError(`free space in ${dirname(folder)}`, gigabytes(free), {
    expected: `${gigabytes(needed)} while it is installed`,
    hint: "Free some space, or set XDG_CACHE_HOME to a folder elsewhere.",
  });
}

export function gigabytes(bytes: number): string {
  return `${(bytes / 1e9).toFixed(1)} GB`;
}

function unpackedBytes({ libraries }: CudaWheel): number {
  return Object.values(libraries).reduce((sum, bytes) => sum + bytes, 0);
}

function largestFile(folder: string): number {
  try {
    const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
    return Math.max(0, ...files.map((entry) => statSync(join(entry.parentPath, entry.name)).size));
  } catch {
    return 0; // it is not there yet, or pip has just moved it
  }
}
