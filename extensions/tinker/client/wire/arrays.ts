import { ShapeError } from "../../../../src/core/errors.ts";

/** Arrays of numbers as the wire packs them: no header, little endian. A field may start at any byte, so every reader copies. */

/** Bytes of token ids, int32. */
export function int32Bytes(values: ArrayLike<number>): Uint8Array {
  return write(values.length, 4, (view, at, i) => view.setInt32(at, Number(values[i]), true));
}

export function int64Bytes(values: ArrayLike<number>): Uint8Array {
  return write(values.length, 8, (view, at, i) => view.setBigInt64(at, BigInt(Number(values[i])), true));
}

export function float32Bytes(values: ArrayLike<number>): Uint8Array {
  return write(values.length, 4, (view, at, i) => view.setFloat32(at, Number(values[i]), true));
}

/** @throws ShapeError if the bytes are not a whole number of elements */
export function readInt32(bytes: Uint8Array): number[] {
  return read(bytes, 4, (view, at) => view.getInt32(at, true));
}

/** Numbers beyond 2^53 lose digits: token ids and byte counts never are. */
export function readInt64(bytes: Uint8Array): number[] {
  return read(bytes, 8, (view, at) => Number(view.getBigInt64(at, true)));
}

export function readFloat32(bytes: Uint8Array): number[] {
  return read(bytes, 4, (view, at) => view.getFloat32(at, true));
}

/** A bfloat16 is the upper half of a float32. */
export function readBfloat16(bytes: Uint8Array): number[] {
  const whole = new DataView(new ArrayBuffer(4));
  return read(bytes, 2, (view, at) => {
    whole.setUint16(2, view.getUint16(at, true), true);
    return whole.getFloat32(0, true);
  });
}

function write(count: number, size: number, put: (view: DataView, at: number, index: number) => void): Uint8Array {
  const bytes = new Uint8Array(count * size);
  const view = new DataView(bytes.buffer);
  for (let i = 0; i < count; i++) put(view, i * size, i);
  return bytes;
}

function read(bytes: Uint8Array, size: number, get: (view: DataView, at: number) => number): number[] {
  if (bytes.length % size !== 0)
    throw new ShapeError("packed numbers", `${bytes.length} bytes`, { expected: `a multiple of ${size}` });
  if (bytes.length === 0) return []; // an absent field is decoded as an empty array that is no Uint8Array
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  return Array.from({ length: bytes.length / size }, (_, i) => get(view, i * size));
}
