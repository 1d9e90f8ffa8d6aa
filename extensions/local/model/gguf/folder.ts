import { createHash } from "node:crypto";
import { existsSync, mkdirSync, realpathSync, statSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import { ModelError } from "../../../../src/core/errors.ts";
import { writeSharedFolder } from "../../../../src/files/atomic.ts";
import { signatureOf } from "../../../../src/files/own-key.ts";
import { readSigned } from "../small-files.ts";
import { configOf } from "./config.ts";
import { ggufParts, readGguf } from "./file.ts";
import { tokenizerOf } from "./tokenizer.ts";
import { frequenciesName, readTensor } from "./weights.ts";

/** Beside `config.json` and the tokenizer: where the weights lie, instead of `model.safetensors`. */
const referenceName = "gguf.json";
const referenceSchema = z.object({ parts: z.array(z.string()).min(1), origin: z.string().optional() });

/** Folders of an older layout are not found again. */
const layoutVersion = 2;

/**
 * A model folder for a GGUF file, in the cache: `config.json` and the tokenizer from its metadata, and the name of the file, which stays where it is.
 * Made once for a file of that size and time.
 * @param cache default: `retrograde/gguf` in XDG_CACHE_HOME, or in ~/.cache
 * @throws ModelError naming the file and the field that is missing or not computed
 */
export async function ggufFolder(file: string, cache: string = defaultCache()): Promise<string> {
  if (!existsSync(file)) throw new ModelError(file, undefined, { expected: "a GGUF file", hint: "Check the path." });
  const parts = ggufParts(realpathSync(file));
  const folder = join(cache, identity(parts));
  if (existsSync(join(folder, referenceName))) return folder;
  const gguf = await readGguf(parts);
  const frequencies = gguf.tensors.get(frequenciesName);
  const config = configOf(gguf, file, frequencies && (await readTensor(frequencies)));
  const { tokenizer, config: tokenizerConfig } = tokenizerOf(gguf, file);
  mkdirSync(cache, { recursive: true });
  await writeSharedFolder(folder, async (into) => {
    const files = {
      "config.json": config,
      "generation_config.json": { bos_token_id: config.bos_token_id, eos_token_id: config.eos_token_id },
      "tokenizer.json": tokenizer,
      "tokenizer_config.json": tokenizerConfig,
      [referenceName]: { parts, origin: signatureOf(referenceName, { parts }) },
    };
    for (const [name, value] of Object.entries(files)) writeFileSync(join(into, name), `${JSON.stringify(value)}\n`);
  });
  return folder;
}

/**
 * The GGUF files that a folder's weights lie in, and whether this machine wrote their names. Undefined if it has none.
 * @throws ModelError if the file of names is malformed
 */
export function namedParts(folder: string) {
  return readSigned(folder, referenceName, referenceSchema, "the names of GGUF files");
}

function identity(parts: readonly string[]): string {
  const described = parts.map((part) => {
    const { size, mtimeMs } = statSync(part);
    return [part, size, mtimeMs];
  });
  return createHash("sha256")
    .update(JSON.stringify([layoutVersion, described]))
    .digest("hex")
    .slice(0, 32);
}

function defaultCache(): string {
  return join(process.env.XDG_CACHE_HOME || join(homedir(), ".cache"), "retrograde", "gguf");
}
