import { existsSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { ModelError } from "../../../src/core/errors.ts";
import { signatureOf } from "../../../src/files/own-key.ts";
import { writeAtomically } from "../machine/atomic-file.ts";
import { adapterFolder, readAdapter, readAdapterSettings } from "./adapter-folder.ts";
import { openMerger } from "./lora.ts";
import type { ModelConfig } from "./model-config.ts";
import { type BasePrecision, dequantise, type RoundedMatrix, roundLayers } from "./rounded.ts";
import type { TakeTensor, Tensor } from "./safetensors.ts";
import { readSigned } from "./small-files.ts";

/** Beside `config.json`, the tokenizer and `adapter/`: the model that the adapter was trained on, instead of `model.safetensors`. */
const baseName = "base.json";
const baseSchema = z.strictObject({
  model: z.string().min(1),
  /** The precision that its layers were held in. */
  precision: z.enum(["float32", "int8", "int4"]),
  origin: z.string().optional(),
});

/** Writes what an adapter was trained on. @param model the folder of the base */
export async function writeBase(folder: string, model: string, precision: BasePrecision): Promise<void> {
  const base: z.output<typeof baseSchema> = { model, precision };
  const signed = { ...base, origin: signatureOf(baseName, base) };
  await writeAtomically(join(folder, baseName), [Buffer.from(`${JSON.stringify(signed, null, 2)}\n`)]);
}

/** The base that an adapter's folder names, and whether this machine wrote the name. Undefined for other folders. @throws ModelError if it is malformed */
export function namedBase(folder: string) {
  return readSigned(folder, baseName, baseSchema, "the name of a model");
}

/** As `namedBase`. @throws ModelError if the base is gone */
export function baseOf(folder: string): z.output<typeof baseSchema> | undefined {
  const base = namedBase(folder);
  if (base === undefined || existsSync(join(base.model, "config.json"))) return base;
  throw new ModelError(`the base of ${folder}`, base.model, {
    expected: "the model that the adapter was trained on",
    hint: `Put it back, or write its new place into ${join(folder, baseName)}. \`retrograde-rl export\` writes a model that needs no base.`,
  });
}

/**
 * Reads a base with the adapter of a folder merged into it, matrix by matrix: as it was trained, on matrices in the base's precision.
 * @param config the base's
 * @param load reads the base and gives every tensor to a function
 */
export async function readAdapted(
  folder: string,
  config: ModelConfig,
  precision: BasePrecision,
  load: (take: TakeTensor) => Promise<ReadonlyMap<string, Tensor>>,
  take?: TakeTensor,
): Promise<Map<string, Tensor>> {
  const from = join(folder, adapterFolder);
  const lora = await readAdapterSettings(from, config);
  const merger = await openMerger(config, lora, await readAdapter(from, { ...config, lora }));
  const changed = new Map<string, Tensor>();
  const change: TakeTensor = async (name, { shape, data: own }) => {
    const held = inPrecision(name, { shape, data: own }, precision);
    const data = (await merger.merge(name, held)) ?? held;
    const taken = (await take?.(name, { shape, data })) ?? false;
    if (!taken && data !== own) changed.set(name, { shape, data });
    return taken || data !== own;
  };
  try {
    return new Map([...(await load(change))].map(([name, tensor]) => [name, changed.get(name) ?? tensor]));
  } finally {
    await merger.close();
  }
}

function inPrecision(name: string, tensor: Tensor, precision: BasePrecision): Float32Array {
  if (precision === "float32") return tensor.data;
  const rounded = new Map<string, RoundedMatrix>();
  void roundLayers(rounded, precision)(name, tensor);
  const matrix = rounded.get(name);
  return matrix === undefined ? tensor.data : dequantise(matrix);
}
