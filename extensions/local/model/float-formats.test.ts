import fc from "fast-check";
import { expect, test } from "vitest";
import { fromBfloat16, fromFloat16, toBfloat16, toFloat16 } from "./float-formats.ts";

const everyPattern = Uint16Array.from({ length: 65536 }, (_, bits) => bits);
const isNaNPattern = (bits: number, exponentMask: number) =>
  (bits & exponentMask) === exponentMask && (bits & ~exponentMask & 0x7fff) !== 0;

test("known values", () => {
  const values = Float32Array.of(1, -2, 65504, 2 ** -24, 2 ** -14, 1 / 3, Number.POSITIVE_INFINITY, -0);
  expect([...toFloat16(values)]).toEqual([0x3c00, 0xc000, 0x7bff, 0x0001, 0x0400, 0x3555, 0x7c00, 0x8000]);
  expect([...toBfloat16(Float32Array.of(1, -2, 1 / 3, Number.NEGATIVE_INFINITY))]).toEqual([0x3f80, 0xc000, 0x3eab, 0xff80]);
});

test("every 16-bit pattern survives the way to float32 and back", () => {
  for (const [decode, encode, exponentMask] of [
    [fromFloat16, toFloat16, 0x7c00],
    [fromBfloat16, toBfloat16, 0x7f80],
  ] as const) {
    const back = encode(decode(everyPattern));
    for (const bits of everyPattern) {
      if (isNaNPattern(bits, exponentMask)) expect(isNaNPattern(back[bits], exponentMask)).toBe(true);
      else if (back[bits] !== bits) expect(back[bits]).toBe(bits);
    }
  }
});

test("encoding gives the nearest value, the even one of two equally near", () => {
  fc.assert(
    fc.property(fc.float({ noNaN: true, noDefaultInfinity: true, min: -65500, max: 65500 }), (value) => {
      for (const [decode, encode] of [
        [fromFloat16, toFloat16],
        [fromBfloat16, toBfloat16],
      ] as const) {
        const [bits] = encode(Float32Array.of(value));
        const errorOf = (pattern: number) => Math.abs(decode(Uint16Array.of(pattern))[0] - value);
        const magnitude = bits & 0x7fff;
        for (const neighbour of [magnitude - 1, magnitude + 1]
          .filter((m) => m >= 0 && m < 0x7c00)
          .map((m) => m | (bits & 0x8000))) {
          expect(errorOf(neighbour)).toBeGreaterThanOrEqual(errorOf(bits));
          if (errorOf(neighbour) === errorOf(bits)) expect(bits & 1).toBe(0);
        }
      }
    }),
    { numRuns: 2000 },
  );
});

test("float16 overflows to infinity from 65520, half a step above its largest number", () => {
  expect([...toFloat16(Float32Array.of(65519, 65520, -1e30))]).toEqual([0x7bff, 0x7c00, 0xfc00]);
});
