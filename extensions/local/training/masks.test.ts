import { expect, test } from "vitest";
import { Graph } from "../graph/graph.ts";
import { Session } from "../graph/session.ts";
import { loadModel } from "../model/model-folder.ts";
import { computedMasks, givenMasks } from "./masks.ts";
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

test("masks that are computed hide what the given ones hide, with a window and without", async () => {
  const { config: golden } = await loadModel(folder);
  const config = { ...golden, layers: 4, window: 3, layerTypes: ["full", "sliding", "full", "sliding"] as const };
  const batch = packBatch(packRows(samples, 20));
  expect(batch.rows).toBeGreaterThan(1);
  const seen = [];
  for (const masks of [givenMasks, computedMasks]) {
    const g = new Graph();
    const maskOf = masks.build(g, config);
    for (const layer of [0, 1, 3]) g.output(`seen/${layer}`, maskOf(layer));
    const read = new Graph();
    const readMaskOf = masks.build(read, { ...config, layers: 3 });
    read.output("seen/2", readMaskOf(2));
    for (const graph of [g, read]) {
      const session = await Session.open(graph, { threads: 1 });
      const names = graph.outputs.map(({ name }) => name);
      const inputs = graph.inputs.map(({ name }) => name);
      const feeds = pick(masks.feeds(batch, config), inputs);
      const made = await session.run(feeds, names);
      await session.close();
      seen.push(
        names.map((name) => Array.from(made[name], (hidden) => (hidden === 0 ? "sees" : hidden <= -1e9 ? "hidden" : hidden))),
      );
    }
  }
  expect(seen.slice(2)).toEqual(seen.slice(0, 2));
  expect(new Set(seen.flat(2))).toEqual(new Set(["sees", "hidden"]));
});
