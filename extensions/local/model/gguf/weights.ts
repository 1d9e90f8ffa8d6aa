import { type FileHandle, open } from "node:fs/promises";
import { ModelError } from "../../../../src/core/errors.ts";
import { count } from "../../machine/native/tensor.ts";
import type { ModelConfig } from "../model-config.ts";
import { readInto, type TakeTensor, type Tensor } from "../safetensors.ts";
import { ggufNames, isInterleaved } from "./config.ts";
import { type GgufTensor, readGguf } from "./file.ts";
import { dequantiseBlocks } from "./types.ts";

/** Not of the weights: Llama 3's rescaled positions, which `config.json` says. */
export const frequenciesName = "rope_freqs.weight";

/**
 * All tensors of a GGUF model as float32, by Hugging Face's names and in its layout.
 * @param take takes tensors over one by one while the files are read
 * @throws ModelError as `readGguf`; or for a tensor that the architecture does not have
 */
export async function readGgufWeights(
  parts: readonly string[],
  config: ModelConfig,
  take?: TakeTensor,
): Promise<Map<string, Tensor>> {
  const { tensors } = await readGguf(parts);
  const names = new Map([...ggufNames(config.architecture, config.layers)].map(([name, stored]) => [stored, name]));
  const handles = new Map<string, FileHandle>();
  const read = new Map<string, Tensor>();
  try {
    for (const part of parts) handles.set(part, await open(part, "r"));
    for (const tensor of tensors.values()) {
      if (tensor.name === frequenciesName) continue;
      const name = names.get(tensor.name);
      if (name === undefined)
        throw new ModelError(`tensor ${tensor.name} in ${tensor.file}`, "unexpected", {
          expected: `the tensors of ${config.architecture}`,
          hint: "The local engine does not compute it.",
        });
      const shape = name.endsWith(".conv.conv.weight") ? [tensor.shape[0], 1, tensor.shape[1]] : tensor.shape;
      const data = asTrained(await readTensor(tensor, handles.get(tensor.file)), name, config);
      read.set(name, (await take?.(name, { shape, data })) ? { shape, data: new Float32Array(0) } : { shape, data });
    }
  } finally {
    for (const handle of handles.values()) await handle.close();
  }
  return read;
}

/** The numbers of one tensor. @throws ModelError if the file ends before them */
export async function readTensor(
  { type, shape, start, bytes, name, file }: GgufTensor,
  handle?: FileHandle,
): Promise<Float32Array> {
  const opened = handle ?? (await open(file, "r"));
  try {
    const buffer = new Uint8Array(bytes);
    await readInto(opened, buffer, start, `tensor ${name} of ${file}`);
    return dequantiseBlocks(type, buffer, count(shape));
  } finally {
    if (handle === undefined) await opened.close();
  }
}

function asTrained(data: Float32Array, name: string, config: ModelConfig): Float32Array {
  if (config.normOffset && name.endsWith("norm.weight")) return data.map((weight) => weight - 1);
  return rotates(name) && isInterleaved(config.architecture) ? reorderedRows(data, config, "halves") : data;
}

/** True for the matrices whose rows rotary positions pair. */
export function rotates(name: string): boolean {
  return /\.self_attn\.[qk]_proj\.weight$/.test(name);
}

/**
 * Rows of queries or keys in another order: two that rotate together lie side by side ("pairs", as llama.cpp stores Llama's), or half a
 * head apart ("halves", as Hugging Face files have them).
 */
export function reorderedRows(data: Float32Array, { hiddenSize, headDim }: ModelConfig, to: "halves" | "pairs"): Float32Array {
  const out = new Float32Array(data.length);
  const half = headDim / 2;
  for (let row = 0; row * hiddenSize < data.length; row++) {
    const inHead = row % headDim;
    const paired = row - inHead + 2 * (inHead % half) + Math.floor(inHead / half);
    const [from, into] = to === "halves" ? [paired, row] : [row, paired];
    out.set(data.subarray(from * hiddenSize, (from + 1) * hiddenSize), into * hiddenSize);
  }
  return out;
}
