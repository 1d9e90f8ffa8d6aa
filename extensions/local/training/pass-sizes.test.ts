import { expect, test } from "vitest";
import type { ModelConfig } from "../model/model-config.ts";
import {
  activationsOfToken,
  blockQueries,
  isLayered,
  keptBytesOfToken,
  layeredBytes,
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

test("a pass layer by layer holds its arrays, both halves' sessions and the head; some of it stays with the process", () => {
  const size = { tokens: 100, row: 50, longest: 40, scored: 20, lora: false };
  // 20 tokens are read, 100 are queries of a block, and rows are seen whole: 50 tokens. Numbers:
  const kept = 3 * 64 * 100 + (2 * 100 + 20) * 64;
  const masks = 100 * 100 + 100 * 50;
  const ofLayer = (4 * 64 + (3 * 4 + 4 * 2) * 16) * 100;
  const arrays = kept + ofLayer + masks + 4 * 50 * 32 + 3 * 20 * 64 + 2 * 20 * 64;
  const [joined, mlp, scores] = [2 * 128 * 64, 4 * 100 * 64, 4 * 100 * 50];
  const forwardProjections = 100 * (64 + 5 * 128) + joined + 20 * (64 + 5 * 64) + 100 * (64 + 5 * 64) + joined;
  const forward = forwardProjections + 100 * (3 * 100 + 3 * 64) + mlp + 2 * scores + 100 * 64 + 2 * 50 * 32;
  const backwardProjections =
    100 * (3 * 64 + 6 * 128) + 2 * joined + 20 * (3 * 64 + 6 * 64) + 100 * (3 * 64 + 6 * 64) + 2 * joined;
  const backward = backwardProjections + 100 * (6 * 100 + 5 * 64 + 2 * 64) + 2 * mlp + 3.5 * scores + 2 * 100 * 64 + 4 * 50 * 32;
  const head = 3 * 20 * 1000;
  expect(layeredBytes(config, size)).toEqual({
    held: 4 * (arrays + forward + backward + head),
    left: 4 * (forwardProjections + backwardProjections + head),
  });
  expect(layeredBytes(config, size)).toEqual({ held: 3_712_736, left: 1_759_616 });

  // A window has two masks more; an adapter a product more of each projection, and of gate, up and down.
  const { held, left } = layeredBytes(config, size);
  expect(layeredBytes({ ...config, window: 8 }, size)).toEqual({ held: held + 4 * 2 * 100 * 100, left });
  const products = 100 * 128 + 20 * 64 + 100 * 64;
  expect(layeredBytes(config, { ...size, lora: true })).toEqual({
    held: held + 4 * 2 * (products + 100 * (2 * 100 + 64)),
    left: left + 4 * 2 * products,
  });
  // More are not read than there are, and no sequence is longer than its row.
  expect(layeredBytes(config, { ...size, scored: 100, longest: 50 })).toEqual(layeredBytes(config, { ...size, scored: 100 }));
  expect(layeredBytes(config, { ...size, scored: 1000 }).held - layeredBytes(config, { ...size, scored: 100 }).held).toBe(
    4 * 900 * (2 * 64 + 3 * 1000),
  );
});

test("what is large comes in pieces, and is given back", () => {
  // 2,000 of 10,000 tokens meet a head of 2^17 words 128 at a time, and at most 1,120 pass through a part of a layer.
  const wide = { ...config, hiddenSize: 1024, intermediateSize: 2048, heads: 16, kvHeads: 8, headDim: 64, vocabSize: 2 ** 17 };
  const sizes = { tokens: 10_000, row: 4096, longest: 3000, scored: 2000, lora: false };
  const piece = 10_000 / 9;
  expect(pieceTokens(wide)).toBe(1120);
  const [q, kv, width] = [1024, 512, 2048];
  const queries = blockQueries(wide, 4096);
  expect([queries, logitTokens(wide)]).toEqual([96, 128]);
  const longest = 3096;
  const arrays =
    3 * 1024 * 10_000 +
    (2 * 10_000 + 2000) * q +
    (4 * 1024 + (48 + 32) * 64) * 10_000 +
    10_000 * queries +
    queries * longest +
    4 * longest * kv +
    3 * 2000 * 1024 +
    2 * 128 * 1024;
  const read = 2000 / 2;
  const scores = 16 * queries * longest;
  const forward = [piece * (1024 + 5 * width), read * (1024 + 5 * q), piece * (1024 + 5 * 2 * kv)];
  const backward = [piece * (3072 + 6 * width), read * (3072 + 6 * q), piece * (3072 + 6 * 2 * kv)];
  const others = [
    [piece * (3 * 2048 + 3 * 1024), 2 * scores + queries * q + 2 * longest * kv],
    [piece * (6 * 2048 + 5 * 1024 + 2 * q), 3.5 * scores + 2 * queries * q + 4 * longest * kv],
  ];
  const sum = (...parts: readonly number[]) => parts.reduce((all, part) => all + part, 0);
  const head = 3 * 128 * 2 ** 17;
  const behind = Math.max(head, sum(...backward, ...(others[1] ?? [])) + 2 ** 23);
  const { held, left } = layeredBytes(wide, sizes);
  expect(held).toBeCloseTo(4 * (arrays + sum(...forward, ...(others[0] ?? [])) + behind), 0);
  const most = 32 * 2 ** 20;
  expect(left).toBeCloseTo(sum(...[...forward, ...backward, head].map((part) => Math.min(4 * part, most))), 0);
  // Some stay whole, others are given back in part.
  expect([...forward, ...backward, head].map((part) => 4 * part > most)).toEqual([true, false, false, true, true, true, true]);
});
