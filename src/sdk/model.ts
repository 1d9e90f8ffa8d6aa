import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { factsOf } from "../algorithms/algorithms.ts";
import { type Chat, makeChat } from "../chat/chat.ts";
import type { ChatSettings } from "../chat/settings.ts";
import { checkVocabulary, type Tokenizer } from "../chat/tokenizer.ts";
import { loadTokenizer } from "../chat/tokenizer-folder.ts";
import { ConfigError, ModelError } from "../core/errors.ts";
import { didYouMean } from "../core/settings.ts";
import { wholeContext } from "../core/whole-context.ts";
import type { Engine } from "../engines/engine.ts";
import {
  type EngineConfig,
  type EnginePurpose,
  type EngineUse,
  engineKind,
  type ModelFiles,
  modelFiles,
} from "../engines/registry.ts";
import { fetchFiles } from "../hub/dataset.ts";
import type { HubEvent } from "../hub/fetch.ts";
import { fetchModel } from "../hub/model.ts";
import { formatHubName, type HubName, parseHubName } from "../hub/name.ts";
import { fetchPublished, type PublishedFile, publishedModel, publishedNames } from "../hub/published.ts";
import { checksumsName, damageOf } from "../runs/checksums.ts";
import { layout } from "../runs/layout.ts";
import { commandPrefix, quoted } from "../terminal/invocation.ts";
import { defaultEnvironment } from "../training/config/defaults.ts";
import { bundledModels, bundledPrefix, defaultModels, isBundled } from "../training/config/known-models.ts";
import type { TrainingConfig } from "../training/config/settings.ts";
import { requireTrusted } from "./trust.ts";

/** The folder of a bundled model. @throws ConfigError if an environment has none */
function bundledModel(model: string, environment: string): string {
  const names = bundledModels();
  const name = model === "default" ? environment : model.slice(bundledPrefix.length);
  if (names.includes(name)) return fileURLToPath(new URL(name, defaultModels));
  if (model !== "default") throw new ConfigError("model", model, { expected: names.map((each) => bundledPrefix + each) });
  const toTeach = defaultEnvironment()?.name ?? names[0];
  throw new ConfigError("model", model, {
    expected: `a model for the environment "${environment}": a folder, a run's folder or a name on the Hugging Face Hub`,
    hint:
      `The bundled models know only their own worlds (${names.join(", ")}). Name a model that was trained to call tools, such as ` +
      `"qwen3-0.6b", or teach a bundled one your task by demonstrations: retrograde-rl sft --model ${bundledPrefix}${toTeach}.`,
  });
}

/**
 * The settings that decide it: the model's name, the environment's where that is "default", and whether the engine needs the
 * weights here.
 */
export type ModelChoice = Pick<TrainingConfig, "model"> & {
  readonly environment: { readonly name: string };
  readonly engine?: EngineConfig;
};

/** Where a model is: in a folder, in another file, in a published file that is fetched by its SHA-256, or on the Hugging Face Hub, there perhaps in a file. */
export type ModelSource =
  | { readonly folder: string }
  | { readonly file: string; readonly form: ModelFiles }
  | { readonly published: PublishedFile }
  | { readonly hub: HubName; readonly file?: string; readonly form?: ModelFiles };

/** A model in another file than a folder's: a path, or `OWNER/NAME:FILE` on the Hub. */
function findFile(model: string): ModelSource | undefined {
  for (const form of modelFiles()) {
    const file = form.find(model);
    if (file === undefined) continue;
    const colon = file.indexOf(":");
    const hub = existsSync(file) || colon === -1 ? undefined : parseHubName(file.slice(0, colon));
    return hub === undefined ? { file, form } : { hub, file: file.slice(colon + 1), form };
  }
  return undefined;
}

/**
 * Finds the model that a name means: "default" is the one that is bundled with its environment, "bundled:NAME" that of another one,
 * a run's folder means the model that it trained, any other folder itself; then come the names of other files that an engine reads; what is no
 * folder is the name of a published model, or one on the Hub. Looks at this machine alone.
 * @throws ConfigError if it is neither
 */
export function findModel({ model, environment: { name }, engine }: ModelChoice): ModelSource {
  const file = findFile(model);
  if (file !== undefined) return file;
  const published = existsSync(model) ? undefined : publishedModel(model);
  if (published !== undefined) return "hub" in published ? { hub: published.hub } : { published: published.published };
  const isRun = existsSync(layout.run(model));
  const folder = isBundled(model) ? bundledModel(model, name) : isRun ? layout.model(model) : model;
  const needed = engineKind(engine).inspect ? "config.json" : "tokenizer.json";
  if (existsSync(join(folder, needed))) return { folder };
  const hub = existsSync(model) ? undefined : parseHubName(model);
  if (hub !== undefined) return { hub };
  throw new ConfigError("model", model, {
    expected:
      "a folder with config.json, model.safetensors and tokenizer.json, a run's folder, " +
      `${modelFiles()
        .flatMap(({ names }) => names.map((each) => `${each}, `))
        .join("")}a name on the Hugging Face Hub, "default", "bundled:NAME", ` +
      `or a published model: ${publishedNames.join(", ")}`,
    hint: isRun
      ? `This run has not finished, so it has no model yet. Continue it: ${commandPrefix()} train --resume --out ${quoted(model)}, or take a checkpoint's: ${commandPrefix()} runs model ${quoted(model)} --out FOLDER.`
      : existsSync(folder)
        ? `The folder is there, but it has no ${needed}.`
        : (didYouMean(model, publishedNames) ??
          `There is no folder ${folder}, and a name on the Hub is owner/name or owner/name@revision.`),
  });
}

/**
 * The folder of a model, downloaded first if it is on the Hub and not yet in the cache.
 * @param onDownload learns how far that is
 * @param use what the model is for: whether the machine's memory will do is then said before its weights are downloaded
 * @throws ConfigError if there is no such model; ModelError if it cannot be had, or is not one that the local engine computes
 * @throws EngineError if this machine has too little memory for it
 */
export async function modelFolder(choice: ModelChoice, onDownload?: (event: HubEvent) => void, use?: EngineUse): Promise<string> {
  const source = findModel(choice);
  if ("folder" in source) return asWritten(source.folder);
  if ("published" in source) return unpacked(await fetchPublished(source.published, { onEvent: onDownload }));
  if (!("hub" in source)) return source.form.folder(source.file);
  if (source.file !== undefined && source.form !== undefined) {
    const parts = await source.form.parts(source.file);
    const { files } = await fetchFiles("model", source.hub, parts, { onEvent: onDownload });
    return source.form.folder(files[0]?.file ?? source.file);
  }
  const kind = engineKind(choice.engine);
  const inspect = kind.inspect && ((file: string) => kind.inspect?.(file, formatHubName(source.hub), choice.engine, use));
  return fetchModel(source.hub, { onEvent: onDownload, ...(inspect ? { inspect } : { weights: false }) });
}

/** @throws ModelError if no engine here reads such a file */
function unpacked(file: string): Promise<string> {
  const form = modelFiles().find(({ find }) => find(file) !== undefined);
  if (form === undefined) throw new ModelError(file, "a file that no engine here reads", { expected: "a folder of a model" });
  return form.folder(file);
}

/**
 * @throws ModelError if a model that a run trained is not as it was written
 * @throws UntrustedError if the folder is from elsewhere and takes weights from other places of this machine
 */
async function asWritten(folder: string): Promise<string> {
  const damage = existsSync(join(folder, checksumsName)) ? damageOf(folder) : undefined;
  const elsewhere = await Promise.all(modelFiles().map((form) => form.elsewhere(folder)));
  const acts = elsewhere.flatMap(({ places }) => places.map((what) => [{ kind: "reads" as const, what }]));
  requireTrusted(folder, () => elsewhere.every(({ isOwn }) => isOwn), acts);
  if (damage === undefined) return folder;
  throw new ModelError(folder, `damaged (${damage})`, {
    expected: "a model as its run wrote it",
    hint: `Copy it again from its source. If you changed it yourself, delete its ${checksumsName}.`,
  });
}

/** The chat side of a model: tokenizer and template. It needs none of the weights. */
export interface ChatSide {
  readonly tokenizer: Tokenizer;
  readonly chat: Chat;
}

/** Reads a model folder's tokenizer and chat template. @throws ModelError naming the file that is wrong */
export function openChat(folder: string, settings?: ChatSettings): ChatSide {
  const tokenizer = loadTokenizer(folder);
  return { tokenizer, chat: makeChat(tokenizer, settings) };
}

export interface Model {
  readonly engine: Engine;
  readonly chat: Chat;
  /** The device that computes, in words for people. */
  readonly device: string;
}

/**
 * Opens a model with the engine that a configuration chose.
 * @param folder of the tokenizer and the chat template, and of the weights where the engine computes on this machine
 * @param settings how the chat template is used
 * @throws ConfigError for settings of the engine that do not fit the model
 * @throws EngineError if this machine has too little memory for it, or not the device
 * @throws ModelError naming the file of the folder that is wrong
 */
export async function openModel(
  folder: string,
  engine: EngineConfig,
  purpose: EnginePurpose = {},
  settings?: ChatSettings,
): Promise<Model> {
  const kind = engineKind(engine);
  if (purpose.use !== undefined) await kind.inspect?.(join(folder, "config.json"), folder, engine, purpose.use);
  const { tokenizer, chat } = openChat(folder, settings);
  const opened = await kind.open(engine, { folder, tokenizer }, purpose);
  try {
    checkVocabulary(tokenizer, opened.engine.info.vocabularySize, folder);
  } catch (error) {
    await opened.engine.dispose();
    throw error;
  }
  return { ...opened, chat };
}

/** Nobody knows in advance how long episodes get: what is shorter than this is not worth training on. */
export const assumedLength = 512;

/** The settings that decide how much memory a run takes, beside its engine's own. */
type UsedMemory = Pick<TrainingConfig, "rollout" | "algorithm">;

/** The use of the engine in a run of a configuration. */
export function trainingUse({ rollout, algorithm }: UsedMemory): EngineUse {
  const needed = factsOf(algorithm).capabilities;
  const longest = rollout.maxTokens === wholeContext ? assumedLength : rollout.maxTokens;
  return {
    training: true,
    length: Math.max(assumedLength, longest),
    trajectories: rollout.tasksPerStep * rollout.groupSize,
    concurrency: rollout.concurrency,
    ahead: rollout.ahead,
    reference: needed.includes("reference"),
    critic: needed.includes("critic"),
  };
}

/** The same of sampling without training. */
export function samplingUse(config: UsedMemory): EngineUse {
  return { ...trainingUse(config), training: false };
}
