import { existsSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { readBounded } from "../files/bounded.ts";
import { attempt, checked, makeTokenizer, type Tokenizer } from "./tokenizer.ts";

/** The largest tokenizers, of 262,144 tokens, have 34 MB. */
const largestFile = 50 * 2 ** 20;

const endIdsSchema = z.looseObject({ eos_token_id: z.union([z.number(), z.array(z.number())]).nullish() });

/**
 * Reads `tokenizer.json`, `tokenizer_config.json` and what is there of `chat_template.jinja`, `chat_template.json`,
 * `generation_config.json` and `config.json`.
 * @throws ModelError if a file is missing, broken, or names no token that ends a turn
 * @example
 * loadTokenizer("models/office-classic").encode("Hello");
 */
export function loadTokenizer(folder: string): Tokenizer {
  const file = (name: string) => join(folder, name);
  const endIds = ["generation_config.json", "config.json"].map(
    (name) => readJson(endIdsSchema, file(name), {}).eos_token_id ?? [],
  );
  const chatTemplate = existsSync(file("chat_template.jinja"))
    ? readText(file("chat_template.jinja"))
    : readJson(z.looseObject({ chat_template: z.string().optional() }), file("chat_template.json"), {}).chat_template;
  return makeTokenizer(
    {
      tokenizer: readJson(z.unknown(), file("tokenizer.json")),
      config: readJson(z.unknown(), file("tokenizer_config.json"), {}),
      chatTemplate,
      endIds: endIds.flat(),
    },
    folder,
  );
}

/** @param ifMissing used instead of a file that need not be there */
function readJson<Schema extends z.ZodType>(schema: Schema, path: string, ifMissing?: z.input<Schema>): z.output<Schema> {
  const value: unknown =
    ifMissing !== undefined && !existsSync(path) ? ifMissing : attempt(path, () => JSON.parse(readText(path)));
  return checked(schema, value, path);
}

function readText(path: string): string {
  return attempt(path, () => readBounded(path, largestFile).toString("utf8"));
}
