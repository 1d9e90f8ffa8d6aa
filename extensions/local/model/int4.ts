import { int4Block } from "../graph/products.ts";
import type { Int4Matrix } from "../graph/rounded.ts";

const middle = 8;

/**
 * Rounds a matrix [outputs, inputs] to the nearest of 16 values a block. The number of the largest magnitude is −8 scales, so that it is exact
 * (Q4_0 of llama.cpp).
 */
export function quantise4(matrix: Float32Array, outputs: number, inputs: number): Int4Matrix {
  const blocks = Math.ceil(inputs / int4Block);
  const packed = new Uint8Array((outputs * blocks * int4Block) / 2).fill(middle * 17);
  const scales = new Float32Array(outputs * blocks);
  for (let o = 0; o < outputs; o++)
    for (let block = 0; block < blocks; block++) {
      const start = o * inputs + block * int4Block;
      const end = Math.min(start + int4Block, (o + 1) * inputs);
      let largest = 0;
      for (let i = start; i < end; i++) if (Math.abs(matrix[i]) > Math.abs(largest)) largest = matrix[i];
      const scale = Math.fround(largest / -middle);
      scales[o * blocks + block] = scale;
      const bytes = ((o * blocks + block) * int4Block) / 2;
      for (let i = start; i < end; i++) {
        const value = scale === 0 ? middle : Math.min(15, Math.max(0, Math.round(matrix[i] / scale) + middle));
        const [byte, shift] = [bytes + ((i - start) >> 1), 4 * ((i - start) & 1)];
        packed[byte] = (packed[byte] & (0xf0 >> shift)) | (value << shift);
      }
    }
  return { bits: 4, outputs, inputs, packed, scales };
}

/** Writes the matrix [outputs, inputs] as float32 again. */
export function dequantise4({ outputs, inputs, packed, scales }: Int4Matrix, into: Float32Array): Float32Array {
  const blocks = Math.ceil(inputs / int4Block);
  for (let o = 0; o < outputs; o++)
    for (let block = 0; block < blocks; block++) {
      const scale = scales[o * blocks + block];
      const first = block * int4Block;
      const bytes = ((o * blocks + block) * int4Block) / 2;
      const [start, count] = [o * inputs + first, Math.min(int4Block, inputs - first)];
      for (let i = 0; i < count; i++) into[start + i] = (((packed[bytes + (i >> 1)] >> (4 * (i & 1))) & 15) - middle) * scale;
    }
  return into;
}
