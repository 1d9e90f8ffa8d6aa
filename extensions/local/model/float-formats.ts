/**
 * The two 16-bit float formats of model files, to and from float32. Arrays hold bit patterns.
 * Rounding is to the nearest, ties to even, as in IEEE 754 and PyTorch.
 */

const scratch = new Float32Array(1);
const scratchBits = new Uint32Array(scratch.buffer);

/** bfloat16 is the upper half of a float32. */
export function fromBfloat16(source: Uint16Array): Float32Array {
  const bits = new Uint32Array(source.length);
  for (let i = 0; i < source.length; i++) bits[i] = source[i] << 16;
  return new Float32Array(bits.buffer);
}

export function toBfloat16(source: Float32Array): Uint16Array {
  const bits = new Uint32Array(source.buffer, source.byteOffset, source.length);
  const result = new Uint16Array(source.length);
  for (let i = 0; i < source.length; i++) {
    const isNaNPattern = (bits[i] & 0x7fffffff) > 0x7f800000;
    result[i] = isNaNPattern ? (bits[i] >>> 16) | 0x40 : (bits[i] + 0x7fff + ((bits[i] >>> 16) & 1)) >>> 16;
  }
  return result;
}

/** Value of a normal number's exponent field, 2^(field - 15). */
const powersOfTwo = Float64Array.from({ length: 31 }, (_, field) => 2 ** (field - 15));

/** float16: sign, 5 bits of exponent (bias 15), 10 bits of fraction. */
export function fromFloat16(source: Uint16Array): Float32Array {
  const result = new Float32Array(source.length);
  for (let i = 0; i < source.length; i++) {
    const sign = source[i] & 0x8000 ? -1 : 1;
    const exponent = (source[i] >>> 10) & 31;
    const fraction = source[i] & 1023;
    if (exponent === 0) result[i] = sign * fraction * 2 ** -24;
    else if (exponent === 31) result[i] = fraction === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN;
    else result[i] = sign * (1 + fraction / 1024) * powersOfTwo[exponent];
  }
  return result;
}

export function toFloat16(source: Float32Array): Uint16Array {
  const bits = new Uint32Array(source.buffer, source.byteOffset, source.length);
  return Uint16Array.from(bits, float16Bits);
}

function float16Bits(bits: number): number {
  const sign = (bits >>> 16) & 0x8000;
  const magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return sign | 0x7e00; // NaN
  if (magnitude >= 0x477ff000) return sign | 0x7c00; // 65520 and above round to infinity
  if (magnitude < 0x38800000) {
    // Below 2^-14 the result is a multiple of 2^-24, which is the spacing of float32 at 0.5: adding 0.5 does the rounding.
    scratchBits[0] = magnitude;
    scratch[0] += 0.5;
    return sign | (scratchBits[0] - 0x3f000000);
  }
  const rebiased = magnitude - (112 << 23);
  return sign | ((rebiased + 0xfff + ((rebiased >>> 13) & 1)) >>> 13);
}
