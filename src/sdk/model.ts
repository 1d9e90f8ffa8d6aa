import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Chat, makeChat } from "../agents/chat.ts";
import { checkVocabulary, loadTokenizer } from "../agents/tokenizer.ts";
import { ConfigError } from "../core/errors.ts";
import type { Engine } from "../engines/engine.ts";
import { createLocalEngine } from "../engines/local/engine.ts";
import { layout } from "../runs/layout.ts";

const defaultModel = fileURLToPath(new URL("../../models/office", import.meta.url));

/**
 * The folder of a model: "default" is the one that comes with the package, a run's folder stands for the model that it trained.
 * @throws ConfigError if there is no model
 */
export function modelFolder(model: string): string {
  const folder = model === "default" ? defaultModel : existsSync(layout.run(model)) ? layout.model(model) : model;
  if (existsSync(join(folder, "config.json"))) return folder;
  throw new ConfigError("model", model, {
    expected: 'a folder with config.json, model.safetensors and tokenizer.json, or "default"',
    hint: existsSync(layout.run(model))
      ? "This run has not finished, so it has no model yet: continue it with --resume."
      : existsSync(folder)
        ? "The folder is there, but it has no config.json."
        : `There is no folder ${folder}.`,
  });
}

export interface Model {
  readonly engine: Engine;
  readonly chat: Chat;
}

/**
 * Loads a model into the local engine.
 * @throws ModelError naming the file of the folder that is wrong
 */
export async function openModel(folder: string, threads: number): Promise<Model> {
  const tokenizer = loadTokenizer(folder);
  const chat = makeChat(tokenizer);
  const engine = await createLocalEngine({ model: folder, threads, decode: (tokens) => tokenizer.decode(tokens) });
  checkVocabulary(tokenizer, engine.info.vocabularySize, folder);
  return { engine, chat };
}
