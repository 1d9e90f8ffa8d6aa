import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { EnvError } from "../../core/errors.ts";
import { checksums, publicSource, verifyBytes } from "./files.ts";

export interface DataDownload {
  readonly folder: string;
  /** The address that the files' names follow. Default the public repository at the pinned revision. */
  readonly source?: string;
  readonly onFile?: (name: string, outcome: "downloaded" | "was there") => void;
}

/** Waits before the next attempts at a file. */
const pausesMs = [300, 1000, 3000];
const answerTimeoutMs = 30_000;
/** No file is larger than a tenth of it. */
const mostBytes = 20_000_000;

/**
 * Downloads the files of BFCL's multi-turn categories and verifies them. Files that are there and right are kept; a file appears whole and
 * verified, or not at all.
 * @throws EnvError if the source does not answer, or has another version
 */
export async function downloadData({ folder, source = publicSource, onFile = () => {} }: DataDownload): Promise<void> {
  for (const name of Object.keys(checksums)) {
    const path = join(folder, name);
    if (isRight(path, name)) {
      onFile(name, "was there");
      continue;
    }
    const url = `${source.replace(/\/+$/, "")}/${name}`;
    const bytes = await fetchWithPatience(url);
    verifyBytes(url, name, bytes);
    mkdirSync(dirname(path), { recursive: true });
    const partial = `${path}.${process.pid}.incomplete`;
    writeFileSync(partial, bytes);
    renameSync(partial, path);
    onFile(name, "downloaded");
  }
}

function isRight(path: string, name: string): boolean {
  try {
    verifyBytes(path, name, readFileSync(path));
    return true;
  } catch {
    return false;
  }
}

async function fetchWithPatience(url: string): Promise<Uint8Array> {
  for (let attempt = 0; ; attempt++) {
    try {
      return await fetchBytes(url);
    } catch (error) {
      if (attempt >= pausesMs.length || (error instanceof EnvError && !isPassing(error))) throw error;
      await sleep(pausesMs[attempt]);
    }
  }
}

/** Answers that another attempt may change. */
function isPassing(error: EnvError): boolean {
  return typeof error.value === "number" && (error.value === 429 || error.value >= 500);
}

async function fetchBytes(url: string): Promise<Uint8Array> {
  let response: Response;
  try {
    response = await fetch(url, { signal: AbortSignal.timeout(answerTimeoutMs) });
  } catch (cause) {
    throw new EnvError(url, 503, {
      expected: "an answer",
      hint: "Check the network, or name another source with --from.",
      cause,
    });
  }
  if (!response.ok) {
    await response.body?.cancel();
    throw new EnvError(`status of ${url}`, response.status, { expected: [200], hint: "--from names another source." });
  }
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of response.body ?? []) {
    size += part.length;
    if (size > mostBytes) throw new EnvError(`size of ${url}`, size, { expected: `at most ${mostBytes} bytes` });
    parts.push(part);
  }
  return Buffer.concat(parts);
}
