import { expect, test } from "vitest";
import { EngineError } from "../../../core/errors.ts";
import { randomStream } from "../../../core/random.ts";
import { quantise } from "../model/int8.ts";
import { checkInt8Error, measureInt8Error, requireExactInt8 } from "./exact-int8.ts";
import { Graph } from "./graph.ts";
import { integersOf, scalesOf, useInt8Products } from "./int8.ts";
import { Session } from "./onnx.ts";

const [inner, columns] = [40, 9];

function numbers(length: number, name: string, scale = 1): Float32Array {
  const random = randomStream(1, name);
  return Float32Array.from({ length }, () => scale * random.normal());
}

/** Rows x of 40 numbers by an 8-bit matrix, as ONNX Runtime computes it. */
async function product(x: Float32Array, matrix: Float32Array): Promise<Float32Array> {
  const g = new Graph();
  const [input, w] = [g.input("x", ["R", inner]), g.input("w", [columns, inner])];
  g.output("y", g.matmul(input, w, { transB: true }));
  expect(useInt8Products(g, (name) => name === "w")).toEqual(["w"]);
  expect(g.inputs.map(({ name }) => name)).toEqual(["x", integersOf("w"), scalesOf("w")]);
  const { integers, scales } = quantise(matrix, columns, inner);
  const session = await Session.open(g, { threads: 1 });
  const feeds = {
    x: { data: x, shape: [x.length / inner, inner] },
    [integersOf("w")]: { data: integers, shape: [inner, columns] },
    [scalesOf("w")]: { data: scales, shape: [columns] },
  };
  const { y } = await session.run(feeds, ["y"]);
  await session.close();
  return y;
}

test("a product in 8 bits is the sum of integer products, by the scales of its row and its column", async () => {
  const [x, w] = [numbers(3 * inner, "x"), numbers(columns * inner, "w")];
  x.fill(0, inner, 2 * inner); // a row of zeros has no scale of its own
  const y = await product(x, w);
  const { integers, scales } = quantise(w, columns, inner);
  for (let row = 0; row < 3; row++) {
    const line = x.subarray(row * inner, (row + 1) * inner);
    const scale = Math.max(...line.map(Math.abs)) / 127;
    for (let column = 0; column < columns; column++) {
      let sum = 0;
      for (let i = 0; i < inner; i++) sum += Math.round(line[i] / (scale || 1)) * integers[i * columns + column];
      const exact = line.reduce((total, value, i) => total + value * w[column * inner + i], 0);
      const expected = sum * scale * scales[column];
      // Rounding to even or up where a number lies in the middle, and float32 of the scales.
      expect(Math.abs(y[row * columns + column] - expected)).toBeLessThan(2 * 127 * scale * scales[column] + 1e-6);
      // Errors of 40 terms, each of at most half a step of either factor.
      expect(Math.abs(y[row * columns + column] - exact)).toBeLessThan(0.15);
    }
  }
});

test("no row depends on its neighbours, to the last bit", async () => {
  const w = numbers(columns * inner, "w");
  const rows = [0.01, 1, 100].map((scale, i) => numbers(inner, `row ${i}`, scale));
  const together = await product(Float32Array.from(rows.flatMap((row) => [...row])), w);
  for (const [i, row] of rows.entries()) expect(await product(row, w)).toEqual(together.slice(i * columns, (i + 1) * columns));
});

test("a matrix whose rows are read too stays beside its 8 bits", () => {
  const g = new Graph();
  const table = g.input("table", [columns, inner]);
  const x = g.gather(table, g.input("ids", ["R"], "int32"));
  g.output("y", g.matmul(x, table, { transB: true }));
  useInt8Products(g, () => true);
  expect(g.inputs.map(({ name }) => name)).toEqual(["table", "ids", integersOf("table"), scalesOf("table")]);
  expect(g.nodes.map(({ op }) => op)).toEqual(["gather", "int8Product", "identity"]);
});

test("products at the bounds of 8 bits are exact here; a processor that cuts them off is refused, and so is another provider", async () => {
  expect(await measureInt8Error({ threads: 1 })).toBeLessThan(1e-6);
  expect(() => checkInt8Error(0.48)).toThrow(EngineError);
  expect(() => checkInt8Error(0.48)).toThrow("wrong by 48 %");
  await expect(requireExactInt8({ threads: 1, provider: "webgpu" })).rejects.toThrow('"float32" on webgpu');
});
