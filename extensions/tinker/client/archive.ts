import { promisify } from "node:util";
import { gunzip } from "node:zlib";
import { TinkerError } from "./errors.ts";

/** The files of a gzipped tar archive (POSIX ustar), by path. */
export async function readArchive(bytes: Uint8Array): Promise<Map<string, Uint8Array>> {
  const tar = await promisify(gunzip)(bytes).catch((cause: unknown) => {
    throw new TinkerError("downloaded weights", "no gzip", { kind: "answer", retry: "never", cause });
  });
  const files = new Map<string, Uint8Array>();
  const text = (from: number, length: number) => tar.toString("utf8", from, from + length).replace(/\0.*/s, "");
  for (let at = 0; at + 512 <= tar.length && tar[at] !== 0; ) {
    const size = Number.parseInt(text(at + 124, 12).trim(), 8);
    const [prefix, name, type] = [text(at + 345, 155), text(at, 100), text(at + 156, 1)];
    if (!Number.isFinite(size) || at + 512 + size > tar.length)
      throw new TinkerError("downloaded weights", "cut off", { kind: "answer", retry: "later" });
    const path = (prefix === "" ? name : `${prefix}/${name}`).replace(/^\.\//, "");
    if (type === "0" || type === "") files.set(path, tar.subarray(at + 512, at + 512 + size));
    at += 512 + Math.ceil(size / 512) * 512;
  }
  return files;
}
