import { copyFileSync, existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { writeFolderAtomic } from "./files.ts";
import { layout } from "./layout.ts";

/** Files of a model folder that say how its ids are read as text. */
const names = ["tokenizer.json", "tokenizer_config.json", "chat_template.jinja", "chat_template.json", "generation_config.json"];

/** Copies a model's tokenizer into a run's folder, once. */
export async function keepTokenizer(folder: string, modelFolder: string): Promise<void> {
  if (existsSync(layout.tokenizer(folder))) return;
  await writeFolderAtomic(layout.tokenizer(folder), async (into) => {
    mkdirSync(into, { recursive: true });
    for (const name of names) if (existsSync(join(modelFolder, name))) copyFileSync(join(modelFolder, name), join(into, name));
  });
}

/** Returns the folder with a run's tokenizer. Undefined where it has none, as an unfinished run of version 0.1. */
export function tokenizerFolder(folder: string): string | undefined {
  return [layout.tokenizer(folder), layout.model(folder)].find((path) => existsSync(join(path, "tokenizer.json")));
}
