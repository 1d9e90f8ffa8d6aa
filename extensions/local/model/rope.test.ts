import { expect, test } from "vitest";
import { divisorsOf, formatScaling, isSameRescaling, llama3Rescaling, parseRopes, type Rope, rotaryFrequency } from "./rope.ts";

const plain: Rope = { theta: 10_000, scaling: undefined };
const llama3 = llama3Rescaling(8, 256);
const frequencies = (rope: Rope, headDim = 8) =>
  Array.from({ length: headDim / 2 }, (_, pair) => rotaryFrequency(rope, headDim, pair));

test("pair i turns by θ^(−2i/headDim) a token, divided by a linear factor", () => {
  const expected = [1, 1e-1, 1e-2, 1e-3];
  for (const [i, each] of frequencies(plain).entries()) expect(each).toBeCloseTo(expected[i] ?? 0, 12);
  expect(frequencies({ theta: 10_000, scaling: { factor: 4 } })).toEqual(frequencies(plain).map((each) => each / 4));
});

test("Llama 3 keeps short wavelengths, divides long ones by its factor and blends those between", () => {
  expect(llama3).toEqual({ factor: 8, lowFreqFactor: 1, highFreqFactor: 4, originalMaxPositionEmbeddings: 256 });
  expect(llama3Rescaling(32).originalMaxPositionEmbeddings).toBe(8192);
  const [first = 0, second = 0, third = 0, fourth = 0] = frequencies({ theta: 10_000, scaling: llama3 });
  // Wavelengths 2π, 62.8, 628 and 6283: below 256/4, below 256/4 still, above 256, above 256.
  expect([first, third, fourth]).toEqual([1, 1e-2 / 8, rotaryFrequency(plain, 8, 3) / 8]);
  expect(second).toBeCloseTo(0.1, 12);
  // θ = 20,000 of 4 pairs: 1, 0.0841, …: a wavelength of 74.7, of which 256 has 3.4265.
  const between = rotaryFrequency({ theta: 20_000, scaling: llama3 }, 8, 1);
  const own = 20_000 ** (-1 / 4);
  const blend = ((256 * own) / (2 * Math.PI) - 1) / 3;
  expect(blend).toBeGreaterThan(0.5);
  expect(blend).toBeLessThan(1);
  expect(between).toBeCloseTo((1 - blend) * (own / 8) + blend * own, 12);
});

test("divisors are what plain frequencies are divided by, and tell a rescaling from another", () => {
  const rope = { theta: 10_000, scaling: llama3 };
  const divisors = divisorsOf(rope, 8);
  expect([...divisors].map((each) => Number(each.toFixed(5)))).toEqual([1, 1, 8, 8]);
  expect(isSameRescaling(divisors, rope, 8)).toBe(true);
  expect(
    isSameRescaling(
      divisors.map((each) => each * 1.00005),
      rope,
      8,
    ),
  ).toBe(true);
  for (const other of [divisors.map((each) => each * 1.001), divisors.map((each) => each * 0.999), divisors.subarray(1)])
    expect(isSameRescaling(other, rope, 8)).toBe(false);
  expect(isSameRescaling(divisors, { theta: 10_000, scaling: { ...llama3, factor: 4 } }, 8)).toBe(false);
});

test("rescalings are written as every version of transformers reads them", () => {
  expect(formatScaling(plain)).toBeNull();
  expect(formatScaling({ theta: 1, scaling: { factor: 4 } })).toEqual({ rope_type: "linear", factor: 4 });
  expect(formatScaling({ theta: 1, scaling: llama3 })).toEqual({
    ...{ rope_type: "llama3", factor: 8, low_freq_factor: 1, high_freq_factor: 4 },
    original_max_position_embeddings: 256,
  });
});

test("rotary settings by type of layer are refused where they are malformed, with what they should be", () => {
  const parsed = (rope_parameters: Record<string, unknown>) =>
    parseRopes({ rope_parameters }, "config.json", { full: 1e6, sliding: 1e4 });
  expect(parsed({})).toEqual({ rope: { theta: 1e6, scaling: undefined }, slidingRope: plain });
  expect(parsed({ full_attention: { rope_theta: 5 }, sliding_attention: { rope_theta: 7 } })).toEqual({
    ...{ rope: { theta: 5, scaling: undefined }, slidingRope: { theta: 7, scaling: undefined } },
  });
  expect(() => parsed({ full_attention: { rope_theta: "far" } })).toThrow(
    /^rope_parameters in config.json is \{"full_attention":\{"rope_theta":"far"\}\}; expected .*full_attention\.rope_theta/s,
  );
});
