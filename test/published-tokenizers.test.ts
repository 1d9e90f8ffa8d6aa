import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { z } from "zod";
import { loadTokenizer } from "../src/chat/tokenizer-folder.ts";

// Published tokenizers beside the Rust library's ids (golden/tokenizer_ids.py): numerals beyond ASCII, several scripts, spaces, special tokens.
// RETROGRADE_TOKENIZERS="$(./.ci/tokenizers)" npx vitest run test/published-tokenizers.test.ts
const folder = process.env.RETROGRADE_TOKENIZERS;
const why = folder === undefined ? " (skipped: set RETROGRADE_TOKENIZERS, as .ci/tokenizers prints it)" : "";
const read = (name: string): unknown => JSON.parse(readFileSync(new URL(`golden/${name}`, import.meta.url), "utf8"));
const { texts } = z.object({ texts: z.array(z.string()) }).parse(read("smollm2.json"));
const golden = z.record(z.string(), z.array(z.array(z.int()))).parse(read("tokenizers.json"));

test.skipIf(folder === undefined).each(Object.keys(golden))(`%s has the ids of the Rust tokenizers library${why}`, (name) => {
  const tokenizer = loadTokenizer(join(folder ?? "", name));
  expect(texts.map((text) => tokenizer.encode(text))).toEqual(golden[name]);
});
