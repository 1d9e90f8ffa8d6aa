import { existsSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { basename, join } from "node:path";
import { z } from "zod";
import { ModelError, reasonOf } from "../../../src/core/errors.ts";
import { parseJson } from "../../../src/core/json.ts";
import { requireFile } from "../../../src/files/bounded.ts";
import { writeAtomically } from "../machine/atomic-file.ts";
import { count as numbersOf } from "../machine/native/tensor.ts";
import { numbersInTurn, Turns } from "../machine/turns.ts";
import { fromBfloat16, fromFloat16, toBfloat16, toFloat16 } from "./float-formats.ts";
import { copyAgain, readJson } from "./small-files.ts";

/**
 * The safetensors format: 8 bytes with the header's length N (little-endian), N bytes of JSON that give each tensor's
 * type, shape and byte range, then the tensors, which cover the rest of the file without gaps.
 */

/** Row-major; `data.length` is the product of the shape. */
export interface Tensor {
  readonly shape: readonly number[];
  readonly data: Float32Array;
}

/** Looks at a tensor once it is read. @returns whether its numbers have been taken over in another form, so that they are not kept here */
export type TakeTensor = (name: string, tensor: Tensor) => boolean | Promise<boolean>;

export const dtypes = ["float32", "float16", "bfloat16"] as const;
export type Dtype = (typeof dtypes)[number];

const fileDtypes = { F32: "float32", F16: "float16", BF16: "bfloat16" } as const satisfies Record<string, Dtype>;
const dtypeTags = { float32: "F32", float16: "F16", bfloat16: "BF16" } as const satisfies Record<Dtype, string>;
const bytesPerElement = { float32: 4, float16: 2, bfloat16: 2 } as const satisfies Record<Dtype, number>;

const count = z.int().nonnegative();
/** Pairs of a name and its entry: a record's schema drops the name `__proto__` in silence. */
const headerSchema = z
  .custom<object>((json) => typeof json === "object" && json !== null && !Array.isArray(json), "a JSON object")
  .transform((json) => Object.entries(json).filter(([name]) => name !== "__metadata__"))
  .pipe(
    z.array(z.tuple([z.string(), z.object({ dtype: z.string(), shape: z.array(count), data_offsets: z.tuple([count, count]) })])),
  );
const indexSchema = z.object({ weight_map: z.record(z.string(), z.string()) });

/** Headers name each tensor in about 100 bytes: this is enough for 250,000 tensors in one file. */
const largestHeader = 25 * 2 ** 20;

/** Where a tensor lies in its file. */
interface Entry {
  readonly name: string;
  readonly dtype: Dtype;
  readonly shape: readonly number[];
  /** Bytes from the start of the file. */
  readonly start: number;
}

/**
 * All tensors of one file, as float32.
 * @throws ModelError if the file is missing, truncated or inconsistent, or holds another type than float32, float16 or bfloat16
 */
export async function readSafetensors(file: string, take?: TakeTensor): Promise<Map<string, Tensor>> {
  const handle = await opened(file);
  try {
    const tensors = new Map<string, Tensor>();
    for (const entry of await readHeader(handle, file)) {
      const tensor = { shape: entry.shape, data: await readData(handle, entry, file) };
      tensors.set(entry.name, (await take?.(entry.name, tensor)) ? { shape: entry.shape, data: new Float32Array(0) } : tensor);
    }
    return tensors;
  } finally {
    await handle.close();
  }
}

async function opened(file: string): Promise<FileHandle> {
  try {
    requireFile(file);
    return await open(file, "r");
  } catch (cause) {
    throw new ModelError(file, `not readable (${reasonOf(cause)})`, { expected: "a safetensors file", cause });
  }
}

/**
 * The weights of a Hugging Face folder: `model.safetensors`, or else the shards that `model.safetensors.index.json` names. In this order, as
 * in transformers: a model that was saved where shards were has both.
 * @throws ModelError as `readSafetensors`; or if there is neither, or a shard lacks a tensor that the index promises
 */
export async function readWeights(folder: string, take?: TakeTensor): Promise<Map<string, Tensor>> {
  const indexFile = join(folder, "model.safetensors.index.json");
  const single = join(folder, "model.safetensors");
  if (existsSync(single) || !existsSync(indexFile)) return readSafetensors(single, take);
  const index = readJson(indexFile, indexSchema, "the names of its shards").weight_map;
  const tensors = new Map<string, Tensor>();
  // By name, as in transformers: of a tensor that two shards have, the later one counts.
  for (const shard of [...new Set(Object.values(index))].sort()) {
    if (basename(shard) !== shard) throw new ModelError(indexFile, shard, { expected: "names of files in the same folder" });
    for (const [name, tensor] of await readSafetensors(join(folder, shard), take)) tensors.set(name, tensor);
  }
  for (const [name, shard] of Object.entries(index)) {
    if (!tensors.has(name)) throw new ModelError(`tensor ${name} of ${join(folder, shard)}`, undefined, { hint: copyAgain });
  }
  return tensors;
}

/**
 * Writes a file that appears whole or not at all.
 * @throws ModelError if the disk is full or the folder cannot be written
 */
export async function writeSafetensors(
  file: string,
  tensors: ReadonlyMap<string, Tensor>,
  { dtype }: { readonly dtype: Dtype },
): Promise<void> {
  await writeAtomically(file, fileChunks(tensors, dtype));
}

function* fileChunks(tensors: ReadonlyMap<string, Tensor>, dtype: Dtype): Generator<Uint8Array> {
  yield encodeHeader(tensors, dtype);
  for (const { data } of tensors.values())
    for (let from = 0; from < data.length; from += numbersInTurn) yield encode(data.subarray(from, from + numbersInTurn), dtype);
}

async function readHeader(handle: FileHandle, file: string): Promise<Entry[]> {
  const { size } = await handle.stat();
  const lengthBytes = Buffer.alloc(8);
  await handle.read(lengthBytes, 0, 8, 0);
  const length = Number(lengthBytes.readBigUInt64LE());
  if (size < 8 || length > size - 8) {
    const hint = `It is truncated, or no safetensors file. ${copyAgain}`;
    throw new ModelError(`header length of ${file}`, length, {
      expected: `at most ${size - 8}, as the file has ${size} bytes`,
      hint,
    });
  }
  if (length > largestHeader)
    throw new ModelError(`header length of ${file}`, length, { expected: `at most ${largestHeader} bytes`, hint: copyAgain });
  const text = Buffer.alloc(length);
  await readInto(handle, text, 8, file);
  const header = parseJson(text.toString("utf8"), headerSchema, (expected, cause) => {
    return new ModelError(`header of ${file}`, "malformed", { expected, hint: copyAgain, cause });
  });
  return checkedEntries(header, 8 + length, size, file);
}

/** Byte ranges in file order must follow each other without gap or overlap, each as long as its shape says, to the file's end. */
function checkedEntries(header: z.infer<typeof headerSchema>, dataStart: number, fileSize: number, file: string): Entry[] {
  const inOrder = header.toSorted(([, a], [, b]) => a.data_offsets[0] - b.data_offsets[0]);
  let end = 0;
  const entries = inOrder.map(([name, { dtype: tag, shape, data_offsets }]): Entry => {
    const dtype = dtypeOf(tag, name, file);
    const start = end;
    end += numbersOf(shape) * bytesPerElement[dtype];
    if (data_offsets[0] !== start || data_offsets[1] !== end) {
      const expected = `[${start},${end}] for ${tag} of shape [${shape}]`;
      throw new ModelError(`byte range of tensor ${name} in ${file}`, data_offsets, { expected, hint: copyAgain });
    }
    return { name, dtype, shape, start: dataStart + start };
  });
  if (dataStart + end !== fileSize) {
    const firstCut = entries.find((_, i) => (entries[i + 1]?.start ?? dataStart + end) > fileSize);
    const hint = firstCut === undefined ? copyAgain : `It is truncated in tensor ${firstCut.name}. ${copyAgain}`;
    throw new ModelError(`size of ${file}`, fileSize, { expected: `${dataStart + end} bytes, from its header`, hint });
  }
  return entries;
}

function dtypeOf(tag: string, name: string, file: string): Dtype {
  if (Object.hasOwn(fileDtypes, tag)) return fileDtypes[tag as keyof typeof fileDtypes];
  const hint = "Quantised or integer weights are not supported: use the float version of the model.";
  throw new ModelError(`type of tensor ${name} in ${file}`, tag, { expected: Object.keys(fileDtypes), hint });
}

async function readData(handle: FileHandle, { dtype, shape, start }: Entry, file: string): Promise<Float32Array> {
  if (dtype === "float32") {
    // Not zeros, which would be written here first: the read is made in another thread.
    const data = new Float32Array(Buffer.allocUnsafeSlow(numbersOf(shape) * bytesPerElement.float32).buffer);
    await readInto(handle, new Uint8Array(data.buffer), start, file);
    return data;
  }
  const bits = new Uint16Array(numbersOf(shape));
  await readInto(handle, new Uint8Array(bits.buffer), start, file);
  const data = new Float32Array(bits.length);
  const converted = dtype === "bfloat16" ? fromBfloat16 : fromFloat16;
  await new Turns().over(bits.length, (from, to) => data.set(converted(bits.subarray(from, to)), from));
  return data;
}

/** Fills the buffer from a position; one read call may return less, and takes at most 2 GiB. @throws ModelError if the file ends before */
export async function readInto(handle: FileHandle, buffer: Uint8Array, position: number, subject: string): Promise<void> {
  for (let offset = 0; offset < buffer.length; ) {
    const length = Math.min(buffer.length - offset, 2 ** 30);
    const { bytesRead } = await handle.read(buffer, offset, length, position + offset);
    if (bytesRead === 0) throw new ModelError(subject, "cut off while it was read", { hint: copyAgain });
    offset += bytesRead;
  }
}

function encodeHeader(tensors: ReadonlyMap<string, Tensor>, dtype: Dtype): Buffer {
  // Without a prototype, so that a tensor may have any name.
  const header: Record<string, unknown> = Object.assign(Object.create(null), { __metadata__: { format: "pt" } });
  let end = 0;
  for (const [name, { shape }] of tensors) {
    const start = end;
    end += numbersOf(shape) * bytesPerElement[dtype];
    header[name] = { dtype: dtypeTags[dtype], shape, data_offsets: [start, end] };
  }
  const json = Buffer.from(JSON.stringify(header));
  const padded = Math.ceil(json.length / 8) * 8; // so that tensors are aligned for readers that map the file
  const bytes = Buffer.alloc(8 + padded, " ");
  bytes.writeBigUInt64LE(BigInt(padded));
  json.copy(bytes, 8);
  return bytes;
}

function encode(data: Float32Array, dtype: Dtype): Uint8Array {
  if (dtype === "float32") return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  return new Uint8Array((dtype === "bfloat16" ? toBfloat16(data) : toFloat16(data)).buffer);
}
