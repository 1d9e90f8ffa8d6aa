import { createHash, type Hash } from "node:crypto";
import { createReadStream } from "node:fs";
import { mkdir, open, rename, rm, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { ModelError } from "../core/errors.ts";
import { type RemoteFile, type RemoteFolder, readRemote } from "./client.ts";
import { isPassing, messageOf, Refused, Unreachable } from "./problems.ts";
import type { HubSettings } from "./settings.ts";

/** The waits before the next attempts. As many in a row may bring nothing; one that brought something resets the count. */
const pausesMs = [200, 500, 1000, 2000];

/** The number of times that a complete but wrong file is fetched again, since a cache on the way may have been cut off. */
const mismatchesAllowed = 1;

export interface Download extends Omit<RemoteFolder, "path"> {
  readonly file: RemoteFile;
  /** Where it appears, whole and verified; until then it grows beside it, with `.incomplete` at its name's end. */
  readonly to: string;
  /** Bytes that are there, what an earlier attempt left included. */
  readonly onBytes: (bytes: number) => void;
}

/**
 * Downloads one file, from where an earlier attempt stopped, and verifies its size and digest.
 * @throws Unreachable or Refused when attempts are used up; ModelError if it is not what the Hub promised, or cannot be written
 */
export async function downloadVerified(download: Download, settings: HubSettings): Promise<void> {
  const { file, to } = download;
  const partial = `${to}.incomplete`;
  await mkdir(dirname(to), { recursive: true }).catch(notWritten(partial));
  let inVain = 0;
  let mismatches = 0;
  for (;;) {
    const before = await sizeOf(partial);
    try {
      const digest = await complete(download, partial, settings);
      if (digest === file.digest.hex) return await rename(partial, to).catch(notWritten(to));
      await rm(partial, { force: true });
      if (++mismatches > mismatchesAllowed) throw corrupt(download, settings, digest);
    } catch (error) {
      if (error instanceof Refused && error.status === 416) await rm(partial, { force: true });
      else if (!isPassing(error)) throw error;
      inVain = (await sizeOf(partial)) > before ? 0 : inVain + 1;
      if (inVain > pausesMs.length) throw error;
      await sleep(pausesMs[Math.max(0, inVain - 1)]);
    }
  }
}

/** Appends what is missing. @returns the digest of the whole */
async function complete(download: Download, partial: string, settings: HubSettings): Promise<string> {
  const { file, onBytes } = download;
  if ((await sizeOf(partial)) > file.size) await rm(partial);
  const hash = hashOf(file);
  const handle = await open(partial, "a").catch(notWritten(partial));
  try {
    let size = await sizeOf(partial);
    if (size > 0) for await (const chunk of createReadStream(partial)) hash.update(chunk);
    onBytes(size);
    if (size < file.size) {
      for await (const chunk of readRemote(download, file, size, settings)) {
        await handle.writeFile(chunk).catch(notWritten(partial));
        hash.update(chunk);
        size += chunk.length;
        onBytes(Math.min(size, file.size));
      }
    }
    if (size < file.size) throw new Unreachable(`${file.path} broke off after ${size} of ${file.size} bytes`);
    await handle.sync().catch(notWritten(partial));
    return size > file.size ? "longer than promised" : hash.digest("hex");
  } finally {
    await handle.close();
  }
}

function hashOf({ digest, size }: RemoteFile): Hash {
  return digest.algorithm === "sha256" ? createHash("sha256") : createHash("sha1").update(`blob ${size}\0`);
}

function corrupt({ repo, file }: Download, { endpoint }: HubSettings, digest: string): ModelError {
  const name = file.digest.algorithm === "sha256" ? "SHA-256" : "git SHA-1";
  return new ModelError(`${name} of ${file.path} of ${repo} from ${endpoint}`, digest, {
    expected: file.digest.hex,
    hint: "It was downloaded twice and deleted: the server, or something between, changes it. Try again later or another HF_ENDPOINT.",
  });
}

/** Turns what the file system says into what to do about it. */
function notWritten(file: string): (cause: unknown) => never {
  return (cause) => {
    const full = cause instanceof Error && "code" in cause && (cause.code === "ENOSPC" || cause.code === "EDQUOT");
    throw new ModelError(file, full ? "not written: the disk is full" : `not written (${messageOf(cause)})`, {
      hint: `${full ? "Free some space" : "Check the folder's rights"}, or name another folder in HF_HUB_CACHE; the download continues where it stopped.`,
      cause,
    });
  };
}

export async function sizeOf(file: string): Promise<number> {
  return (await stat(file).catch(() => undefined))?.size ?? 0;
}
