import { expect, test } from "vitest";
import { requireConsistent } from "../options.ts";
import { Graph } from "./graph.ts";
import { lower } from "./onnx.ts";
import { roundProducts } from "./precision.ts";

test("every product takes rounded factors, each rounded once, and gives float32", () => {
  const g = new Graph();
  const [x, w] = [g.input("x", ["N", 4]), g.input("w", [4, 4])];
  g.output("y", g.add(g.matmul(g.silu(g.matmul(x, w)), w, { transB: true }), x));
  const plain = lower(g, "cuda").nodes;
  const rounded = roundProducts(plain);
  const kinds = ["MatMul", "Gemm", "FusedMatMul"];
  const casts = rounded.filter(({ type }) => type === "Cast");
  const castTo = new Map(casts.map(({ outputs, attributes }) => [outputs[0], attributes?.to]));
  const products = rounded.filter(({ type }) => kinds.includes(type));
  expect(products.length).toBe(2);
  for (const { inputs } of products) for (const input of inputs) expect(castTo.get(input)).toEqual({ int: 16 });
  expect(casts.filter(({ inputs }) => inputs[0] === "w")).toHaveLength(1);
  for (const { inputs, type } of rounded)
    if (!kinds.includes(type) && type !== "Cast") for (const input of inputs) expect(castTo.get(input)).not.toEqual({ int: 16 });
  const made = rounded.flatMap(({ outputs }) => outputs);
  expect(new Set(made).size).toBe(made.length);
  for (const { outputs } of plain) expect(made).toEqual(expect.arrayContaining([...outputs]));
});

test.each(["cpu", "webgpu"] as const)("fewer bits are refused by name on %s", (provider) => {
  const refused = () => requireConsistent({ model: "any", provider, precision: "bfloat16" });
  expect(refused).toThrow('precision is "bfloat16"; expected "float32", as device is not "cuda"');
  expect(() => requireConsistent({ model: "any", provider: "cuda", precision: "bfloat16" })).not.toThrow();
});
