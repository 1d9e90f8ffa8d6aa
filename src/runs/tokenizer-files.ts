import { existsSync } from "node:fs";
import { join } from "node:path";
import { readBounded } from "../files/bounded.ts";
import { checksumsName, damageOf, writeChecksums } from "./checksums.ts";
import { largestRecord, writeFileAtomic, writeFolderAtomic } from "./files.ts";
import { layout } from "./layout.ts";
import { damaged } from "./read.ts";

/** Files of a model folder that say how its ids are read as text. */
const names = [
  ...["tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json", "generation_config.json"],
  ...["chat_template.jinja", "chat_template.json", "additional_chat_templates/tool_use.jinja"],
];

/** Copies a model's tokenizer into a run's folder, once. */
export async function keepTokenizer(folder: string, modelFolder: string): Promise<void> {
  if (existsSync(layout.tokenizer(folder))) return;
  await writeFolderAtomic(layout.tokenizer(folder), async (into) => {
    for (const name of names) {
      const from = join(modelFolder, name); // in a cache of the Hub a link
      if (existsSync(from)) writeFileAtomic(join(into, name), readBounded(from, largestRecord));
    }
    writeChecksums(into);
  });
}

/**
 * Returns the folder with a run's tokenizer. Undefined where it has none.
 * @throws RunError if it is not as it was written
 */
export function tokenizerFolder(folder: string): string | undefined {
  const [path] = foldersOf(folder);
  if (path === undefined) return undefined;
  const damage = existsSync(join(path, checksumsName)) ? damageOf(path) : undefined;
  if (damage !== undefined) throw damaged(path, damage);
  return path;
}

function foldersOf(folder: string): string[] {
  return [layout.tokenizer(folder), layout.model(folder)].filter((path) => existsSync(join(path, "tokenizer.json")));
}
