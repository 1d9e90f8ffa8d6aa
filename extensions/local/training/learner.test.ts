import { expect, test } from "vitest";
import type { ModelConfig } from "../model/model-config.ts";
import { microBatchTokens, rowTokens } from "./learner.ts";
import { activationsOfToken, keptBytesOfToken, passLimits } from "./pass-sizes.ts";

const config: ModelConfig = {
  ...{ architecture: "qwen2", eosTokenIds: [], maxPositionEmbeddings: 2048, rmsNormEps: 1e-6, attentionBias: false },
  ...{ rope: { theta: 1e4, scaling: undefined }, qkNorm: false, tieWordEmbeddings: true, kvHeads: 2, headDim: 16 },
  ...{ hiddenSize: 64, intermediateSize: 100, layers: 3, heads: 4, vocabSize: 1000 },
};

test("a row has twice its longest sample, from 192 to 768 tokens; a longer one all that memory keeps", () => {
  expect([1, 95, 96, 97, 384, 385, 768].map((longest) => rowTokens(config, longest))).toEqual([
    ...[192, 192, 192, 194, 768, 768, 768],
  ]);
  expect([769, 16_384, 16_385].map((longest) => rowTokens(config, longest))).toEqual([16_384, 16_384, 16_385]);
  // 512 MiB of the inputs of 300 layers and what attention made of them.
  const deep = { ...config, layers: 300 };
  expect(rowTokens(deep, 769)).toBe(Math.floor(2 ** 29 / keptBytesOfToken(deep)));
  expect(rowTokens(deep, 769)).toBeLessThan(16_384);
});

test("a micro-batch is as many tokens as one graph holds beside its gradients, at most 1,536", () => {
  const most = 2 ** 30;
  expect(microBatchTokens(config, 192, 0, most)).toBe(1536);
  // 4 bytes of three layers' activations and of a quarter of four lines of logits.
  const ofToken = 4 * (3 * activationsOfToken(config, 192) + 1000);
  expect(microBatchTokens(config, 192, 0, 500 * ofToken)).toBe(500);
  expect(microBatchTokens(config, 192, 1000, 500 * ofToken + 2000)).toBe(500);
  expect(microBatchTokens(config, 192, 0, 192 * ofToken)).toBe(192);
});

test("where that is less than a row, it is what one layer does in half of the memory", () => {
  const ofLayer = 4 * activationsOfToken(config, 1000);
  expect(microBatchTokens(config, 1000, 0, 2 * 700 * ofLayer)).toBe(700);
  expect(microBatchTokens(config, 2000, 0, 2 ** 40)).toBe(1536); // longer than one graph takes
});

test("all of a GPU's tokens count as scored, and lines of logits as they are on the processor", () => {
  const gpu = passLimits("cuda");
  const most = 2 ** 40;
  const wide = { ...config, vocabSize: 2 ** 17 };
  expect(microBatchTokens(config, 192, 0, most, gpu)).toBe(8192);
  expect(microBatchTokens(wide, 192, 0, most, gpu)).toBe(Math.floor((2 ** 31 - 1) / (4 * 2 ** 17)));
  expect(microBatchTokens(wide, 192, 0, most)).toBe(1536);
  expect(microBatchTokens(wide, 8192, 0, most, gpu)).toBe(8192); // layer by layer, since no row's logits fit
});
