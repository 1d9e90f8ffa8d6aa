import { existsSync } from "node:fs";
import { mkdir, readdir } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { z } from "zod";
import { ModelError } from "../../../src/core/errors.ts";
import type { Random } from "../../../src/core/random.ts";
import { writeAtomically } from "../machine/atomic-file.ts";
import { baseOf, readAdapted } from "./adapted.ts";
import { namedParts } from "./gguf/folder.ts";
import { readGgufWeights } from "./gguf/weights.ts";
import { formatModelConfig, formatRopeBeside, type ModelConfig, parameterShapes, parseModelConfig } from "./model-config.ts";
import { type Dtype, dtypes, readWeights, type TakeTensor, type Tensor, writeSafetensors } from "./safetensors.ts";
import { readJson, readSmall } from "./small-files.ts";

/** A model in memory: its parameters, and all that is needed to write its folder again. */
export interface Model {
  readonly config: ModelConfig;
  /** By Hugging Face name, in the order of `parameterShapes`. */
  readonly parameters: ReadonlyMap<string, Tensor>;
  /** `config.json` as it was read: fields that the engine does not know are kept. */
  readonly configFile: Readonly<Record<string, unknown>>;
  /** Tokenizer and generation settings, byte for byte, by file name. */
  readonly companions: ReadonlyMap<string, Uint8Array>;
}

const generationFile = "generation_config.json";
const companionNames = [
  generationFile,
  "tokenizer.json",
  "tokenizer_config.json",
  "tokenizer.model",
  "special_tokens_map.json",
  "added_tokens.json",
  "vocab.json",
  "merges.txt",
  "chat_template.jinja",
  "chat_template.json",
  "additional_chat_templates/tool_use.jinja",
];
const generationSchema = z.looseObject({ eos_token_id: z.union([z.int(), z.array(z.int())]).nullish() });

/**
 * Reads a Hugging Face model folder, the one that `ggufFolder` made of a GGUF file, or one of an adapter and the name of its base.
 * @param take takes tensors over one by one while the file is read; those it takes have no numbers in the model
 * @throws ModelError if a file is missing or malformed, or the weights are not those that `config.json` describes
 */
export async function loadModel(folder: string, take?: TakeTensor): Promise<Model> {
  return loadWithin([], folder, take);
}

/** @param above the folders of adapters on this model */
async function loadWithin(above: readonly string[], folder: string, take?: TakeTensor): Promise<Model> {
  const names = await readdir(folder).catch((cause: unknown) => {
    const expected = "a folder with config.json, model.safetensors and tokenizer.json";
    throw new ModelError(`model folder ${folder}`, "not readable", { expected, hint: "Check the path.", cause });
  });
  if (names.includes("adapter_config.json")) {
    throw new ModelError(`adapter_config.json in ${folder}`, "unexpected", {
      expected: "a model without an adapter, which transformers would add to its weights",
      hint: "Merge the adapter into its base with PEFT, or name it in engine.lora.from. If the weights are the merged ones, remove adapter_*.",
    });
  }
  const configPath = join(folder, "config.json");
  const configFile = jsonIn(configPath, z.record(z.string(), z.unknown()));
  const config = parseModelConfig(configFile, configPath);
  const companions = new Map<string, Uint8Array>();
  for (const name of companionNames.filter((each) => existsSync(join(folder, each))))
    companions.set(name, readSmall(join(folder, name), "a file of the tokenizer"));
  const generation = companions.has(generationFile) ? jsonIn(join(folder, generationFile), generationSchema) : {};
  const eosTokenIds = generation.eos_token_id == null ? config.eosTokenIds : [generation.eos_token_id].flat();
  const weights = await weightsOf(above, folder, config, take);
  const parameters = checkedParameters(weights, config, folder);
  return { config: { ...config, eosTokenIds }, parameters, configFile, companions };
}

async function weightsOf(above: readonly string[], folder: string, config: ModelConfig, take?: TakeTensor) {
  const gguf = namedParts(folder);
  if (gguf !== undefined) return readGgufWeights(gguf.parts, config, take);
  const base = baseOf(folder);
  if (base === undefined) return readWeights(folder, take);
  const all = [...above, resolve(folder)];
  if (all.includes(resolve(base.model)))
    throw new ModelError(`the base of ${folder}`, base.model, { expected: "a model that is not made of this one" });
  const load = async (change: TakeTensor) => (await loadWithin(all, base.model, change)).parameters;
  return readAdapted(folder, config, base.precision, load, take);
}

/** A `config.json` alone. @throws ModelError if it is malformed or describes something that the engine does not compute */
export async function readModelConfig(file: string): Promise<ModelConfig> {
  return parseModelConfig(jsonIn(file, z.unknown()), file);
}

/** Writes a folder that `loadModel` and Python's `transformers` read. @throws ModelError if it cannot be written */
export async function saveModel(folder: string, model: Model, { dtype }: { readonly dtype: Dtype }): Promise<void> {
  const dtypeField = "dtype" in model.configFile ? "dtype" : "torch_dtype";
  const rope = "rope_parameters" in model.configFile ? formatRopeBeside(model.config) : {};
  await saveCompanions(folder, { ...model, configFile: { ...model.configFile, ...rope, [dtypeField]: dtype } });
  await writeSafetensors(join(folder, "model.safetensors"), model.parameters, { dtype });
}

/** Writes all of a folder but its weights. @throws ModelError if it cannot be written */
export async function saveCompanions(folder: string, { configFile, companions }: Omit<Model, "parameters">): Promise<void> {
  await mkdir(folder, { recursive: true }).catch((cause: unknown) => {
    throw new ModelError(`model folder ${folder}`, "not writable", { hint: "Choose another folder.", cause });
  });
  await writeAtomically(join(folder, "config.json"), [Buffer.from(`${JSON.stringify(configFile, null, 2)}\n`)]);
  for (const [name, bytes] of companions) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeAtomically(join(folder, name), [bytes]);
  }
}

/** The type that a model's weights were stored in, as its `config.json` says. Default: float32. */
export function storedType({ configFile }: Pick<Model, "configFile">): Dtype {
  return dtypes.find((dtype) => dtype === (configFile.dtype ?? configFile.torch_dtype)) ?? "float32";
}

/**
 * A model with random weights: matrices and embeddings normal with deviation 1/√(inputs), biases 0, norms by 1.
 * @param companions the tokenizer's files, which `saveModel` writes beside the weights
 */
export function initialiseModel(config: ModelConfig, random: Random, companions: Model["companions"] = new Map()): Model {
  const parameters = new Map<string, Tensor>();
  for (const [name, shape] of parameterShapes(config)) {
    const data = new Float32Array(shape.reduce((product, size) => product * size, 1));
    if (shape.length > 1) {
      const deviation = 1 / Math.sqrt(shape[shape.length - 1]);
      for (let i = 0; i < data.length; i++) data[i] = deviation * random.normal();
    } else if (!name.endsWith(".bias")) data.fill(config.normOffset ? 0 : 1);
    parameters.set(name, { shape, data });
  }
  return { config, parameters, configFile: formatModelConfig(config), companions };
}

/** In the order of `parameterShapes`. */
function checkedParameters(weights: ReadonlyMap<string, Tensor>, config: ModelConfig, folder: string): Map<string, Tensor> {
  const shapes = parameterShapes(config);
  const hint = "config.json and the weights belong to different models, or one of them is damaged.";
  for (const name of weights.keys()) {
    if (shapes.has(name) || isRedundant(name, config)) continue;
    const expected = "only the tensors that config.json describes";
    throw new ModelError(`tensor ${name} in ${folder}`, "unexpected", { expected, hint });
  }
  const parameters = new Map<string, Tensor>();
  for (const [name, shape] of shapes) {
    const tensor = weights.get(name);
    if (tensor === undefined)
      throw new ModelError(`tensor ${name} in ${folder}`, undefined, { expected: `shape [${shape}]`, hint });
    const expected = `[${shape}], from config.json`;
    if (String(tensor.shape) !== String(shape))
      throw new ModelError(`shape of tensor ${name} in ${folder}`, tensor.shape, { expected, hint });
    parameters.set(name, tensor);
  }
  requireTied(weights, config, folder);
  return parameters;
}

/** A head of its own beside a tied embedding: transformers 4 drops it, transformers 5 computes with it. */
function requireTied(weights: ReadonlyMap<string, Tensor>, { tieWordEmbeddings }: ModelConfig, folder: string): void {
  const [head, embedding] = [weights.get("lm_head.weight"), weights.get("model.embed_tokens.weight")];
  if (!tieWordEmbeddings || head === undefined || embedding === undefined) return;
  if (Buffer.compare(bytesOf(head), bytesOf(embedding)) === 0) return;
  throw new ModelError(`tensor lm_head.weight in ${folder}`, "another than the embedding", {
    expected: "the same numbers, as tie_word_embeddings is true in config.json",
    hint: "If the model has a head of its own, set tie_word_embeddings to false.",
  });
}

function bytesOf({ data }: Tensor): Buffer {
  return Buffer.from(data.buffer, data.byteOffset, data.byteLength);
}

/** Stored by some checkpoints and ignored by `transformers` too: a copy of the tied embedding, and rotary frequencies. */
function isRedundant(name: string, config: ModelConfig): boolean {
  return (name === "lm_head.weight" && config.tieWordEmbeddings) || name.endsWith(".rotary_emb.inv_freq");
}

function jsonIn<Schema extends z.ZodType>(file: string, schema: Schema): z.output<Schema> {
  return readJson(file, schema, "a JSON file", "Check the model folder.");
}
