import { expect, test } from "vitest";
import type { ModelConfig } from "../model/model-config.ts";
import {
  activationsOfToken,
  blockQueries,
  isLayered,
  keptBytesOfToken,
  logitBytesOf,
  logitTokens,
  passLimits,
  pieceTokens,
  wholeGraphBytes,
  wholeGraphTokens,
} from "./pass-sizes.ts";

const config: ModelConfig = {
  ...{ architecture: "qwen2", eosTokenIds: [], maxPositionEmbeddings: 2048, rmsNormEps: 1e-6, attentionBias: false },
  ...{ rope: { theta: 1e4, scaling: undefined }, qkNorm: false, tieWordEmbeddings: true, kvHeads: 2, headDim: 16 },
  ...{ hiddenSize: 64, intermediateSize: 100, layers: 3, heads: 4, vocabSize: 1000 },
};

test("numbers and bytes of a token are those of what is held of it", () => {
  // 6·64 of residuals and norms, 3·(4 + 2·2)·16 of heads, 5·100 of the MLP; scores with each token of a row in 4 heads.
  expect(activationsOfToken(config, 0)).toBe(384 + 384 + 500);
  expect(activationsOfToken(config, 10)).toBe(384 + 384 + 500 + 40);
  expect(keptBytesOfToken(config)).toBe(4 * 3 * (64 + 64));
});

test("pieces fill their memory, and blocks have 32 to 256 queries, eight by eight", () => {
  expect(logitTokens(config)).toBe(Math.floor(2 ** 26 / 4000));
  expect(logitTokens({ ...config, vocabSize: 2 ** 25 })).toBe(1);
  // 96 MiB of 1268 numbers: 19,846.4 tokens, the next multiple of 8.
  expect(pieceTokens(config)).toBe(19_848);
  expect([64, 6000, 12_000, 10 ** 6].map((length) => blockQueries(config, length))).toEqual([256, 256, 128, 32]);
});

test("a whole graph holds its activations, four matrices of logits and its gradients twice", () => {
  const batch = { rows: 2, length: 10, queryCount: 6, targets: { length: 5 } };
  const trained = new Map([["w", [64, 100]]]);
  expect(logitBytesOf(config, batch)).toBe(4 * 5 * 1000);
  const layers = 2 * (2 * 10 + 6) * 1308;
  expect(wholeGraphBytes(config, batch, trained)).toBe(4 * (layers + 4 * 5 * 1000 + 2 * 6400));
  // 3 layers of 1308 numbers and a quarter of a token's four lines of logits.
  expect(wholeGraphTokens(config, 10, 4 * (3 * 1308 + 1000) * 7 + 1)).toBe(7);
  expect(wholeGraphTokens(config, 10, 4 * (3 * 1308 + 4000) * 7, 1)).toBe(7);
});

test("a batch is made layer by layer where its rows, its logits or its bytes are too many", () => {
  const batch = (changes: object = {}) => ({ rows: 1, length: 1024, queryCount: 8, targets: { length: 8 }, ...changes });
  const layered = (changes: object, most?: number, limits = passLimits("cpu")) =>
    isLayered(config, batch(changes), new Map(), most, limits);
  expect([layered({}), layered({ length: 1032 })]).toEqual([false, true]);
  const most = wholeGraphBytes(config, batch(), new Map());
  expect([layered({}, most), layered({}, most - 1)]).toEqual([false, true]);
  const targets = (length: number) => ({ targets: { length } });
  expect([layered(targets(67_108), 2 ** 40), layered(targets(67_109), 2 ** 40)]).toEqual([false, true]); // 256 MiB of lines of 4 kB
  const gpu = passLimits("cuda");
  expect([layered({ length: 8192 }, 2 ** 40, gpu), layered({ length: 8200 }, 2 ** 40, gpu)]).toEqual([false, true]);
  expect([passLimits(), passLimits("webgpu")]).toEqual([passLimits("cpu"), gpu]);
  expect([passLimits().batchTokens, gpu.batchTokens]).toEqual([1536, 8192]);
});
