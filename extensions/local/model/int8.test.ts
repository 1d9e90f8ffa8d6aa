import { expect, test } from "vitest";
import { randomStream } from "../../../src/core/random.ts";
import { dequantise8 as dequantise, quantise8 as quantise } from "./int8.ts";

test.each([
  [70, 131],
  [3, 5],
])("of %i outputs and %i inputs each number is within half a step of its output", (outputs, inputs) => {
  const random = randomStream(1, "matrix");
  const matrix = Float32Array.from({ length: outputs * inputs }, (_, i) => random.normal() * (1 + Math.floor(i / inputs)));
  matrix.fill(0, 0, inputs);
  const rounded = quantise(matrix, outputs, inputs);
  const back = dequantise(rounded, new Float32Array(matrix.length));
  for (const [i, value] of matrix.entries()) {
    const step = rounded.scales[Math.floor(i / inputs)];
    expect(Math.abs(back[i] - value)).toBeLessThanOrEqual(0.5001 * step);
  }
  expect(Math.max(...rounded.integers)).toBeLessThanOrEqual(127);
  // Rounding what is already rounded changes nothing.
  expect(quantise(back, outputs, inputs).integers).toEqual(rounded.integers);
});
