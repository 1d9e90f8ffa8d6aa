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

test("a decoding step in bfloat16 rounds no keys and values: that would copy a cache in every step", () => {
  const [heads, size] = [2, 4];
  const g = new Graph();
  const cache = (name: string) => g.input(name, ["R", heads, size, "S"]);
  const [q, mask] = [g.input("q", ["R", 2 * heads, 1, size]), g.input("mask", ["R", 1, 1, "S"])];
  const attended = g.apply("columnAttention", [q, cache("keys"), cache("values"), mask], { scale: 0.3 })[0];
  g.output("y", g.matmul(g.reshape(attended, ["R", 2 * heads * size]), g.input("w", [3, 2 * heads * size]), { transB: true }));
  const rounded = roundProducts(lower(g, "cuda").nodes);
  const casts = rounded.filter(({ type }) => type === "Cast").map(({ inputs }) => inputs[0]);
  expect(casts).toContain("w");
  expect(casts).not.toEqual(expect.arrayContaining(["keys"]));
  expect(casts).not.toEqual(expect.arrayContaining(["values"]));
});
