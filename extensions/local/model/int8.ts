import type { Int8Matrix } from "../graph/rounded.ts";

/** Rows and columns that are transposed at a time: both sides stay in the processor's cache. */
const tile = 64;

/** Rounds a matrix [outputs, inputs] to the nearest of 255 values an output. */
export function quantise8(matrix: Float32Array, outputs: number, inputs: number): Int8Matrix {
  const integers = new Int8Array(matrix.length);
  const scales = new Float32Array(outputs);
  for (let o = 0; o < outputs; o++) {
    let largest = 0;
    for (let i = o * inputs; i < (o + 1) * inputs; i++) largest = Math.max(largest, Math.abs(matrix[i]));
    scales[o] = Math.max(largest, 1e-30) / 127;
  }
  eachTile(outputs, inputs, (o, from, to) => {
    for (let i = from; i < to; i++) integers[i * outputs + o] = Math.round(matrix[o * inputs + i] / scales[o]);
  });
  return { bits: 8, outputs, inputs, integers, scales };
}

/** Writes the matrix [outputs, inputs] as float32 again. */
export function dequantise8({ outputs, inputs, integers, scales }: Int8Matrix, into: Float32Array): Float32Array {
  eachTile(outputs, inputs, (o, from, to) => {
    for (let i = from; i < to; i++) into[o * inputs + i] = integers[i * outputs + o] * scales[o];
  });
  return into;
}

function eachTile(outputs: number, inputs: number, visit: (output: number, from: number, to: number) => void): void {
  for (let o = 0; o < outputs; o += tile)
    for (let i = 0; i < inputs; i += tile)
      for (let each = o; each < Math.min(o + tile, outputs); each++) visit(each, i, Math.min(i + tile, inputs));
}
