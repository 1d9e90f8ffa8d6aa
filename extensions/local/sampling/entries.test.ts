import { expect, test } from "vitest";
import { GrowableFloats } from "../machine/growable.ts";
import { deviceCapacity, rowsFor } from "./device-slots.ts";
import { cacheBytesOfToken, capacityFor, entrySizes } from "./entries.ts";
import { shortestClass } from "./row-pools.ts";
import { areInputs } from "./sampling-graph.ts";
import { prefillChunk, stepInputs } from "./step-inputs.ts";

test("a convolution has what it adds up instead of keys, and no values", () => {
  const shape = { layers: 3, kvHeads: 2, headDim: 4, hiddenSize: 12, layerTypes: ["full", "conv", "sliding"] as const };
  expect(entrySizes(shape)).toEqual({ keys: [4, 6, 4], values: [4, 0, 4] });
  expect(cacheBytesOfToken(shape)).toBe(4 * 2 * (4 + 6 + 4 + 4 + 0 + 4));
  expect(entrySizes({ layers: 2, kvHeads: 2, headDim: 4 })).toEqual({ keys: [4, 4], values: [4, 4] });
});

test("slots have room in steps", () => {
  expect([1, 64, 65, 1024, 1025, 1281].map(capacityFor)).toEqual([64, 64, 128, 1024, 1280, 1536]);
  // Steps of 64 up to 511, of an eighth to a quarter from there on.
  expect([1, 64, 65, 511, 512, 513, 1023, 1025].map(deviceCapacity)).toEqual([64, 64, 128, 512, 512, 640, 1024, 1280]);
  expect([1, 2, 3, 4, 5, 9].map(rowsFor)).toEqual([1, 2, 4, 4, 8, 16]);
});

test("the shortest class is where the padding of sixteen rows reads what a step of their own would", () => {
  const config = {
    ...{ architecture: "qwen2" as const, eosTokenIds: [], maxPositionEmbeddings: 2048, rmsNormEps: 1e-6, attentionBias: false },
    ...{ rope: { theta: 1e4, scaling: undefined }, qkNorm: false, tieWordEmbeddings: true, kvHeads: 1, headDim: 64 },
    ...{ hiddenSize: 128, intermediateSize: 256, layers: 4, heads: 2, vocabSize: 512 },
  };
  // 1.2 MB of weights and 10 MB of dispatch, over sixteen rows of 2 kB a token: 342 tokens; in 8 bits, 314.
  const tokens = (weights: "float32" | "int8") => shortestClass(config, { weights });
  expect([tokens("float32"), tokens("int8")]).toEqual([512, 512]);
  const wide = { ...config, vocabSize: 200_000 };
  expect([shortestClass(wide, { weights: "float32" }), shortestClass(wide, { weights: "int8" })]).toEqual([4096, 2048]);
});

test("a run's inputs: each row's next tokens, their positions, what they see, and which distribution is read", () => {
  const row = (tokens: number[], pending: number[], temperature: number) => ({
    ...{ tokens, pending, choice: { temperature, topP: 1, topK: 0 } },
  });
  const inputs = stepInputs([row([7, 8], [1, 2, 3, 4], 0.5), row([9], [5, 6], 0)], 3, 2, new GrowableFloats());
  expect(inputs).toMatchObject({ rows: 2, chunk: 3, cached: 2 });
  expect(Array.from(inputs.tokens)).toEqual([1, 2, 3, 5, 6, 0]);
  expect(Array.from(inputs.positions)).toEqual([2n, 3n, 4n, 1n, 2n, 0n]);
  expect(Array.from(inputs.read)).toEqual([2, 4]);
  expect(Array.from(inputs.inverseTemperatures)).toEqual([2, 1]);
  // Two that are cached, of which the second row has one; then those of the run up to the token itself.
  const seen = Array.from({ length: 6 }, (_, line) =>
    Array.from(inputs.mask.subarray(5 * line, 5 * line + 5), (value) => (value === 0 ? "x" : ".")).join(""),
  );
  expect(seen).toEqual(["xxx..", "xxxx.", "xxxxx", "x.x..", "x.xx.", "x.xxx"]);
  expect(Math.max(...inputs.mask.filter((value) => value !== 0))).toBeLessThan(-1e8);
});

test("a sampler's weights are inputs from 512 MiB on, unless it is set", () => {
  expect([2 ** 29 - 1, 2 ** 29].map((bytes) => areInputs(bytes))).toEqual([false, true]);
  expect([areInputs(0, true), areInputs(2 ** 40, false)]).toEqual([true, false]);
});

test("a run over prompts takes as many tokens as 64 MiB of scores have, 16 to 1,024", () => {
  // 4 bytes for each head, row and token that is seen: those cached, and 1,024 new ones.
  expect(prefillChunk(16, 1, 0)).toBe(1024);
  expect(prefillChunk(16, 1, 1)).toBe(Math.floor(2 ** 20 / 1025));
  expect(prefillChunk(16, 4, 3072)).toBe(64);
  expect([prefillChunk(16, 1, 62_000), prefillChunk(16, 1, 2 ** 17)]).toEqual([16, 16]);
});
