import { Turns } from "../../machine/turns.ts";
import { fromFloat16 } from "../float-formats.ts";

/**
 * How llama.cpp stores numbers: in blocks of `values` numbers and `bytes` bytes. `read` writes the numbers of the block that begins at byte `at`
 * into `out` from `to` on, as float32 and equal to the `gguf` package's to the bit. Layouts: ggml's `ggml-common.h`.
 */
export interface GgufType {
  readonly name: string;
  readonly values: number;
  readonly bytes: number;
  readonly read: (block: Uint8Array, at: number, out: Float32Array, to: number) => void;
}

/** The value of every float16, by its bits. */
const halves = fromFloat16(Uint16Array.from({ length: 2 ** 16 }, (_, bits) => bits));
const half = (block: Uint8Array, at: number): number => halves[block[at] | (block[at + 1] << 8)];
const signed = (byte: number): number => (byte << 24) >> 24;

const scratch = new DataView(new ArrayBuffer(4));
function float32(block: Uint8Array, at: number): number {
  for (let i = 0; i < 4; i++) scratch.setUint8(i, block[at + i]);
  return scratch.getFloat32(0, true);
}

/**
 * 32 numbers, each scale · q + least, or scale · (q − middle) where there is no least: the scale, the least, where q has 5 bits the fifth of each, then
 * 4 bits of each, the lower halves of 16 bytes first and then the upper ones.
 */
function nibbled(name: string, { bits, hasLeast }: { readonly bits: 4 | 5; readonly hasLeast: boolean }): GgufType {
  const fifths = hasLeast ? 4 : 2;
  const low = fifths + (bits === 5 ? 4 : 0);
  const middle = 2 ** (bits - 1);
  const read: GgufType["read"] = (block, at, out, to) => {
    const [d, least] = [half(block, at), half(block, at + 2)];
    for (let i = 0; i < 32; i++) {
      const fifth = bits === 5 ? ((block[at + fifths + (i >> 3)] >> (i & 7)) & 1) << 4 : 0;
      const q = ((block[at + low + (i & 15)] >> (4 * (i >> 4))) & 15) | fifth;
      out[to + i] = hasLeast ? d * q + least : d * (q - middle);
    }
  };
  return { name, values: 32, bytes: low + 16, read };
}

/** Scale and minimum of group g of 8, 6 bits each (Q4_K and Q5_K): `[scale, minimum]`. */
function groupScale(block: Uint8Array, at: number, g: number): readonly [number, number] {
  if (g < 4) return [block[at + g] & 63, block[at + 4 + g] & 63];
  const low = block[at + 4 + g];
  return [(low & 15) | ((block[at + g - 4] >> 2) & 48), (low >> 4) | ((block[at + g] >> 2) & 48)];
}

/** 256 numbers in 8 groups: scale · q − minimum, with q from 4 bits and, in Q5_K, a fifth. */
function grouped(block: Uint8Array, at: number, out: Float32Array, to: number, high: number | undefined): void {
  const [d, least] = [half(block, at), half(block, at + 2)];
  const low = at + 16 + (high === undefined ? 0 : 32);
  for (let g = 0; g < 8; g++) {
    const [scale, minimum] = groupScale(block, at + 4, g);
    for (let i = 0; i < 32; i++) {
      const bits = (block[low + 32 * (g >> 1) + i] >> (4 * (g & 1))) & 15;
      const q = high === undefined ? bits : bits | (((block[at + high + i] >> g) & 1) << 4);
      out[to + 32 * g + i] = d * scale * q - least * minimum;
    }
  }
}

const types: Readonly<Record<number, GgufType>> = {
  0: { name: "F32", values: 1, bytes: 4, read: (b, at, out, to) => (out[to] = float32(b, at)) },
  1: { name: "F16", values: 1, bytes: 2, read: (b, at, out, to) => (out[to] = half(b, at)) },
  2: nibbled("Q4_0", { bits: 4, hasLeast: false }),
  3: nibbled("Q4_1", { bits: 4, hasLeast: true }),
  6: nibbled("Q5_0", { bits: 5, hasLeast: false }),
  7: nibbled("Q5_1", { bits: 5, hasLeast: true }),
  8: {
    name: "Q8_0",
    values: 32,
    bytes: 34,
    read: (b, at, out, to) => {
      const d = half(b, at);
      for (let i = 0; i < 32; i++) out[to + i] = d * signed(b[at + 2 + i]);
    },
  },
  12: { name: "Q4_K", values: 256, bytes: 144, read: (b, at, out, to) => grouped(b, at, out, to, undefined) },
  13: { name: "Q5_K", values: 256, bytes: 176, read: (b, at, out, to) => grouped(b, at, out, to, 16) },
  14: {
    name: "Q6_K",
    values: 256,
    bytes: 210,
    read: (b, at, out, to) => {
      const d = half(b, at + 208);
      for (let i = 0; i < 256; i++) {
        const [chunk, inChunk] = [i >> 7, i & 127];
        const low = (b[at + 64 * chunk + (inChunk & 63)] >> (4 * (inChunk >> 6))) & 15;
        const high = (b[at + 128 + 32 * chunk + (inChunk & 31)] >> (2 * (inChunk >> 5))) & 3;
        out[to + i] = d * signed(b[at + 192 + (i >> 4)]) * ((low | (high << 4)) - 32);
      }
    },
  },
  30: { name: "BF16", values: 1, bytes: 2, read: (b, at, out, to) => (out[to] = bfloat16(b, at)) },
};

function bfloat16(block: Uint8Array, at: number): number {
  scratch.setUint32(0, ((block[at] | (block[at + 1] << 8)) << 16) >>> 0);
  return scratch.getFloat32(0);
}

/** Names of types that are not read, for errors. */
const refused: Readonly<Record<number, string>> = {
  ...{ 9: "Q8_1", 10: "Q2_K", 11: "Q3_K", 15: "Q8_K", 16: "IQ2_XXS", 17: "IQ2_XS", 18: "IQ3_XXS", 19: "IQ1_S", 20: "IQ4_NL" },
  ...{ 21: "IQ3_S", 22: "IQ2_S", 23: "IQ4_XS", 24: "I8", 25: "I16", 26: "I32", 27: "I64", 28: "F64", 29: "IQ1_M" },
  ...{ 34: "TQ1_0", 35: "TQ2_0", 39: "MXFP4", 40: "NVFP4" },
};

export const ggufTypeNames: readonly string[] = Object.values(types).map(({ name }) => name);

/** The type with a number. @returns its name, or the number, where it is not read */
export function ggufType(id: number): GgufType | string {
  return types[id] ?? refused[id] ?? `number ${id}`;
}

/** Numbers of whole blocks as float32. @param bytes as many as `count` numbers take */
export async function dequantiseBlocks(
  { values, bytes: size, read }: GgufType,
  bytes: Uint8Array,
  count: number,
): Promise<Float32Array> {
  const out = new Float32Array(count);
  const piece = (from: number, end: number) => {
    for (let at = (from / values) * size, to = from; to < end; at += size, to += values) read(bytes, at, out, to);
  };
  await new Turns().over(count, piece, values);
  return out;
}
