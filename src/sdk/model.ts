import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Chat, makeChat } from "../chat/chat.ts";
import { checkVocabulary, loadTokenizer } from "../chat/tokenizer.ts";
import { ConfigError } from "../core/errors.ts";
import type { TokenId } from "../core/trajectory.ts";
import type { Engine } from "../engines/engine.ts";
import { type Choice, chooseProvider, type Device } from "../engines/local/device-choice.ts";
import { createLocalEngine, type LoraOptions } from "../engines/local/engine.ts";
import { availableMemory } from "../engines/local/machine/memory-available.ts";
import { type MemoryUse, requireMemory } from "../engines/local/memory.ts";
import { readModelConfig } from "../engines/local/model/model-folder.ts";
import { fetchModel, type HubEvent } from "../hub/model.ts";
import { formatHubName, type HubName, parseHubName } from "../hub/name.ts";
import { layout } from "../runs/layout.ts";
import type { TrainingConfig } from "../training/config.ts";

const defaultModels = new URL("../../models/", import.meta.url);

/** The model of a world that comes along has learned this world's texts; environments of other names get the office's. */
function defaultModel(environment: string): string {
  return fileURLToPath(new URL(environment === "knowledge" ? "knowledge" : "office-classic", defaultModels));
}

/** What decides it: the model's name, and the environment's where that is "default". */
export type ModelChoice = Pick<TrainingConfig, "model"> & { readonly environment: { readonly name: string } };

/** Where a model is: in a folder, or on the Hugging Face Hub. */
export type ModelSource = { readonly folder: string } | { readonly hub: HubName };

/**
 * What a model's name stands for: "default" is the one that comes with the package for an environment, a run's folder stands for the
 * model that it trained, any other folder for itself; what is no folder is a name on the Hub. Looks at this machine alone.
 * @throws ConfigError if it is neither
 */
export function findModel({ model, environment: { name } }: ModelChoice): ModelSource {
  const isRun = existsSync(layout.run(model));
  const folder = model === "default" ? defaultModel(name) : isRun ? layout.model(model) : model;
  if (existsSync(join(folder, "config.json"))) return { folder };
  const hub = existsSync(model) ? undefined : parseHubName(model);
  if (hub !== undefined) return { hub };
  throw new ConfigError("model", model, {
    expected: 'a folder with config.json, model.safetensors and tokenizer.json, a name on the Hugging Face Hub, or "default"',
    hint: isRun
      ? "This run has not finished, so it has no model yet: continue it with --resume."
      : existsSync(folder)
        ? "The folder is there, but it has no config.json."
        : `There is no folder ${folder}, and a name on the Hub is owner/name or owner/name@revision.`,
  });
}

/**
 * The folder of a model, downloaded first if it is on the Hub and not yet in the cache.
 * @param onDownload is told how far that is
 * @param use what the model is for: whether the machine's memory will do is then said before its weights are downloaded
 * @throws ConfigError if there is no such model; ModelError if it cannot be had, or is not one that the local engine computes
 * @throws EngineError if this machine has too little memory for it
 */
export async function modelFolder(choice: ModelChoice, onDownload?: (event: HubEvent) => void, use?: MemoryUse): Promise<string> {
  const source = findModel(choice);
  if ("folder" in source) return source.folder;
  const inspect = async (configFile: string) => {
    const config = await readModelConfig(configFile);
    if (use !== undefined) requireMemory(formatHubName(source.hub), config, use, availableMemory());
  };
  return fetchModel(source.hub, { onEvent: onDownload, inspect });
}

export interface Model {
  readonly engine: Engine;
  readonly chat: Chat;
  /** What computes. */
  readonly device: Choice;
}

/**
 * Loads a model into the local engine.
 * @param use what the model is for: whether the machine's memory will do is then said before anything is loaded
 * @param device the CPU if left out
 * @param lora the adapter to train; none if left out
 * @throws EngineError if this machine has too little memory for it, or not the device
 * @throws ConfigError for an adapter that does not fit the model
 * @throws ModelError naming the file of the folder that is wrong
 */
export async function openModel(
  folder: string,
  threads: number,
  use?: MemoryUse,
  device: Device = "cpu",
  lora?: LoraOptions,
): Promise<Model> {
  if (use !== undefined) requireMemory(folder, await readModelConfig(join(folder, "config.json")), use, availableMemory());
  const tokenizer = loadTokenizer(folder);
  const chat = makeChat(tokenizer);
  const choice = await chooseProvider(device, threads);
  const { provider } = choice;
  const decode = (tokens: readonly TokenId[]) => tokenizer.decode(tokens);
  const engine = await createLocalEngine({ model: folder, threads, provider, lora, decode });
  checkVocabulary(tokenizer, engine.info.vocabularySize, folder);
  return { engine, chat, device: choice };
}

/** Nobody knows beforehand how long episodes get: what is shorter than this is not worth training on. */
export const assumedLength = 512;

/** Memory that a run of a configuration takes. */
export function trainingUse({ rollout, lora }: TrainingConfig): MemoryUse {
  const length = Math.max(assumedLength, rollout.maxTokens);
  return { training: true, length, concurrency: rollout.concurrency, ahead: rollout.ahead, lora };
}

/** The same of sampling without training. */
export function samplingUse(config: TrainingConfig): MemoryUse {
  return { ...trainingUse(config), training: false };
}
