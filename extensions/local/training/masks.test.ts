import { expect, test } from "vitest";
import { Graph } from "../graph/graph.ts";
import { Session } from "../graph/session.ts";
import { loadModel } from "../model/model-folder.ts";
import { batchMasks } from "./masks.fixture.ts";
import { exceeds, masks } from "./masks.ts";
import { packBatch, packRows } from "./packing.ts";
import { pick } from "./training-graph.ts";

const folder = new URL("../../../test/golden/models/gemma3_text", import.meta.url).pathname;
const tokens = (length: number, from = 0) => Array.from({ length }, (_, i) => (7 * (i + from)) % 50);
// Branches after 4 and after 9 tokens, a sample apart, and padding.
const samples = [
  { trajectory: "a", turn: 0, context: tokens(4), action: tokens(9, 4) },
  { trajectory: "b", turn: 0, context: tokens(4), action: tokens(3, 20) },
  { trajectory: "c", turn: 0, context: tokens(9), action: tokens(5, 30) },
  { trajectory: "d", turn: 0, context: tokens(3, 40), action: tokens(2) },
];

test("a graph hides what parents do not lead to, with a window and without, for all tokens and for those that are read", async () => {
  const { config: golden } = await loadModel(folder);
  const config = { ...golden, layers: 4, window: 3, layerTypes: ["full", "sliding", "full", "sliding"] as const };
  const batch = packBatch(packRows(samples, 20));
  expect(batch.rows).toBeGreaterThan(1);
  const [whole, narrow] = [batchMasks(batch), batchMasks(batch, 3)];
  const sees = (line: Float32Array) => Array.from(line, (hidden) => (hidden === 0 ? "sees" : hidden <= -1e9 ? "hidden" : hidden));
  for (const [layers, expected] of [
    [4, { 0: whole.mask, 1: narrow.mask, 2: whole.mask, 3: narrow.queryMask }],
    [3, { 0: whole.mask, 1: narrow.mask, 2: whole.queryMask }],
  ] as const) {
    const g = new Graph();
    const maskOf = masks.build(g, { ...config, layers });
    for (const layer of Object.keys(expected)) g.output(layer, maskOf(Number(layer)));
    expect(maskOf(0)).toBe(maskOf(0));
    const session = await Session.open(g, { threads: 1 });
    const feeds = masks.feeds(batch);
    const found = await session.run(
      pick(
        feeds,
        g.inputs.map(({ name }) => name),
      ),
      Object.keys(expected),
    );
    await session.close();
    for (const [layer, mask] of Object.entries(expected)) expect(sees(found[layer])).toEqual(sees(mask));
  }
});

test("a batch exceeds a window that its longest path has more tokens than", () => {
  const batch = packBatch(packRows(samples, 20)); // paths of 12, 13 and 4 tokens: the last of an action is none
  expect([12, 13, 14].map((window) => exceeds(batch, window))).toEqual([true, false, false]);
});
