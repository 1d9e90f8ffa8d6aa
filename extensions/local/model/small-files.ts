import { existsSync } from "node:fs";
import { join } from "node:path";
import type { z } from "zod";
import { ModelError, reasonOf } from "../../../src/core/errors.ts";
import { parseJson } from "../../../src/core/json.ts";
import { readBounded } from "../../../src/files/bounded.ts";
import { isSignedHere } from "../../../src/files/own-key.ts";

/** The largest index of published shards has 15 MB, the largest tokenizers 34 MB. */
const largest = 64 * 2 ** 20;

export const copyAgain = "Copy or download the file again.";

/** Reads a file beside weights whole. @throws ModelError if it is no regular file, or too large */
export function readSmall(file: string, expected: string, hint?: string): Buffer {
  try {
    return readBounded(file, largest);
  } catch (cause) {
    throw new ModelError(file, `not readable (${reasonOf(cause)})`, { expected, hint, cause });
  }
}

/** The same as JSON of one form. @throws ModelError if it is of another */
export function readJson<Schema extends z.ZodType>(file: string, schema: Schema, expected: string, hint?: string) {
  const text = readSmall(file, expected, hint).toString("utf8");
  return parseJson(text, schema, (form, cause) => new ModelError(file, "malformed", { expected: form, hint: copyAgain, cause }));
}

/** A file that names others, as JSON, and whether this machine wrote it. Undefined where there is none. @throws ModelError if it is malformed */
export function readSigned<Schema extends z.ZodObject>(folder: string, name: string, schema: Schema, expected: string) {
  const file = join(folder, name);
  if (!existsSync(file)) return undefined;
  const content = readJson(file, schema, expected);
  return { ...content, isOwn: isSignedHere(name, content) };
}
