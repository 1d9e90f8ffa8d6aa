import { expect, test } from "vitest";
import { randomStream } from "../../../src/core/random.ts";
import { int4Block } from "../graph/products.ts";
import { dequantise4, quantise4 } from "./int4.ts";

test.each([
  [5, 64],
  [3, 70],
  [2, 7],
])(
  "%i outputs of %i inputs: each number is within half a step of its block, or a whole one opposite to the largest",
  (outputs, inputs) => {
    const random = randomStream(1, "matrix");
    const matrix = Float32Array.from({ length: outputs * inputs }, () => random.normal());
    matrix.fill(0, 0, Math.min(inputs, int4Block)); // a block of zeros
    const rounded = quantise4(matrix, outputs, inputs);
    const back = dequantise4(rounded, new Float32Array(matrix.length).fill(7));
    const blocks = Math.ceil(inputs / int4Block);
    expect(rounded.scales).toHaveLength(outputs * blocks);
    expect(rounded.packed).toHaveLength(outputs * blocks * 16);
    for (const [i, value] of matrix.entries()) {
      const step = rounded.scales[Math.floor(i / inputs) * blocks + Math.floor((i % inputs) / int4Block)];
      const opposite = value * step > 0 && Math.abs(value) > 7.5 * Math.abs(step);
      expect(Math.abs(back[i] - value)).toBeLessThanOrEqual((opposite ? 1.001 : 0.5001) * Math.abs(step));
    }
    // Rounding what is already rounded changes nothing but the form of zeros.
    expect(dequantise4(quantise4(back, outputs, inputs), new Float32Array(matrix.length)).map((x) => x + 0)).toEqual(
      back.map((x) => x + 0),
    );
  },
);
