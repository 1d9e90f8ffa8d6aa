import { join, resolve } from "node:path";
import { createLocalEngine, LocalEngine } from "../../extensions/local/engine.ts";
import { adaptedConfig } from "../../extensions/local/held.ts";
import { readAdapter } from "../../extensions/local/model/adapter-folder.ts";
import { initialAdapter, lastPart, linearModules } from "../../extensions/local/model/lora.ts";
import { loadModel, type Model, readModelConfig } from "../../extensions/local/model/model-folder.ts";
import { loadTokenizer } from "../../src/chat/tokenizer-folder.ts";
import { host } from "../../src/core/host.ts";
import type { TokenId } from "../../src/core/trajectory.ts";
import type { Engine } from "../../src/engines/engine.ts";

/** LoRA on a served model: which matrices, and how it begins. */
export interface AdapterSettings {
  readonly rank: number;
  readonly alpha: number;
  /** Modules of the layers by the last part of their name. */
  readonly targets: readonly string[];
  readonly seed: number;
}

/** The weights that are trained: an adapter, or the model itself. */
export type Trained = AdapterSettings | "full";

/** A model with weights of its own. */
export interface OpenedModel {
  readonly engine: Engine;
  /** Writes the adapter in PEFT format, or the model in Hugging Face's. */
  saveWeights(folder: string): Promise<void>;
}

/** A base model that clients may train and sample. */
export interface ServedModel {
  readonly name: string;
  /** Folder of the tokenizer, as clients on this machine can read it. */
  readonly folder: string;
  readonly architecture: string;
  readonly vocabularySize: number;
  /** Longest sequence in tokens. */
  readonly maxLength: number;
  /** Tokens that end a text. */
  readonly endTokens: readonly TokenId[];
  /** Linear modules of the layers, by part. */
  readonly modules: { readonly attention: readonly string[]; readonly mlp: readonly string[] };
  /** The smaller side of its widest linear module: an adapter of a higher rank could say no more. */
  readonly maxRank: number;
  /**
   * Opens the model for training.
   * @param from a folder that `OpenedModel.saveWeights` wrote, or one in the same format: the weights to begin with. Default: the base's
   */
  open(trained: Trained, from?: string): Promise<OpenedModel>;
}

/** Actions that are sampled at a time. */
const assumedConcurrency = 32;

const mlpParts = new Set(["gate_proj", "up_proj", "down_proj"]);

/**
 * A model folder as the base of clients' models. All adapters on it share its weights, which are read when the first is opened.
 * @param name that clients ask for
 */
export async function serveModel(name: string, folder: string, threads: number): Promise<ServedModel> {
  const config = await readModelConfig(join(folder, "config.json"));
  const tokenizer = loadTokenizer(folder);
  const parts = [...new Set(linearModules(config).map((module) => lastPart(module.name)))];
  const options = {
    model: name,
    threads,
    slots: assumedConcurrency,
    decode: (tokens: readonly TokenId[]) => tokenizer.decode(tokens),
  };
  let shared: Promise<Model> | undefined;

  const openAdapter = async (lora: AdapterSettings, from: string | undefined): Promise<OpenedModel> => {
    const model = await (shared ??= loadModel(folder));
    const adapted = adaptedConfig(config, lora);
    const adapter = from === undefined ? await inTurns(initialAdapter(adapted, lora.seed)) : await readAdapter(from, adapted);
    const engine = new LocalEngine(model, { ...options, lora }, adapter);
    return { engine, saveWeights: (to) => engine.saveAdapter(to) };
  };
  const openWhole = async (from: string): Promise<OpenedModel> => {
    // The folder that is read is not the name that is shown.
    const engine = await createLocalEngine({ ...options, model: from });
    return { engine, saveWeights: (to) => engine.saveModel(to) };
  };

  return {
    name,
    folder: resolve(folder),
    architecture: config.architecture,
    vocabularySize: config.vocabSize,
    maxLength: config.maxPositionEmbeddings,
    endTokens: tokenizer.stopTokens,
    modules: { attention: parts.filter((part) => !mlpParts.has(part)), mlp: parts.filter((part) => mlpParts.has(part)) },
    maxRank: Math.max(...linearModules(config).map(({ inputs, outputs }) => Math.min(inputs, outputs))),
    open: (trained, from) => (trained === "full" ? openWhole(from ?? folder) : openAdapter(trained, from)),
  };
}

/** Runs parts of a work, and lets others run in between. */
async function inTurns<T>(parts: Generator<undefined, T>): Promise<T> {
  for (;;) {
    const { done, value } = parts.next();
    if (done) return value;
    await host.nextTurn();
  }
}
