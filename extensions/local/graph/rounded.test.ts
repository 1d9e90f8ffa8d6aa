import { expect, test } from "vitest";
import { EngineError } from "../../../src/core/errors.ts";
import { randomStream } from "../../../src/core/random.ts";
import { dequantise4, quantise4 } from "../model/int4.ts";
import { quantise8 as quantise } from "../model/int8.ts";
import { checkInt8Error, measureInt8Error, requireExactInt8 } from "./exact-int8.ts";
import { Graph } from "./graph.ts";
import { serialise } from "./onnx.ts";
import { integersOf, scalesOf, useRoundedProducts } from "./rounded.ts";
import { Session } from "./session.ts";

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
  useRoundedProducts(g, (name) => (name === "w" ? quantise(matrix, columns, inner) : undefined));
  expect(g.inputs.map(({ name }) => name)).toEqual(["x"]);
  expect(g.constants.map(({ tensor }) => tensor.name)).toEqual([integersOf("w"), scalesOf("w")]);
  const session = await Session.open(g, { threads: 1 });
  const { y } = await session.run({ x: { data: x, shape: [x.length / inner, inner] } }, ["y"]);
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

test("a large matrix, which is beside the model, is multiplied by as a small one", async () => {
  const [k, n] = [256, 300];
  const g = new Graph();
  const w = numbers(n * k, "large");
  g.output("y", g.matmul(g.input("x", ["R", k]), g.input("layer.0.w", [n, k]), { transB: true }));
  const { integers, scales } = quantise(w, n, k);
  useRoundedProducts(g, () => ({ bits: 8, outputs: n, inputs: k, integers, scales }));
  expect((await serialise(g)).length).toBeLessThan(integers.length / 8);
  const session = await Session.open(g, { threads: 1 });
  const x = Float32Array.from({ length: k }, (_, i) => ((7 * i) % 255) - 127); // the scale of the row is 1
  const { y } = await session.run({ x: { data: x, shape: [1, k] } }, ["y"]);
  await session.close();
  for (let o = 0; o < n; o++) {
    const sum = x.reduce((total, value, i) => total + value * integers[i * n + o], 0);
    expect(Math.abs(y[o] - sum * scales[o])).toBeLessThan(1e-6 * Math.abs(sum * scales[o]) + 1e-6);
  }
});

test.each([64, 70])(
  "a product in 4 bits of %i inputs is that of the float32 matrix, but for the rounding of activations",
  async (k) => {
    const [n, rows] = [37, 5];
    const matrix = quantise4(numbers(n * k, "w"), n, k);
    const w = dequantise4(matrix, new Float32Array(n * k));
    const g = new Graph();
    g.output("y", g.matmul(g.input("x", ["R", k]), g.input("w", [n, k]), { transB: true }));
    useRoundedProducts(g, () => matrix);
    const session = await Session.open(g, { threads: 1 });
    const x = numbers(rows * k, "x");
    const run = async (from: number, to: number) =>
      (await session.run({ x: { data: x.slice(from * k, to * k), shape: [to - from, k] } }, ["y"])).y;
    const together = await run(0, rows);
    for (let row = 0; row < rows; row++) {
      const line = x.subarray(row * k, (row + 1) * k);
      const step = Math.max(...line.map(Math.abs)) / 127;
      const alone = await run(row, row + 1);
      for (let o = 0; o < n; o++) {
        const weights = w.subarray(o * k, (o + 1) * k);
        const exact = line.reduce((sum, value, i) => sum + value * weights[i], 0);
        const most = (step / 2) * weights.reduce((sum, weight) => sum + Math.abs(weight), 0);
        expect(Math.abs(together[row * n + o] - exact)).toBeLessThan(most + 1e-5);
        // Kernels for one row and for several add up in another order.
        expect(Math.abs(together[row * n + o] - alone[o])).toBeLessThan(1e-4);
      }
    }
    await session.close();
  },
);

test("a matrix whose rows are read too stays beside its 8 bits", () => {
  const g = new Graph();
  const table = g.input("table", [columns, inner]);
  const x = g.gather(table, g.input("ids", ["R"], "int32"));
  g.output("y", g.matmul(x, table, { transB: true }));
  useRoundedProducts(g, () => quantise(numbers(columns * inner, "table"), columns, inner));
  expect(g.inputs.map(({ name }) => name)).toEqual(["table", "ids"]);
  expect(g.nodes.map(({ op }) => op)).toEqual(["gather", "int8Product", "identity"]);
});

test("products at the bounds of 8 bits are exact here; a processor that cuts them off is refused, and so is another provider", async () => {
  expect(await measureInt8Error({ threads: 1 })).toBeLessThan(1e-6);
  expect(() => checkInt8Error(0.48)).toThrow(EngineError);
  expect(() => checkInt8Error(0.48)).toThrow("wrong by 48 %");
  await expect(requireExactInt8({ threads: 1, provider: "webgpu" })).rejects.toThrow('"float32" on webgpu');
});
