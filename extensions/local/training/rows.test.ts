import { expect, test } from "vitest";
import { convolve, convolveBackward } from "./conv-pass.ts";
import { addRows, piecesOf, rowsOf, scale } from "./rows.ts";
import { ScratchArrays } from "./scratch.ts";

test("pieces are few and nearly equal, one behind another", () => {
  expect(piecesOf(10, 4)).toEqual([
    { start: 0, end: 3 },
    { start: 3, end: 6 },
    { start: 6, end: 10 },
  ]);
  expect([piecesOf(4, 4), piecesOf(0, 4), piecesOf(5, 4).length]).toEqual([[{ start: 0, end: 4 }], [], 2]);
});

test("rows are read and added to by their ids, which may repeat", () => {
  const matrix = Float32Array.of(1, 2, 3, 4, 5, 6);
  expect(rowsOf(matrix, Int32Array.of(2, 0, 2), new Float32Array(6), 2)).toEqual(Float32Array.of(5, 6, 1, 2, 5, 6));
  addRows(matrix, Int32Array.of(1, 1), Float32Array.of(10, 20, 30, 40), 2);
  expect(matrix).toEqual(Float32Array.of(1, 2, 43, 64, 5, 6));
  scale(matrix, -2);
  expect(matrix).toEqual(Float32Array.of(-2, -4, -86, -128, -10, -12));
});

test("scratch is kept by its use until it is cleared, and only grows", () => {
  const arrays = new ScratchArrays<"a" | "b" | "k">();
  const first = arrays.get("a", 4);
  first.set([1, 2, 3, 4]);
  expect(arrays.get("a", 2)).toEqual(Float32Array.of(1, 2));
  expect(arrays.get("a", 4).buffer).toBe(first.buffer);
  expect([arrays.get("b", 1), arrays.get("a", 5)]).toEqual([new Float32Array(1), new Float32Array(5)]);
  arrays.kept("k", 3).set([1, 2, 3]);
  expect([arrays.kept("k", 2), arrays.kept("k", 4)]).toEqual([Float32Array.of(1, 2), Float32Array.of(1, 2, 3, 0)]);
  expect([arrays.indices(3), arrays.indices(2), arrays.indices(4)].map((each) => [...each])).toEqual([
    [0, 1, 2],
    [0, 1],
    [0, 1, 2, 3],
  ]);
  arrays.clear();
  expect([arrays.get("a", 1), arrays.kept("k", 1)]).toEqual([new Float32Array(1), new Float32Array(1)]);
});

// Two channels, two taps; token 1 follows 0, and 2 follows 0 too: a branch. Tokens 0 and 2 are asked for.
const convolution = {
  ...{ parents: Int32Array.of(-1, 0, 0), queries: Int32Array.of(0, 2), kernel: 2 },
  weight: Float32Array.of(10, 1, 20, 2),
};
const [c, u] = [Float32Array.of(1, 1, 3, 4), Float32Array.of(1, 2, 99, 99, 5, 6)];

test("a convolution adds up what is before a token on its own path", () => {
  const o = new Float32Array(4).fill(7);
  convolve(convolution, c, u, o);
  // Token 0: 1·1 and 2·2. Token 2: 3·(1·5 + 10·1) and 4·(2·6 + 20·2).
  expect(o).toEqual(Float32Array.of(1, 4, 45, 208));
});

test("its gradients are those of each factor, and the weights' are added to what is there", () => {
  const of = {
    o: Float32Array.of(1, 1, 2, 3),
    c: new Float32Array(4).fill(7),
    u: new Float32Array(6).fill(7),
    weight: Float32Array.of(1, 0, 0, 0),
  };
  convolveBackward(convolution, c, u, of);
  expect(of.c).toEqual(Float32Array.of(1, 4, 30, 156));
  // u of token 0: 1·1·1 + 2·3·10 and 1·1·2 + 3·4·20; of token 2: 2·3·1 and 3·4·2.
  expect(of.u).toEqual(Float32Array.of(61, 242, 0, 0, 6, 24));
  // Per channel: the token before, then itself.
  expect(of.weight).toEqual(Float32Array.of(1 + 6 * 1, 1 * 1 + 6 * 5, 12 * 2, 1 * 2 + 12 * 6));
  const without = { ...of, c: new Float32Array(4), u: new Float32Array(6), weight: undefined };
  convolveBackward(convolution, c, u, without);
  expect(without).toMatchObject({ c: of.c, u: of.u });
});
