import { expect, test } from "vitest";
import { randomStream } from "../../../src/core/random.ts";
import { fuse, type GraphContext } from "./fusions.ts";
import { Graph } from "./graph.ts";
import type { OnnxNode } from "./operator.ts";
import { Session } from "./session.ts";

const shapes: Readonly<Record<string, readonly (number | string)[]>> = {
  ...{ a: ["B", "T", 4], b: ["B", "T", 4], x: ["B", "T", 4], row: [4], ones: [4], weight: [4], wide: [1, 4] },
};
const graph: GraphContext = {
  outputs: new Set(["y"]),
  shapeOf: (name) => shapes[name],
  isOnes: (name) => name === "ones",
};
const add: OnnxNode = { type: "Add", inputs: ["a", "b"], outputs: ["x"] };
const norm: OnnxNode = {
  type: "SimplifiedLayerNormalization",
  inputs: ["x", "ones"],
  outputs: ["n", "inverse"],
  attributes: { axis: { int: -1 }, epsilon: { float: 1e-6 } },
};
const mul: OnnxNode = { type: "Mul", inputs: ["n", "weight"], outputs: ["m"] };
const use = (...inputs: string[]): OnnxNode => ({ type: "Sum", inputs, outputs: ["s"] });
const naming = (from: string): OnnxNode => ({ type: "Identity", inputs: [from], outputs: ["y"] });
const types = (nodes: readonly OnnxNode[], changes: Partial<GraphContext> = {}) =>
  fuse(nodes, { ...graph, ...changes }).map(({ type }) => type);

test("a sum, its norm and the norm's weight become one node, which gives the sum too", () => {
  const nodes = [add, norm, mul, use("m", "x"), naming("s")];
  expect(fuse(nodes, graph)).toEqual([
    {
      type: "SkipSimplifiedLayerNormalization",
      domain: "com.microsoft",
      inputs: ["a", "b", "weight"],
      outputs: ["m", "", "", "x"],
      attributes: { epsilon: { float: 1e-6 } },
    },
    { ...use("m", "x"), outputs: ["y"] },
  ]);
});

test("values that something else reads stay", () => {
  expect(types([norm, mul, use("m", "n"), naming("s")])).toContain("Mul");
  expect(types([add, norm, use("n", "inverse"), naming("s")])).toContain("Add");
  expect(types([add, use("x"), norm, { ...mul, inputs: ["n", "s"] }, naming("m")])).toContain("Add"); // read before the norm
  expect(types([add, norm, naming("n")], { outputs: new Set(["y", "x"]) })).toContain("Add");
});

test("what no kernel takes stays", () => {
  expect(types([norm, { ...mul, inputs: ["n", "wide"] }, naming("m")])).toContain("Mul");
  expect(types([{ ...norm, inputs: ["x", "weight"] }, mul, naming("m")])).toContain("Mul");
  expect(types([{ ...add, inputs: ["a", "row"] }, norm, naming("n")])).toContain("Add");
  expect(types([naming("a")])).toEqual(["Identity"]); // an input
});

test("two names of one value: one is made by its node, the other copied from it", () => {
  const nodes = [add, naming("x"), { ...naming("x"), outputs: ["z"] }];
  expect(fuse(nodes, { ...graph, outputs: new Set(["y", "z"]) })).toEqual([
    { ...add, outputs: ["y"] },
    { type: "Identity", inputs: ["y"], outputs: ["z"] },
  ]);
});

test("a session of fused nodes computes what one of plain nodes does", async () => {
  const random = randomStream(1, "fusions");
  const numbers = (count: number) => Float32Array.from({ length: count }, () => random.uniform() - 0.5);
  const [a, b, weight] = [numbers(24), numbers(24), numbers(4)];
  const build = () => {
    const g = new Graph();
    const sum = g.add(g.input("a", ["B", "T", 4]), g.input("b", ["B", "T", 4]));
    g.output("normed", g.mul(g.constant(weight, [4]), g.rmsNormalise(sum, 1e-6)));
    g.output("squared", g.mul(sum, sum));
    return g;
  };
  const feeds = { a: { data: a, shape: [2, 3, 4] }, b: { data: b, shape: [2, 3, 4] } };
  const results: Record<string, Float32Array>[] = [];
  for (const fewNodes of [true, false]) {
    const session = await Session.open(build(), { threads: 1, fewNodes });
    results.push(await session.run(feeds, ["normed", "squared"]));
    await session.close();
  }
  for (const name of ["normed", "squared"] as const)
    results[0][name].forEach((value, i) => {
      expect(value).toBeCloseTo(results[1][name][i], 6);
    });
});
