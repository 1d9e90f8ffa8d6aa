import { existsSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { readBounded } from "../files/bounded.ts";
import { attempt, checked, chooseTemplate, makeTokenizer, type Tokenizer } from "./tokenizer.ts";

/** The largest tokenizers, of 262,144 tokens, have 34 MB. */
const largestFile = 50 * 2 ** 20;

const fieldsSchema = z.record(z.string(), z.unknown());
const endIdsSchema = z.looseObject({ eos_token_id: z.union([z.number(), z.array(z.number())]).nullish() });

/**
 * Reads `tokenizer.json`, `tokenizer_config.json` and what is there of `special_tokens_map.json`, `added_tokens.json`, chat templates,
 * `generation_config.json` and `config.json`.
 * @throws ModelError if a file is missing, broken, or names no token that ends a turn
 * @example
 * loadTokenizer("models/office").encode("Hello");
 */
export function loadTokenizer(folder: string): Tokenizer {
  const file = (name: string) => join(folder, name);
  const endIds = ["generation_config.json", "config.json"].map(
    (name) => readJson(endIdsSchema, file(name), {}).eos_token_id ?? [],
  );
  const template = (name: string) => (existsSync(file(name)) ? readText(file(name)) : undefined);
  const settings = readJson(fieldsSchema, file("tokenizer_config.json"), {});
  return makeTokenizer(
    {
      tokenizer: readJson(z.unknown(), file("tokenizer.json")),
      config: {
        ...readJson(fieldsSchema, file("chat_template.json"), {}),
        ...settings,
        ...(settings.added_tokens_decoder === undefined && olderSettings(file)),
      },
      chatTemplate: chooseTemplate(template("chat_template.jinja"), template("additional_chat_templates/tool_use.jinja")),
      endIds: endIds.flat(),
    },
    folder,
  );
}

/** Where `tokenizer_config.json` lists no added tokens, transformers reads files that it wrote until 4.33, and puts them first. */
function olderSettings(file: (name: string) => string): Readonly<Record<string, unknown>> {
  const added = Object.entries(readJson(z.record(z.string(), z.int()), file("added_tokens.json"), {}));
  return {
    ...readJson(fieldsSchema, file("special_tokens_map.json"), {}),
    added_tokens_decoder: Object.fromEntries(added.map(([content, id]) => [id, { content }])),
  };
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
