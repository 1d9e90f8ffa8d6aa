import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { ConfigError, ModelError } from "../../../src/core/errors.ts";
import { parseJson } from "../../../src/core/json.ts";
import { writeAtomically } from "../machine/atomic-file.ts";
import type { Arrays } from "./arrays.ts";
import { adapterShapes, type LoraSettings, lastPart, linearModules, resolveLora } from "./lora.ts";
import type { Lora, ModelConfig } from "./model-config.ts";
import { readSafetensors, type Tensor, writeSafetensors } from "./safetensors.ts";
import { readSmall } from "./small-files.ts";

/** Where an adapter lies in the folder of the model that it makes. */
export const adapterFolder = "adapter";

/** The two files of an adapter, as Hugging Face's PEFT 0.21 writes and reads them. */
const configName = "adapter_config.json";
const weightsName = "adapter_model.safetensors";
const prefix = "base_model.model.";

/** Ways to begin that leave the base as it is. PiSSA, OLoRA and others take from it what they give the adapter, also when it is loaded. */
const initialisations = [true, false, "gaussian", "orthogonal", "eva"] as const;

const configSchema = z.looseObject({
  peft_type: z.literal("LORA", { error: ({ input }) => `expected "LORA", not ${JSON.stringify(input)}` }),
  r: z.int().positive(),
  lora_alpha: z.number(),
  target_modules: z.union([z.string(), z.array(z.string())]).nullish(),
  bias: z.literal("none").default("none"),
  init_lora_weights: z.literal(initialisations).nullish(),
  layers_to_transform: z.union([z.array(z.int()), z.int().transform((layer) => [layer])]).nullish(),
});

/** Fields that do not change what a trained adapter computes, whatever they say. */
const ignoredFields = new Set([
  ...["task_type", "auto_mapping", "base_model_name_or_path", "revision", "peft_version", "inference_mode"],
  ...["lora_dropout", "eva_config", "layers_pattern", "megatron_core", "qalora_group_size", "runtime_config"],
]);

/** A field that is not known and says something, such as `use_dora: true`. */
function unknownField(file: Readonly<Record<string, unknown>>): string | undefined {
  const says = (value: unknown) =>
    value !== null && value !== false && (typeof value !== "object" || Object.keys(value).length > 0);
  return Object.keys(file).find(
    (name) => !Object.hasOwn(configSchema.shape, name) && !ignoredFields.has(name) && says(file[name]),
  );
}

/** Writes an adapter in full precision. @param base the model's name or folder, recorded for those who load the adapter */
export async function writeAdapter(
  folder: string,
  { config, adapter, base }: { readonly config: ModelConfig; readonly adapter: Arrays; readonly base: string },
): Promise<void> {
  const { rank, alpha, targets, layers } = requireLora(config);
  await mkdir(folder, { recursive: true }).catch((cause: unknown) => {
    throw new ModelError(`adapter folder ${folder}`, "not writable", { hint: "Choose another folder.", cause });
  });
  const tensors = new Map<string, Tensor>();
  for (const [name, shape] of adapterShapes(config))
    tensors.set(prefix + name, { shape, data: adapter.get(name) ?? new Float32Array() });
  await writeSafetensors(join(folder, weightsName), tensors, { dtype: "float32" });
  const file = {
    peft_type: "LORA",
    task_type: "CAUSAL_LM",
    base_model_name_or_path: base,
    r: rank,
    lora_alpha: alpha,
    target_modules: targets,
    ...(layers !== undefined && { layers_to_transform: lastLayers(config, layers) }),
    lora_dropout: 0,
    bias: "none",
    fan_in_fan_out: false,
    init_lora_weights: true,
    inference_mode: true,
  };
  await writeAtomically(join(folder, configName), [Buffer.from(`${JSON.stringify(file, null, 2)}\n`)]);
}

/**
 * Reads an adapter that was made for this model with these settings.
 * @throws ModelError if a file is missing, malformed, or asks for something that the engine does not compute
 * @throws ConfigError if rank, alpha or targets are others than those of the settings
 */
export async function readAdapter(folder: string, config: ModelConfig): Promise<Map<string, Float32Array>> {
  requireSame(folder, await readAdapterSettings(folder, config), requireLora(config));
  const file = join(folder, weightsName);
  const tensors = await readSafetensors(file);
  const shapes = adapterShapes(config);
  const unexpected = [...tensors.keys()].find((name) => !shapes.has(name.replace(prefix, "")));
  if (unexpected !== undefined)
    throw new ModelError(`tensor ${unexpected} in ${file}`, "unexpected", { expected: "only those of the target modules" });
  return new Map(
    [...shapes].map(([name, shape]) => {
      const tensor = tensors.get(prefix + name);
      if (tensor === undefined || String(tensor.shape) !== String(shape)) {
        const hint = "The adapter belongs to another model, or the file is damaged.";
        throw new ModelError(`shape of tensor ${prefix + name} in ${file}`, tensor?.shape, { expected: `[${shape}]`, hint });
      }
      return [name, tensor.data];
    }),
  );
}

/** Reads the settings of an adapter for a model. @throws ModelError if the file is missing, malformed, or asks for something that the engine does not compute */
export async function readAdapterSettings(folder: string, config: ModelConfig): Promise<Lora> {
  const file = join(folder, configName);
  const text = readSmall(file, `a folder with ${configName} and ${weightsName}`);
  const settings = parseJson(
    text.toString("utf8"),
    configSchema,
    (expected, cause) => new ModelError(file, expected === "JSON" ? "malformed" : "not supported", { expected, cause }),
  );
  const unknown = unknownField(settings);
  if (unknown !== undefined) {
    throw new ModelError(`${unknown} in ${file}`, settings[unknown], {
      expected: "nothing",
      hint: "The local engine computes plain LoRA: one rank, alpha/rank as the scale, A and B alone.",
    });
  }
  const { r: rank, lora_alpha: alpha, target_modules: modules, layers_to_transform: some } = settings;
  const layers = some?.length || undefined; // to PEFT an empty list is none
  if (layers !== undefined && String(some?.toSorted((a, b) => a - b)) !== String(lastLayers(config, layers)))
    throw new ModelError(`layers_to_transform in ${file}`, some, { expected: "the last layers of the model, or none" });
  const named = async () => (Array.isArray(modules) ? modules : adaptedModules(folder));
  const targets = modules === "all-linear" ? modules : targetsOf(await named(), config, file);
  return resolveLora(config, { rank, alpha, targets, layers } satisfies LoraSettings);
}

function lastLayers({ layers }: ModelConfig, count: number): number[] {
  return Array.from({ length: count }, (_, i) => layers - count + i);
}

/**
 * The modules that an adapter's tensors belong to. Servers that build adapters without PEFT, such as SkyRL's, name none in the file; Unsloth
 * names them by a pattern.
 */
async function adaptedModules(folder: string): Promise<string[]> {
  const names = [...(await readSafetensors(join(folder, weightsName))).keys()];
  return [...new Set(names.map((name) => name.replace(prefix, "").replace(/\.lora_[AB]\.weight$/, "")))];
}

/**
 * The last parts of modules that are named in full or by any end of their names, as PEFT matches them and writes them for small models.
 * @throws ModelError for a name that none of the layers' linear modules has, or where a module is a target in some layers alone
 */
function targetsOf(names: readonly string[], config: ModelConfig, file: string): string[] {
  const modules = linearModules(config).map(({ name }) => name);
  const isNamed = (module: string, name: string) => `.${module}`.endsWith(`.${name}`);
  const parts = new Set(modules.map(lastPart));
  const refuse = (value: unknown, expected: string) => {
    throw new ModelError(`target_modules in ${file}`, value, { expected });
  };
  const unknown = names.find((name) => !modules.some((module) => isNamed(module, name)));
  if (unknown !== undefined) refuse(unknown, `linear modules of this model's layers: ${[...parts].join(", ")}`);
  const targets = [...parts].filter((part) =>
    modules.some((m) => lastPart(m) === part && names.some((name) => isNamed(m, name))),
  );
  const left = modules.find((m) => targets.includes(lastPart(m)) && !names.some((name) => isNamed(m, name)));
  if (left !== undefined) refuse(names, `the same modules in every layer: ${left} is missing`);
  return targets;
}

function requireSame(folder: string, saved: Lora, wanted: Lora): void {
  for (const key of ["rank", "alpha", "targets", "layers"] as const) {
    if (String(saved[key]) === String(wanted[key])) continue;
    const hint = "Settings must be those of the adapter that training continues.";
    throw new ConfigError(`lora.${key}`, wanted[key], { expected: `${JSON.stringify(saved[key])}, as in ${folder}`, hint });
  }
}

function requireLora({ lora }: ModelConfig): Lora {
  if (lora === undefined) throw new RangeError("a model without an adapter");
  return lora;
}
