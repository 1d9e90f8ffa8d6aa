import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { publishedNames } from "../../src/hub/published.ts";
import { localEngine } from "./kind.ts";
import { publishedSizes } from "./published-sizes.ts";

test("every published model whose size is known is found by its name", () => {
  expect(publishedNames).toEqual(expect.arrayContaining(Object.keys(publishedSizes)));
});

test("where less is allowed than there is, training is planned for what is allowed", async () => {
  vi.stubEnv("RETROGRADE_MEMORY", "16");
  const folder = mkdtempSync(join(tmpdir(), "retrograde-shape-"));
  const sizes = { vocab_size: 49152, hidden_size: 576, intermediate_size: 1536, num_hidden_layers: 30, num_attention_heads: 9 };
  const more = { num_key_value_heads: 3, max_position_embeddings: 8192, rms_norm_eps: 1e-5, tie_word_embeddings: true };
  writeFileSync(join(folder, "config.json"), JSON.stringify({ model_type: "llama", eos_token_id: 2, ...sizes, ...more }));
  const purpose = { use: { training: true, length: 512, concurrency: 8, trajectories: 64 } };
  // As usual it would take 7.0 GiB, with small passes 2.9.
  const inspect = (memory: number) =>
    localEngine.inspect?.(join(folder, "config.json"), folder, { device: "cpu", threads: 1, memory }, purpose.use);
  await inspect(3);
  await expect(inspect(2.8)).rejects.toThrow(/memory is 2.8; expected at least 2.9 GiB/);
});
