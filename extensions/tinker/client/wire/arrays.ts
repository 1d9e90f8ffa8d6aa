import { ShapeError } from "../../../../src/core/errors.ts";

/**
 * Arrays of numbers as the wire packs them: no header, little endian, as the memory of every processor that this runs on is. A field may start at
 * any byte, so every reader copies.
 */

/** Bytes of token ids, int32. */
export function int32Bytes(values: ArrayLike<number>): Uint8Array {
  return new Uint8Array(Int32Array.from(values).buffer);
}

export function int64Bytes(values: ArrayLike<number>): Uint8Array {
  return new Uint8Array(BigInt64Array.from(Array.from(values, BigInt)).buffer);
}

export function float32Bytes(values: ArrayLike<number>): Uint8Array {
  return new Uint8Array(Float32Array.from(values).buffer);
}

/** @throws ShapeError if the bytes are not a whole number of elements */
export function readInt32(bytes: Uint8Array): number[] {
  return [...new Int32Array(copyOf(bytes, 4))];
}

/** Numbers beyond 2^53 lose digits: token ids and byte counts never are. */
export function readInt64(bytes: Uint8Array): number[] {
  return Array.from(new BigInt64Array(copyOf(bytes, 8)), Number);
}

export function readFloat32(bytes: Uint8Array): number[] {
  return [...new Float32Array(copyOf(bytes, 4))];
}

/** A bfloat16 is the upper half of a float32. */
export function readBfloat16(bytes: Uint8Array): number[] {
  const whole = Uint32Array.from(new Uint16Array(copyOf(bytes, 2)), (half) => half << 16);
  return [...new Float32Array(whole.buffer)];
}

function copyOf(bytes: Uint8Array, size: number): ArrayBuffer {
  if (bytes.length % size === 0) return new Uint8Array(bytes).buffer;
  throw new ShapeError("packed numbers", `${bytes.length} bytes`, { expected: `a multiple of ${size}` });
}
