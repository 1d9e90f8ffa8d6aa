import "../../test/office.ts";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { startHub } from "../../test/hub-server.ts";
import { ModelError } from "../core/errors.ts";
import { modelFolder, oneThread, source, use } from "./model.fixture.ts";
import { openModel } from "./model.ts";

test("a model from the Hub samples what it samples from its folder", async () => {
  const hub = await startHub(source);
  vi.stubEnv("HF_ENDPOINT", hub.endpoint);
  const sampled = await Promise.all(
    [source, await modelFolder(hub.repo)].map(async (folder) => {
      const { engine } = await openModel(folder, oneThread, { use });
      const { tokens } = await engine.sample({ context: [1, 2, 3], maxTokens: 8, stopTokens: [], seed: 1 });
      await engine.dispose();
      return tokens;
    }),
  );
  expect(sampled[0]).toHaveLength(8);
  expect(sampled[1]).toEqual(sampled[0]);
});

const config = JSON.parse(readFileSync(join(source, "config.json"), "utf8"));
test.each([
  ["another architecture", { model_type: "mamba" }, /model_type in .*models--tiny--letters.* is "mamba"; expected "qwen3"/],
  ["GPTQ", { quantization_config: { quant_method: "gptq", bits: 4 } }, /quantization_config in .*gptq.*use the float version/],
  ["AWQ", { quantization_config: { quant_method: "awq" } }, /quantization_config in .*awq/],
  ["fp8", { quantization_config: { quant_method: "fp8" } }, /quantization_config in .*fp8/],
])("%s is refused by name before the weights are fetched", async (_, change, text) => {
  const hub = await startHub(source, { files: { "config.json": JSON.stringify({ ...config, ...change }) } });
  vi.stubEnv("HF_ENDPOINT", hub.endpoint);
  const error = await modelFolder(hub.repo).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(ModelError);
  expect(String(error)).toMatch(text);
  expect(hub.fetched()).toEqual(["config.json"]);
});

test("weights that were cut off after they were verified are named", async () => {
  const hub = await startHub(source);
  vi.stubEnv("HF_ENDPOINT", hub.endpoint);
  const file = join(await modelFolder(hub.repo), "model.safetensors");
  writeFileSync(file, readFileSync(file).subarray(0, -100));
  await expect(openModel(await modelFolder(hub.repo), oneThread, { use })).rejects.toThrow(
    /size of .*model.safetensors.*It is truncated in tensor/,
  );
});
