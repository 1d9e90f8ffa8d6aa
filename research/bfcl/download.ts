import { readFileSync } from "node:fs";
import { join } from "node:path";
import { writeFileAtomic } from "../../src/files/atomic.ts";
import { fetchFile } from "./fetch-file.ts";
import { checksums, publicSource, verifyBytes } from "./files.ts";

export interface DataDownload {
  readonly folder: string;
  /** The address that the files' names follow. Default the public repository at the pinned revision. */
  readonly source?: string;
  readonly onFile?: (name: string, outcome: "downloaded" | "was there") => void;
}

/** No file is larger than a tenth of it. */
const maxBytes = 20_000_000;

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
    const bytes = await fetchFile(url, maxBytes);
    verifyBytes(url, name, bytes);
    writeFileAtomic(path, bytes);
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
