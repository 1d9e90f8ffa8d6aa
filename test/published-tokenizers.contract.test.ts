import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { z } from "zod";
import { loadTokenizer } from "../src/chat/tokenizer-folder.ts";

// Published tokenizers beside the Rust library's ids (golden/tokenizer_ids.py): numerals beyond ASCII, several scripts, spaces, special tokens, byte order marks.
// RETROGRADE_TOKENIZERS="$(./.ci/tokenizers)" npx vitest run test/published-tokenizers.contract.test.ts
const folder = process.env.RETROGRADE_TOKENIZERS;
const why = folder === undefined ? " (skipped: set RETROGRADE_TOKENIZERS, as .ci/tokenizers prints it)" : "";
const read = (name: string): unknown => JSON.parse(readFileSync(new URL(`golden/${name}`, import.meta.url), "utf8"));
const { texts } = z.object({ texts: z.array(z.string()) }).parse(read("smollm2.json"));
const goldenSchema = z.object({ more: z.array(z.string()), ids: z.record(z.string(), z.array(z.array(z.int()))) });
const { more, ids } = goldenSchema.parse(read("tokenizers.json"));

test.skipIf(folder === undefined).each(Object.keys(ids))(`%s has the ids of the Rust tokenizers library${why}`, (name) => {
  const tokenizer = loadTokenizer(join(folder ?? "", name));
  expect([...texts, ...more].map((text) => tokenizer.encode(text))).toEqual(ids[name]);
});
