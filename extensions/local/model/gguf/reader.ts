import { closeSync, fstatSync, readSync } from "node:fs";
import { ModelError, reasonOf } from "../../../../src/core/errors.ts";
import { host } from "../../../../src/core/host.ts";
import { openRegular } from "../../../../src/files/regular.ts";
import { Turns } from "../../machine/turns.ts";
import { copyAgain } from "../small-files.ts";

/** A value of the metadata. Integers beyond 2^53 are bigints. */
export type GgufValue = number | bigint | boolean | string | readonly GgufValue[];

/** Beyond these a file is damaged: the longest published texts are chat templates, the longest lists vocabularies. */
const [longestText, longestList] = [2 ** 22, 2 ** 22];
/** The memory that all texts and lists together may take. */
const maxBytes = 2 ** 28;
const windowBytes = 2 ** 18;
/** A value takes as long to read as this many numbers in arithmetic. */
const numbersOfValue = 128;

/**
 * Reads a GGUF header from its beginning, in windows. Every length is held to what is left of the file before memory is taken.
 * All reads throw ModelError naming the field and its byte where the file ends, or says what cannot be.
 */
export class HeaderReader {
  readonly file: string;
  readonly size: number;
  readonly #handle: number;
  readonly #window = Buffer.alloc(windowBytes);
  #windowStart = 0;
  #windowEnd = 0;
  #position = 0;
  #taken = 0;
  readonly #turns = new Turns();

  constructor(file: string) {
    this.file = file;
    try {
      this.#handle = openRegular(file).handle;
    } catch (cause) {
      throw new ModelError(file, `not readable (${reasonOf(cause)})`, { expected: "a GGUF file", cause });
    }
    this.size = fstatSync(this.#handle).size;
  }

  close(): void {
    closeSync(this.#handle);
  }

  get position(): number {
    return this.#position;
  }

  refuse(field: string, at: number, value: unknown, expected: string, hint: string = copyAgain): never {
    throw new ModelError(`${field} at byte ${at} of ${this.file}`, value, { expected, hint });
  }

  uint32(field: string): number {
    return this.#window.readUInt32LE(this.#need(field, 4));
  }

  /** A length or an offset. */
  size64(field: string, most: number): number {
    const start = this.#position;
    const value = this.#window.readBigUInt64LE(this.#need(field, 8));
    if (value > BigInt(most)) this.refuse(field, start, value, `at most ${most}`);
    return Number(value);
  }

  text(field: string): string {
    const left = this.size - this.#position - 8;
    const length = this.size64(`length of ${field}`, Math.max(0, Math.min(longestText, left)));
    this.#take(field, length);
    const bytes = Buffer.alloc(length);
    for (let done = 0; done < length; ) {
      const count = Math.min(length - done, windowBytes);
      const at = this.#need(field, count);
      this.#window.copy(bytes, done, at, at + count);
      done += count;
    }
    return bytes.toString("utf8");
  }

  /** A value of the metadata, with its type before it. */
  async value(field: string): Promise<GgufValue> {
    const at = this.#position;
    const type = this.uint32(`type of ${field}`);
    return type === listType ? this.#list(field) : this.#scalar(field, type, at);
  }

  async #list(field: string): Promise<GgufValue[]> {
    const at = this.#position;
    const type = this.uint32(`type of the list ${field}`);
    const each = type === textType ? textBytes : scalars[type]?.[0];
    if (each === undefined) this.refuse(`type of the list ${field}`, at, type, "a type of numbers, booleans or texts");
    const left = Math.max(0, this.size - this.#position - 8);
    const count = this.size64(`length of ${field}`, Math.min(longestList, Math.floor(left / each)));
    this.#take(field, count * 8);
    const values: GgufValue[] = [];
    for (let i = 0; i < count; i++) {
      values.push(this.#scalar(`${field}[${i}]`, type, this.#position));
      if (this.#turns.isOver(numbersOfValue)) await host.nextTurn();
    }
    return values;
  }

  #scalar(field: string, type: number, at: number): GgufValue {
    if (type === textType) return this.text(field);
    const scalar = scalars[type];
    if (scalar === undefined) this.refuse(`type of ${field}`, at, type, "a number from 0 to 12");
    const [bytes, read] = scalar;
    return read(this.#window, this.#need(field, bytes));
  }

  /** @returns where the next bytes begin in the window */
  #need(field: string, count: number): number {
    const start = this.#position;
    if (start + count > this.size)
      this.refuse(
        field,
        start,
        `cut off: the file has ${this.size} bytes`,
        `${count} more bytes`,
        `It is truncated. ${copyAgain}`,
      );
    if (start < this.#windowStart || start + count > this.#windowEnd) {
      this.#windowStart = start;
      this.#windowEnd = start;
      while (this.#windowEnd < start + count) {
        const filled = this.#windowEnd - start;
        const read = readSync(this.#handle, this.#window, filled, windowBytes - filled, this.#windowEnd);
        if (read === 0) this.refuse(field, start, "cut off while it was read", `${count} more bytes`);
        this.#windowEnd += read;
      }
    }
    this.#position = start + count;
    return start - this.#windowStart;
  }

  #take(field: string, bytes: number): void {
    this.#taken += bytes;
    if (this.#taken > maxBytes)
      this.refuse(field, this.#position, `${this.#taken} bytes with all before it`, `at most ${maxBytes} bytes of metadata`);
  }
}

const [textType, listType] = [8, 9];
/** A text takes the bytes of its length at least. */
const textBytes = 8;
/** Numbers and truth values by the number of their type: their bytes, and how they are read. */
const scalars: Readonly<Record<number, readonly [number, (bytes: Buffer, at: number) => number | bigint | boolean]>> = {
  0: [1, (bytes, at) => bytes.readUInt8(at)],
  1: [1, (bytes, at) => bytes.readInt8(at)],
  2: [2, (bytes, at) => bytes.readUInt16LE(at)],
  3: [2, (bytes, at) => bytes.readInt16LE(at)],
  4: [4, (bytes, at) => bytes.readUInt32LE(at)],
  5: [4, (bytes, at) => bytes.readInt32LE(at)],
  6: [4, (bytes, at) => bytes.readFloatLE(at)],
  7: [1, (bytes, at) => bytes.readUInt8(at) !== 0],
  10: [8, (bytes, at) => exact(bytes.readBigUInt64LE(at))],
  11: [8, (bytes, at) => exact(bytes.readBigInt64LE(at))],
  12: [8, (bytes, at) => bytes.readDoubleLE(at)],
};

function exact(value: bigint): number | bigint {
  return BigInt.asIntN(54, value) === value ? Number(value) : value;
}
