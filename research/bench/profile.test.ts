import { expect, test } from "vitest";
import { Graph } from "../../extensions/local/graph/graph.ts";
import { Session } from "../../extensions/local/graph/session.ts";
import { profiled, profileText } from "./profile.ts";

test("a profile has the nodes of a run, by operator and by the modules that they read", async () => {
  const graph = new Graph();
  const weight = graph.input("model.layers.0.mlp.up_proj.weight", [8, 8]);
  const product = graph.matmul(graph.input("x", ["N", 8]), weight, { transB: true });
  graph.output("y", graph.softmax(product));
  const [profile, ...others] = await profiled(async () => {
    const session = await Session.open(graph, { threads: 1 });
    const numbers = (rows: number) => ({ data: new Float32Array(8 * rows).fill(0.5), shape: [rows, 8] });
    for (const rows of [2, 3]) await session.run({ x: numbers(rows), [weight.name]: numbers(8) }, ["y"]);
    await session.close();
  });
  expect(others).toEqual([]);
  expect(profile).toMatchObject({ runs: 2 });
  expect(profile?.operators.map(({ name }) => name)).toEqual(expect.arrayContaining(["Softmax"]));
  expect(profile?.groups.map(({ name, nodes }) => [name, nodes])).toEqual(expect.arrayContaining([["matmul up_proj", 1]]));
  expect(profile && profileText(profile)).toContain("2 runs of ");
});
