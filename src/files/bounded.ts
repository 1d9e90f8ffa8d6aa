import { closeSync, createReadStream, readFileSync, statSync } from "node:fs";
import { createGunzip, gunzipSync } from "node:zlib";
import { openRegular, type RegularOptions, requireRegular } from "./regular.ts";

/**
 * Files that others name or make. A pipe or a device may never end, a giant file may take all memory, and a few kilobytes of gzip may be
 * gigabytes of text. All throw an Error that says so.
 */

/** No text grows more than this when it is unpacked, unless it was made to. */
const largestGrowth = 100;
const alwaysAllowed = 64 * 2 ** 20;
/** Node's largest buffers are of twice this size. */
const largestBuffer = 2 ** 31;
const longestLine = 64 * 2 ** 20;

/** Refuses what is no regular file, or is too large. @param maxBytes Default: any size */
export function requireFile(path: string, maxBytes = Number.POSITIVE_INFINITY): void {
  requireRegular(path, statSync(path), maxBytes);
}

/** Reads a regular file of at most `maxBytes`. */
export function readBounded(path: string, maxBytes: number, links: RegularOptions["links"] = "follow"): Buffer {
  const { handle } = openRegular(path, { maxBytes, links });
  try {
    return readFileSync(handle);
  } finally {
    closeSync(handle);
  }
}

/** Unpacks gzip, to at most a hundred times its size or 64 MiB. */
export function gunzipBounded(bytes: Uint8Array): Buffer {
  const most = Math.min(largestBuffer, allowed(bytes.length));
  try {
    return gunzipSync(bytes, { maxOutputLength: most });
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ERR_BUFFER_TOO_LARGE") throw tooLarge(most);
    throw error;
  }
}

const utf8 = new TextDecoder("utf-8", { fatal: true });

/**
 * Returns the text of a file, without a byte order mark. Other encodings are refused: their letters would be lost in silence.
 * @param line the number of the first line, for the message
 */
export function utf8Of(bytes: Uint8Array, line = 1): string {
  try {
    return utf8.decode(bytes);
  } catch (cause) {
    const before = Buffer.from(bytes).toString("utf8").split("\uFFFD", 1)[0] ?? "";
    throw new Error(`line ${line + before.split("\n").length - 1} is not UTF-8`, { cause });
  }
}

/** Reads the lines of a text file one by one; unpacks one that ends in `.gz`, bounded as `gunzipBounded`. No line may have more than 64 MiB. */
export async function* linesOf(path: string): AsyncGenerator<string> {
  requireFile(path);
  const file = createReadStream(path);
  const packed = path.endsWith(".gz");
  const most = packed ? allowed(statSync(path).size) : Number.POSITIVE_INFINITY;
  const chunks = packed ? file.pipe(createGunzip()) : file;
  file.on("error", (error) => chunks.destroy(error));
  let [pending, length, total]: [Buffer[], number, number] = [[], 0, 0];
  let line = 1;
  for await (const chunk of chunks as AsyncIterable<Buffer>) {
    total += chunk.length;
    if (total > most) throw tooLarge(most);
    let from = 0;
    for (let to = chunk.indexOf(10); to >= 0; to = chunk.indexOf(10, from)) {
      yield utf8Of(Buffer.concat([...pending, chunk.subarray(from, to)]), line++);
      [pending, length, from] = [[], 0, to + 1];
    }
    pending.push(chunk.subarray(from));
    length += chunk.length - from;
    if (length > longestLine) throw new Error(`a line has more than ${longestLine} bytes`);
  }
  if (length > 0) yield utf8Of(Buffer.concat(pending), line);
}

function allowed(packedBytes: number): number {
  return Math.max(alwaysAllowed, largestGrowth * packedBytes);
}

function tooLarge(most: number): Error {
  return new Error(`it unpacks to more than ${most} bytes, as no text of its size does`);
}
