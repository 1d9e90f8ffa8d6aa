import { existsSync } from "node:fs";
import { mkdir, rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import { EngineError } from "../../src/core/errors.ts";
import type { HeldModel } from "./held.ts";
import { writeBase } from "./model/adapted.ts";
import { adapterFolder, readAdapter, writeAdapter } from "./model/adapter-folder.ts";
import { type Arrays, dataOf } from "./model/arrays.ts";
import { loadModel, saveCompanions, saveModel } from "./model/model-folder.ts";
import { readSafetensors, type Tensor, writeSafetensors } from "./model/safetensors.ts";
import type { AdamW } from "./training/adamw.ts";
import { LocalCritic } from "./training/critic.ts";
import type { LearnerOptions } from "./training/learner.ts";
import { ParameterStore } from "./training/parameter-store.ts";

/**
 * Writes a model's folder. In the precision that the folder was read in small steps would be lost: float32 always. Of an adapter nothing
 * but itself is written, into `adapter/`, with the name of its base: `loadModel` merges the two.
 */
export async function writeModel(folder: string, held: HeldModel): Promise<void> {
  if (held.config.lora === undefined) {
    const parameters = tensorsOf(await held.learned.host(), held.learned.shapes);
    return saveModel(folder, { ...held.model, parameters }, { dtype: "float32" });
  }
  await saveCompanions(folder, held.model);
  await writeHeldAdapter(join(folder, adapterFolder), held);
  await writeBase(folder, resolve(held.name), held.precision);
}

/** Writes the adapter alone, in PEFT format. @throws EngineError if the model itself is trained */
export async function writeHeldAdapter(folder: string, { config, learned, name }: HeldModel): Promise<void> {
  if (config.lora === undefined)
    throw new EngineError("adapter", undefined, { expected: "an engine made with `lora`", hint: "Use saveModel." });
  await writeAdapter(folder, { config, adapter: await learned.host(), base: name });
}

/** The parts of a state besides the parameters. */
interface Progress {
  readonly optimiser: AdamW;
  readonly reference: ParameterStore | undefined;
  readonly critic: LocalCritic | undefined;
}

/** Writes the parameters that learn, the optimiser's moments, and the reference and the critic if there are. */
export async function writeState(folder: string, held: HeldModel, { optimiser, reference, critic }: Progress): Promise<void> {
  await mkdir(folder, { recursive: true });
  if (held.config.lora === undefined) await writeModel(join(folder, "model"), held);
  else await writeHeldAdapter(join(folder, adapterFolder), held); // the base is where it was
  await writeSafetensors(optimiserIn(folder), await optimiser.tensors(), { dtype: "float32" });
  if (reference) {
    const tensors = tensorsOf(await reference.host(), reference.shapes);
    await writeSafetensors(referenceIn(folder), tensors, { dtype: "float32" });
  } else await rm(referenceIn(folder), { force: true }); // of an older state in the same folder
  if (critic) await critic.save(folder);
  else await LocalCritic.remove(folder);
}

/**
 * Reads all of a state, then takes it over into the parameters and the optimiser: a state that is wrong changes nothing.
 * @returns the state's reference and critic
 * @throws EngineError if the state is of another model
 */
export async function readState(
  folder: string,
  { name, config, learned }: HeldModel,
  { optimiser, options }: { readonly optimiser: AdamW; readonly options: LearnerOptions },
): Promise<Omit<Progress, "optimiser">> {
  const saved = await savedParameters(folder, config);
  for (const key of learned.names)
    if (saved.get(key)?.length !== learned.length(key))
      throw new EngineError(`checkpoint ${folder}`, `${key} of another size`, { expected: `the parameters of ${name}` });
  const snapshot = existsSync(referenceIn(folder)) ? dataOf(await readSafetensors(referenceIn(folder))) : undefined;
  const reference = snapshot && ParameterStore.of(snapshot, learned.shapes, options);
  const critic = await LocalCritic.load(folder, config, options);
  await optimiser.restore(await readSafetensors(optimiserIn(folder)), optimiserIn(folder));
  await learned.write(saved);
  return { reference, critic };
}

async function savedParameters(folder: string, config: HeldModel["config"]): Promise<Arrays> {
  if (config.lora !== undefined) return readAdapter(join(folder, adapterFolder), config);
  return dataOf((await loadModel(join(folder, "model"))).parameters);
}

/** Arrays with the shapes of their names. */
function tensorsOf(arrays: Arrays, shapes: ReadonlyMap<string, readonly number[]>): Map<string, Tensor> {
  return new Map([...arrays].map(([name, data]) => [name, { shape: shapes.get(name) ?? [data.length], data }]));
}

function optimiserIn(folder: string): string {
  return join(folder, "optimiser.safetensors");
}

function referenceIn(folder: string): string {
  return join(folder, "reference.safetensors");
}
