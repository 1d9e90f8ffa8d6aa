import { existsSync } from "node:fs";
import { ModelError } from "../../../../src/core/errors.ts";
import { copyAgain } from "../small-files.ts";
import { type GgufValue, HeaderReader } from "./reader.ts";
import { type GgufType, ggufType, ggufTypeNames } from "./types.ts";

/**
 * The GGUF format (as ggml specifies it), versions 2 and 3, little-endian: the letters GGUF, version, numbers of tensors and of metadata, the
 * metadata, name, sizes, type and offset of every tensor, then the tensors. A model may be in parts, NAME-00001-of-00003.gguf.
 */
export interface Gguf {
  readonly metadata: ReadonlyMap<string, GgufValue>;
  readonly tensors: ReadonlyMap<string, GgufTensor>;
}

export interface GgufTensor {
  readonly name: string;
  readonly type: GgufType;
  /** As in Hugging Face files: rows first. GGUF lists them the other way round. */
  readonly shape: readonly number[];
  /** The part that has it. */
  readonly file: string;
  /** Bytes from the start of the file. */
  readonly start: number;
  readonly bytes: number;
}

const magic = 0x46554747; // "GGUF"
const truncated = `It is truncated. ${copyAgain}`;
const [maxTensors, maxEntries, maxParts, longestName] = [2 ** 16, 2 ** 14, 999, 256];

/** A part's name: NAME-00001-of-00003.gguf. */
const partForm = /^(.*)-(\d{5})-of-(\d{5})\.gguf$/;

/** The files of a model, by the name of one of them. @throws ModelError if a part is missing */
export function ggufParts(file: string, exists: (file: string) => boolean = existsSync): string[] {
  const [, stem, , count] = partForm.exec(file) ?? [];
  if (stem === undefined) return [file];
  const total = Number(count);
  if (total < 1 || total > maxParts) throw new ModelError(file, total, { expected: `1 to ${maxParts} parts` });
  const parts = Array.from({ length: total }, (_, i) => `${stem}-${String(i + 1).padStart(5, "0")}-of-${count}.gguf`);
  const missing = parts.find((part) => !exists(part));
  if (missing !== undefined)
    throw new ModelError(missing, undefined, { expected: `part of ${file}`, hint: "All parts lie in one folder." });
  return parts;
}

/**
 * Reads the headers of a model's parts. No tensor is read.
 * @throws ModelError naming the field and its byte, if a file is truncated, inconsistent, or has a tensor of a type that is not read
 */
export async function readGguf(parts: readonly string[]): Promise<Gguf> {
  const metadata = new Map<string, GgufValue>();
  const tensors = new Map<string, GgufTensor>();
  for (const [i, part] of parts.entries()) {
    const header = await readHeader(part);
    const [number, count] = [header.metadata.get("split.no") ?? 0, header.metadata.get("split.count") ?? 1];
    if (number !== i || (count !== parts.length && !(count === 0 && parts.length === 1)))
      throw new ModelError(`split.no and split.count in ${part}`, [number, count], { expected: `[${i},${parts.length}]` });
    if (i === 0) for (const [key, value] of header.metadata) metadata.set(key, value);
    for (const tensor of header.tensors) {
      if (tensors.has(tensor.name))
        throw new ModelError(`tensor ${tensor.name} in ${part}`, "there twice", { expected: "one of a name" });
      tensors.set(tensor.name, tensor);
    }
  }
  return { metadata, tensors };
}

async function readHeader(file: string): Promise<Omit<Gguf, "tensors"> & { readonly tensors: readonly GgufTensor[] }> {
  const reader = new HeaderReader(file);
  try {
    const start = reader.uint32("magic number");
    if (start !== magic)
      reader.refuse("magic number", 0, start, `${magic}, the letters GGUF`, "It is no GGUF file, or an incomplete download.");
    const version = reader.uint32("version");
    if (version !== 2 && version !== 3)
      reader.refuse("version", 4, version, "2 or 3, little-endian", "Convert the model with a current llama.cpp.");
    const tensorCount = reader.size64("number of tensors", maxTensors);
    const entries = reader.size64("number of metadata entries", maxEntries);
    const metadata = new Map<string, GgufValue>();
    for (let i = 0; i < entries; i++) {
      const at = reader.position;
      const key = reader.text(`key ${i}`);
      if (key.length > longestName || metadata.has(key)) reader.refuse(`key ${i}`, at, key, "a short name that is not there yet");
      metadata.set(key, await reader.value(key));
    }
    const drafts = Array.from({ length: tensorCount }, (_, i) => tensorInfo(reader, i));
    return { metadata, tensors: placed(reader, drafts, metadata.get("general.alignment")) };
  } finally {
    reader.close();
  }
}

interface Draft extends Omit<GgufTensor, "file" | "start"> {
  readonly offset: number;
  /** Where the header says so. */
  readonly at: number;
}

function tensorInfo(reader: HeaderReader, i: number): Draft {
  const begin = reader.position;
  const name = reader.text(`name of tensor ${i}`);
  if (name.length > longestName) reader.refuse(`name of tensor ${i}`, begin, name, `at most ${longestName} characters`);
  const dimensionsAt = reader.position;
  const dimensions = reader.uint32(`dimensions of ${name}`);
  if (dimensions < 1 || dimensions > 4) reader.refuse(`dimensions of ${name}`, dimensionsAt, dimensions, "1 to 4");
  const sizesAt = reader.position;
  const shape = Array.from({ length: dimensions }, (_, d) => reader.size64(`size ${d} of ${name}`, 2 ** 31 - 1)).reverse();
  const count = shape.reduce((product, size) => product * size, 1);
  const typeAt = reader.position;
  const type = ggufType(reader.uint32(`type of ${name}`));
  if (typeof type === "string")
    reader.refuse(`type of ${name}`, typeAt, type, ggufTypeNames.join(", "), "Take a file of the model in one of these types.");
  const row = shape[shape.length - 1];
  if (count === 0 || row % type.values !== 0)
    reader.refuse(`sizes of ${name}`, sizesAt, shape, `rows of whole blocks of ${type.values} numbers, as ${type.name} has them`);
  const at = reader.position;
  const bytes = (count / type.values) * type.bytes;
  if (bytes > reader.size)
    reader.refuse(`sizes of ${name}`, sizesAt, shape, `a tensor that fits the file of ${reader.size} bytes`);
  const offset = reader.size64(`offset of ${name}`, reader.size);
  return { name, type, shape, bytes, offset, at };
}

/** Offsets count from the first aligned byte behind the header. Tensors lie inside of the file and share no byte. */
function placed(reader: HeaderReader, drafts: readonly Draft[], alignment: GgufValue = 32): GgufTensor[] {
  if (typeof alignment !== "number" || alignment % 8 !== 0 || alignment < 8 || alignment > 2 ** 20)
    throw new ModelError(`general.alignment of ${reader.file}`, alignment, { expected: "a multiple of 8" });
  const data = Math.ceil(reader.position / alignment) * alignment;
  let end = 0;
  for (const { name, offset, bytes, at } of drafts.toSorted((a, b) => a.offset - b.offset)) {
    if (offset % alignment !== 0) reader.refuse(`offset of ${name}`, at, offset, `a multiple of ${alignment}`);
    if (offset < end) reader.refuse(`offset of ${name}`, at, offset, `at least ${end}, where the tensor before it ends`);
    end = offset + bytes;
    if (data + end > reader.size)
      reader.refuse(`offset of ${name}`, at, offset, `${bytes} bytes before the file's end at ${reader.size}`, truncated);
  }
  return drafts.map(({ offset, at, ...tensor }) => ({ ...tensor, file: reader.file, start: data + offset }));
}
