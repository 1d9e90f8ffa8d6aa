import { ModelError } from "../../../../src/core/errors.ts";
import { writeAtomically } from "../../machine/atomic-file.ts";
import { numbersInTurn } from "../../machine/turns.ts";
import { toFloat16 } from "../float-formats.ts";
import { type ModelConfig, parseModelConfig } from "../model-config.ts";
import type { Model } from "../model-folder.ts";
import { divisorsOf, type Llama3Scaling } from "../rope.ts";
import type { Tensor } from "../safetensors.ts";
import { configOf, ggufArchitecture, ggufNames, isInterleaved } from "./config.ts";
import type { GgufValue } from "./reader.ts";
import { chatTemplateKey } from "./tokenizer.ts";
import { type TokenizerFields, tokenizerFields } from "./tokenizer-fields.ts";
import { frequenciesName, reorderedRows, rotates } from "./weights.ts";

/** The types that matrices are written in. Vectors are always F32. */
export const writtenTypes = ["F32", "F16", "Q8_0"] as const;
export type WrittenType = (typeof writtenTypes)[number];

/** Numbers of a type in the format, and of files whose matrices are of it. */
const codes = { F32: { type: 0, file: 0 }, F16: { type: 1, file: 1 }, Q8_0: { type: 8, file: 7 } } as const;
const alignment = 32;

/**
 * Writes a model as one GGUF file with its tokenizer and chat template, which appears whole or not at all. llama.cpp and what is built on it read it.
 * @param options.name of the model, for people
 * @throws ModelError if the file cannot be written, or the format has no place for something that the model computes or its tokenizer does
 */
export async function writeGguf(
  file: string,
  model: Model,
  { type, name }: { readonly type: WrittenType; readonly name: string },
): Promise<void> {
  const { config } = model;
  const architecture = ggufArchitecture(config.architecture);
  if (architecture === undefined || (config.window !== undefined && config.architecture !== "gemma3_text"))
    throw new ModelError(`${config.architecture} as GGUF`, config.window && "with a window", {
      expected: "an architecture that llama.cpp reads, without a window beside Gemma's",
    });
  const tokenizer = tokenizerFields(model.companions, config);
  const tensors = storedTensors(model).map((tensor): Typed => ({ ...tensor, type: typeFor(tensor.shape, type) }));
  const metadata = metadataOf(config, architecture, { type, name, tokenizer });
  requireSame(config, metadata, tensors);
  await writeAtomically(file, chunks(metadata, tensors));
}

/** Reads the settings back from what is about to be written. @throws ModelError naming one that the format has no place for */
function requireSame(config: ModelConfig, metadata: readonly Entry[], tensors: readonly Typed[]): void {
  const values = new Map<string, GgufValue>(
    metadata.map(([key, kind, value]) => [key, kind === "f32" ? Math.fround(value) : value]),
  );
  const shapes = new Map(tensors.map((tensor) => [tensor.name, tensor]));
  const frequencies = shapes.get(frequenciesName)?.data;
  const { architecture: _, ...back } = parseModelConfig(
    configOf({ metadata: values, tensors: shapes }, "GGUF", frequencies),
    "GGUF",
  );
  const known: Readonly<Record<string, unknown>> = { ...back, eosTokenIds: config.eosTokenIds };
  const { architecture: __, lora: ___, ...wanted } = config;
  const lost = Object.entries(wanted).find(([key, value]) => JSON.stringify(value) !== JSON.stringify(known[key]));
  if (lost !== undefined)
    throw new ModelError(`${lost[0]} as GGUF`, lost[1], {
      expected: `${JSON.stringify(known[lost[0]])}, which is what readers of the file assume`,
      hint: "Export a Hugging Face folder (--to hf): it has a place for every setting.",
    });
}

interface Stored extends Tensor {
  readonly name: string;
}
interface Typed extends Stored {
  readonly type: WrittenType;
}

/** As llama.cpp has them: its names, and its order of rows. */
function storedTensors({ config, parameters }: Model): Stored[] {
  const names = ggufNames(config.architecture, config.layers);
  const divisors = { name: frequenciesName, shape: [config.headDim / 2], data: divisorsOf(config.rope, config.headDim) };
  const stored = [...parameters].map(([name, { shape, data }]): Stored => {
    const known = names.get(name);
    if (known === undefined) throw new ModelError(`tensor ${name} as GGUF`, undefined, { expected: "a name that llama.cpp has" });
    const squeezed = shape.length === 3 ? [shape[0], shape[2]] : shape;
    return { name: known, shape: squeezed, data: asStored(data, name, config) };
  });
  return llama3Of(config) === undefined ? stored : [divisors, ...stored];
}

function llama3Of({ rope: { scaling } }: ModelConfig): Llama3Scaling | undefined {
  return scaling !== undefined && "lowFreqFactor" in scaling ? scaling : undefined;
}

function asStored(data: Float32Array, name: string, config: ModelConfig): Float32Array {
  if (config.normOffset && name.endsWith("norm.weight")) return data.map((weight) => weight + 1);
  return rotates(name) && isInterleaved(config.architecture) ? reorderedRows(data, config, "pairs") : data;
}

function typeFor(shape: readonly number[], type: WrittenType): WrittenType {
  if (shape.length < 2) return "F32";
  const row = shape[shape.length - 1];
  return type === "Q8_0" && row % 32 !== 0 ? (row < 32 ? "F32" : "F16") : type;
}

type Entry =
  | readonly [key: string, kind: "u32" | "f32", value: number]
  | readonly [key: string, kind: "bool", value: boolean]
  | readonly [key: string, kind: "text", value: string]
  | readonly [key: string, kind: "texts", value: readonly string[]]
  | readonly [key: string, kind: "i32s", value: readonly number[]];

function metadataOf(
  config: ModelConfig,
  architecture: string,
  { type, name, tokenizer }: { readonly type: WrittenType; readonly name: string; readonly tokenizer: TokenizerFields },
): Entry[] {
  const key = (field: string) => `${architecture}.${field}`;
  const llama3 = llama3Of(config);
  const linear = llama3 === undefined ? config.rope.scaling : undefined;
  const kvHeads = config.layerTypes?.map((layer) => (layer === "conv" ? 0 : config.kvHeads));
  const optional = (field: string, kind: "u32" | "f32", value: number | undefined): Entry[] =>
    value === undefined ? [] : [[key(field), kind, value]];
  return [
    ["general.architecture", "text", architecture],
    ["general.name", "text", name],
    ["general.file_type", "u32", codes[type].file],
    ["general.quantization_version", "u32", 2],
    [key("vocab_size"), "u32", config.vocabSize],
    [key("context_length"), "u32", config.maxPositionEmbeddings],
    [key("embedding_length"), "u32", config.hiddenSize],
    [key("block_count"), "u32", config.layers],
    [key("feed_forward_length"), "u32", config.intermediateSize],
    [key("attention.head_count"), "u32", config.heads],
    config.architecture === "lfm2" && kvHeads
      ? [key("attention.head_count_kv"), "i32s", kvHeads]
      : [key("attention.head_count_kv"), "u32", config.kvHeads],
    [key("attention.key_length"), "u32", config.headDim],
    [key("attention.value_length"), "u32", config.headDim],
    [key("attention.layer_norm_rms_epsilon"), "f32", config.rmsNormEps],
    [key("rope.dimension_count"), "u32", config.headDim],
    [key("rope.freq_base"), "f32", config.rope.theta],
    ...(linear ? [[key("rope.scaling.type"), "text", "linear"] as const] : []),
    ...optional("rope.scaling.factor", "f32", linear?.factor),
    ...optional("rope.scaling.original_context_length", "u32", llama3?.originalMaxPositionEmbeddings),
    ...optional("attention.sliding_window", "u32", config.window),
    ...optional("shortconv.l_cache", "u32", config.convKernel),
    ["tokenizer.ggml.model", "text", "gpt2"],
    ["tokenizer.ggml.pre", "text", tokenizer.pre],
    ["tokenizer.ggml.tokens", "texts", tokenizer.tokens],
    ["tokenizer.ggml.token_type", "i32s", tokenizer.types],
    ["tokenizer.ggml.merges", "texts", tokenizer.merges],
    ["tokenizer.ggml.add_bos_token", "bool", false],
    ["tokenizer.ggml.add_space_prefix", "bool", false],
    ...Object.entries(tokenizer.ids).map(([name, id]): Entry => [`tokenizer.ggml.${name}_token_id`, "u32", id]),
    ...[...tokenizer.chatTemplates].map(([name, template]): Entry => [chatTemplateKey(name), "text", template]),
  ];
}

function* chunks(metadata: readonly Entry[], tensors: readonly Typed[]): Generator<Uint8Array> {
  const header = Buffer.concat([
    Buffer.from("GGUF"),
    u32(3),
    u64(tensors.length),
    u64(metadata.length),
    ...metadata.flatMap(entryBytes),
    ...infoBytes(tensors),
  ]);
  yield header;
  yield padding(header.length);
  for (const { data, type } of tensors) {
    for (let from = 0; from < data.length; from += numbersInTurn) yield encode(data.subarray(from, from + numbersInTurn), type);
    yield padding(sizeOf(data.length, type));
  }
}

function infoBytes(tensors: readonly Typed[]): Buffer[] {
  let offset = 0;
  return tensors.flatMap(({ name, shape, data, type }) => {
    const start = offset;
    offset += Math.ceil(sizeOf(data.length, type) / alignment) * alignment;
    return [...text(name), u32(shape.length), ...shape.toReversed().map(u64), u32(codes[type].type), u64(start)];
  });
}

function entryBytes([key, kind, value]: Entry): Buffer[] {
  const of = (type: number, ...rest: Buffer[]) => [...text(key), u32(type), ...rest];
  switch (kind) {
    case "u32":
      return of(4, u32(value));
    case "f32":
      return of(6, f32(value));
    case "bool":
      return of(7, Buffer.from([value ? 1 : 0]));
    case "text":
      return of(8, ...text(value));
    case "texts":
      return of(9, u32(8), u64(value.length), ...value.flatMap(text));
    case "i32s":
      return of(9, u32(5), u64(value.length), Buffer.from(Int32Array.from(value).buffer));
    default:
      return kind satisfies never;
  }
}

// Little-endian, as all systems are that ONNX Runtime's package has libraries for.
const u32 = (value: number) => Buffer.from(Uint32Array.of(value).buffer);
const f32 = (value: number) => Buffer.from(Float32Array.of(value).buffer);
const u64 = (value: number) => Buffer.from(BigUint64Array.of(BigInt(value)).buffer);

function text(value: string): Buffer[] {
  const bytes = Buffer.from(value);
  return [u64(bytes.length), bytes];
}

function padding(length: number): Buffer {
  return Buffer.alloc((alignment - (length % alignment)) % alignment);
}

function sizeOf(count: number, type: WrittenType): number {
  return type === "F32" ? 4 * count : type === "F16" ? 2 * count : (count / 32) * 34;
}

/** Numbers as a type stores them. Q8_0 rounds as ggml's reference does: 32 numbers with a scale, the largest of them over 127. */
export function encode(data: Float32Array, type: WrittenType): Uint8Array {
  if (type === "F32") return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  if (type === "F16") return new Uint8Array(toFloat16(data).buffer);
  const blocks = data.length / 32;
  const scales = new Float32Array(blocks);
  const out = new Uint8Array(sizeOf(data.length, type));
  for (let block = 0; block < blocks; block++) {
    let largest = 0;
    for (let i = 32 * block; i < 32 * (block + 1); i++) largest = Math.max(largest, Math.abs(data[i]));
    scales[block] = largest / 127;
    const inverse = scales[block] === 0 ? 0 : Math.fround(1 / scales[block]);
    for (let i = 0; i < 32; i++) {
      const scaled = Math.fround(data[32 * block + i] * inverse);
      out[34 * block + 2 + i] = Math.sign(scaled) * Math.floor(Math.abs(scaled) + 0.5); // halves away from zero
    }
  }
  const halves = toFloat16(scales);
  for (let block = 0; block < blocks; block++) {
    out[34 * block] = halves[block] & 255;
    out[34 * block + 1] = halves[block] >> 8;
  }
  return out;
}
