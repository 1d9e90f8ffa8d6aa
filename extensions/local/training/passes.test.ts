import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { entropyHead, logprobHead } from "../model/heads.ts";
import type { ModelConfig } from "../model/model-config.ts";
import { packBatch, packRows } from "./packing.ts";
import { wholeGraphBytes } from "./pass-sizes.ts";
import { Passes, type PassesOptions } from "./passes.ts";
import { RecomputingGraph } from "./recompute.ts";
import { TrainingGraph } from "./training-graph.ts";

const config: ModelConfig = {
  ...{ architecture: "qwen2", eosTokenIds: [], maxPositionEmbeddings: 64, rmsNormEps: 1e-6, attentionBias: false },
  ...{ rope: { theta: 1e4, scaling: undefined }, qkNorm: false, tieWordEmbeddings: true, kvHeads: 1, headDim: 4 },
  ...{ hiddenSize: 8, intermediateSize: 8, layers: 2, heads: 2, vocabSize: 16 },
};
const trained = new Map([["w", [100]]]);
const batch = packBatch(packRows([{ trajectory: "a", turn: 0, context: [1, 2], action: [3] }], 64));
const bytes = wholeGraphBytes(config, batch, trained);

/** What the graphs are asked, of both heads together: nothing is computed. */
let asked: string[];
beforeEach(() => {
  asked = [];
  for (const [name, graph] of [
    ["whole", TrainingGraph],
    ["layered", RecomputingGraph],
  ] as const) {
    const note = (what: string) => async () => {
      asked.push(`${what} ${name}`);
      return new Float32Array([name.length]);
    };
    vi.spyOn(graph.prototype, "forward").mockImplementation(note("forward"));
    vi.spyOn(graph.prototype, "backward").mockImplementation(note("backward"));
    vi.spyOn(graph.prototype, "close").mockImplementation(async () => void (await note("close")()));
  }
});
afterEach(() => vi.restoreAllMocks());

const passesOf = (options: Partial<PassesOptions> = {}) =>
  new Passes(config, [logprobHead, entropyHead], { threads: 1, trained, ...options });
const forward = (passes: Passes) => passes.forward({ batch }, new Map());
const since = () => asked.splice(0);
const closed = (name: string) => [1, 2].map(() => `close ${name}`);

test("a pass is whole where its bytes fit, and otherwise layer by layer; the two are not held at once", async () => {
  const [fits, tooSmall] = [passesOf({ passBytes: bytes }), passesOf({ passBytes: bytes - 1 })];
  expect(await forward(fits)).toEqual(Float32Array.of("whole".length));
  expect(since()).toEqual([...closed("layered"), "forward whole"]);
  expect(await forward(tooSmall)).toEqual(Float32Array.of("layered".length));
  expect(since()).toEqual(["forward layered"]); // nothing whole to close
  expect(await forward(passesOf())).toEqual(Float32Array.of("whole".length));
});

test("recomputing, and a base in fewer bits, decide it whatever fits", async () => {
  for (const [options, name] of [
    [{ recompute: true, passBytes: bytes }, "layered"],
    [{ recompute: false, passBytes: 0 }, "whole"],
    [{ recompute: false, rounded: new Map() }, "layered"],
  ] as const) {
    since();
    await forward(passesOf(options));
    expect(asked.at(-1)).toBe(`forward ${name}`);
  }
});

test("a backward pass is of the head that reads as many numbers as there are weights", async () => {
  const passes = passesOf();
  const weights = [Float32Array.of(1)];
  const gradients = new Map([["w", new Float32Array(100)]]);
  await passes.backward({ batch, weights }, new Map(), gradients, true);
  await passes.backward({ batch, weights: [...weights, ...weights] }, new Map(), gradients, false);
  const { mock } = vi.mocked(TrainingGraph.prototype.backward);
  expect(mock.contexts[0]).not.toBe(mock.contexts[1]);
  expect(mock.calls.map(([, , , empty]) => empty)).toEqual([true, false]);
  await forward(passes);
  expect(vi.mocked(TrainingGraph.prototype.forward).mock.contexts[0]).toBe(mock.contexts[0]);
});

test("a small whole graph stays open at rest; a large one, and one beside layers, is closed", async () => {
  const rested = async (options: Partial<PassesOptions>, passes = passesOf(options)) => {
    await forward(passes);
    since();
    await passes.rest();
    return since();
  };
  const layers = closed("layered");
  expect(await rested({})).toEqual(layers);
  expect(await rested({ restBytes: bytes })).toEqual(layers);
  expect(await rested({ restBytes: bytes - 1 })).toEqual([...layers, ...closed("whole")]);
  expect(await rested({ passBytes: 0 })).toEqual([...layers, ...closed("whole")]);
  // What is closed once is closed.
  const passes = passesOf({ passBytes: 0 });
  await rested({}, passes);
  await passes.rest();
  expect(since()).toEqual(layers);
});

test("a whole graph is closed before a pass layer by layer, and all are in the end", async () => {
  const longer = packBatch(packRows([{ trajectory: "a", turn: 0, context: Array(40).fill(1), action: [3, 4] }], 64));
  const passes = passesOf({ passBytes: bytes });
  await forward(passes);
  since();
  await passes.forward({ batch: longer }, new Map());
  expect(since()).toEqual([...closed("whole"), "forward layered"]);
  await passes.close();
  expect(since().toSorted()).toEqual([...closed("layered"), ...closed("whole")]);
});
