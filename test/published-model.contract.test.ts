import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { createLocalEngine } from "../extensions/local/engine.ts";
import { ggufFolder } from "../extensions/local/model/gguf/folder.ts";
import { loadTokenizer } from "../src/chat/tokenizer-folder.ts";

// Published models beside what others compute of them.
// RETROGRADE_SMOLLM2="$(./.ci/published smollm2)" RETROGRADE_GEMMA3="$(./.ci/published gemma3-base)" npx vitest run test/published-model.contract.test.ts
const goldenSchema = z.object({
  texts: z.array(z.string()),
  ids: z.array(z.array(z.int())),
  prompt: z.array(z.int()),
  greedy: z.array(z.int()),
  logprobs: z.array(z.number()),
});
const golden = (name: string) =>
  goldenSchema.parse(JSON.parse(readFileSync(new URL(`golden/${name}.json`, import.meta.url), "utf8")));
const { texts } = golden("smollm2");
const cache = join(mkdtempSync(join(tmpdir(), "published-")), "gguf");

describe.each([
  // golden/smollm2.py: ids of the Rust tokenizers library. PyTorch's float32 is up to 6e-5 nats away on 2,500 tokens.
  { name: "SmolLM2-135M-Instruct in Q4_1", key: "smollm2", by: "transformers", end: 2, tolerance: 2e-4 },
  // golden/gemma3.mjs: llama.cpp keeps keys and values in 16 bits.
  { name: "Gemma 3 270M in Q4_K_M", key: "gemma3", by: "llama.cpp", end: 1, tolerance: 2e-2 },
])("$name", ({ key, by, end, tolerance }) => {
  const variable = `RETROGRADE_${key.toUpperCase()}`;
  const file = process.env[variable];
  const why = file === undefined ? ` (skipped: set ${variable}, as .ci/published prints it)` : "";
  const { ids, prompt, greedy, logprobs: expected } = golden(key);

  test.skipIf(file === undefined)(`its ids are the reference's${why}`, async () => {
    const tokenizer = loadTokenizer(await ggufFolder(file ?? "", cache));
    expect(texts.map((text) => tokenizer.encode(text))).toEqual(ids);
    expect(tokenizer.stopTokens[0]).toBe(end);
  });

  // Queries in another order move log-probs by whole nats.
  test.skipIf(file === undefined)(`its log-probs and greedy text are those of ${by}${why}`, async () => {
    const engine = await createLocalEngine({ model: await ggufFolder(file ?? "", cache), threads: 1 });
    const row = [...prompt, ...greedy];
    const [logprobs] = await engine.logprobs([{ trajectory: "a", turn: 0, context: row.slice(0, 1), action: row.slice(1) }], {
      temperature: 1,
    });
    for (const [i, logprob] of logprobs.entries()) expect(Math.abs(logprob - expected[i])).toBeLessThan(tolerance);
    const drawn = await engine.sample({ context: prompt, maxTokens: greedy.length, stopTokens: [end], seed: 1, temperature: 0 });
    expect(drawn.tokens).toEqual(greedy);
    await engine.dispose();
  });
});
