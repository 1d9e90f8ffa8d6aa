import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { createLocalEngine, LocalEngine } from "../../extensions/local/engine.ts";
import { adaptedConfig } from "../../extensions/local/held.ts";
import { estimateMemory, totalBytes } from "../../extensions/local/memory.ts";
import { readAdapter, readAdapterSettings } from "../../extensions/local/model/adapter-folder.ts";
import { initialAdapter, lastPart, linearModules } from "../../extensions/local/model/lora.ts";
import { loadModel, type Model, readModelConfig } from "../../extensions/local/model/model-folder.ts";
import type { LocalEngineOptions } from "../../extensions/local/options.ts";
import { loadTokenizer } from "../../src/chat/tokenizer-folder.ts";
import { ModelError } from "../../src/core/errors.ts";
import { host } from "../../src/core/host.ts";
import type { TokenId } from "../../src/core/trajectory.ts";
import type { AdapterSettings, OpenedModel, ServedModel, Trained } from "./served-model.ts";

/** Sequences of a server's clients are as long as they like: memory is estimated for this length, or the model's own if that is less. */
const assumedLength = 2048;
/** Actions that are sampled at a time. */
const assumedConcurrency = 32;

/**
 * A model folder as the base of clients' models. All adapters on it share its weights, which are read when the first is opened.
 * @param name that clients ask for
 */
export async function serveModel(name: string, folder: string, threads: number): Promise<ServedModel> {
  const config = await readModelConfig(join(folder, "config.json"));
  const tokenizer = loadTokenizer(folder);
  const parts = [...new Set(linearModules(config).map((module) => lastPart(module.name)))];
  const attention = parts.filter((part) => !mlpParts.has(part));
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
    const engine = await createLocalEngine({ ...options, model: from } satisfies LocalEngineOptions);
    return { engine, saveWeights: (to) => engine.saveModel(to) };
  };

  return {
    name,
    folder: resolve(folder),
    architecture: config.architecture,
    vocabularySize: config.vocabSize,
    maxLength: config.maxPositionEmbeddings,
    endTokens: tokenizer.stopTokens,
    modules: { attention, mlp: parts.filter((part) => mlpParts.has(part)) },
    maxRank: Math.max(...linearModules(config).map(({ inputs, outputs }) => Math.min(inputs, outputs))),
    bytes: (trained) => {
      const lora = trained === "full" ? undefined : trained;
      const use = { training: true, length: assumedLength, concurrency: assumedConcurrency, lora };
      const own = estimateMemory(config, use).filter((part) => !sharedParts(trained).includes(part.name));
      return totalBytes(own);
    },
    open: (trained, from) => (trained === "full" ? openWhole(from ?? folder) : openAdapter(trained, from)),
    describe: async (at) => {
      if (existsSync(join(at, "adapter_config.json"))) return { ...(await readAdapterSettings(at, config)), seed: 0 };
      if (existsSync(join(at, "config.json"))) return "full";
      throw new ModelError(`folder ${at}`, "no weights", { expected: "adapter_config.json (PEFT), or config.json (a model)" });
    },
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

const mlpParts = new Set(["gate_proj", "up_proj", "down_proj"]);

/** Returns the parts that models on one base have once. */
function sharedParts(trained: Trained): readonly string[] {
  return ["Node and ONNX Runtime", ...(trained === "full" ? [] : ["parameters"])];
}
