import { closeSync, existsSync, readSync } from "node:fs";
import type { z } from "zod";
import { openRegular } from "../../../src/files/regular.ts";
import { damaged, recordOf } from "../../../src/runs/read.ts";

/** Bytes that are read at a time. The index has lines of many megabytes. */
const longestLine = 2 ** 28;

/**
 * Reads a file of JSON lines that grows: every call parses only what was added. A last line without its end is left for the next call. A
 * file that became shorter, as that of a resumed run, is read from its start.
 */
export class GrowingFile<Schema extends z.ZodType> {
  readonly #path: string;
  readonly #schema: Schema;
  readonly #checksum: (line: number) => number | undefined;
  #read = 0;
  #inode = 0;
  #lines: z.output<Schema>[] = [];

  /** @param checksum of a line, counted from 0, where another file has it */
  constructor(path: string, schema: Schema, checksum: (line: number) => number | undefined = () => undefined) {
    this.#path = path;
    this.#schema = schema;
    this.#checksum = checksum;
  }

  /** @throws RunError where a line is damaged or of a newer version */
  lines(): readonly z.output<Schema>[] {
    if (!existsSync(this.#path)) {
      this.#restart(0);
      return this.#lines;
    }
    const { handle, found } = this.#open();
    try {
      if (found.size < this.#read || found.ino !== this.#inode) this.#restart(found.ino);
      for (let from = -1; from !== this.#read && found.size > this.#read; ) {
        from = this.#read;
        this.#parse(read(handle, from, Math.min(found.size, from + longestLine)));
      }
    } finally {
      closeSync(handle);
    }
    return this.#lines;
  }

  #open(): ReturnType<typeof openRegular> {
    try {
      return openRegular(this.#path, { links: "refuse" });
    } catch (cause) {
      throw damaged(this.#path, cause);
    }
  }

  #restart(inode: number): void {
    this.#read = 0;
    this.#inode = inode;
    this.#lines = [];
  }

  #parse(added: Buffer): void {
    let from = 0;
    try {
      for (let to = added.indexOf(10); to >= 0; to = added.indexOf(10, from)) {
        const line = added.toString("utf8", from, to);
        this.#lines.push(recordOf(this.#path, line, this.#schema, this.#checksum(this.#lines.length)));
        this.#read += to + 1 - from;
        from = to + 1;
      }
    } catch (cause) {
      throw damaged(this.#path, cause);
    }
    if (from === 0 && added.length === longestLine) throw damaged(this.#path, `a line has more than ${longestLine} bytes`);
  }
}

function read(file: number, from: number, to: number): Buffer {
  const bytes = Buffer.alloc(to - from);
  let filled = 0;
  while (filled < bytes.length) {
    const got = readSync(file, bytes, filled, bytes.length - filled, from + filled);
    if (got === 0) break;
    filled += got;
  }
  return bytes.subarray(0, filled);
}
