import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { type Aggregation, tokenScales } from "../../src/algorithms/objectives/aggregation.ts";

export interface GoldenCase<Params, Inputs, Outputs> {
  readonly id: string;
  readonly params: Params;
  readonly inputs: Inputs;
  readonly outputs: Outputs;
  /** Where the source computed in float32. */
  readonly tolerance?: Tolerance;
}

export interface Tolerance {
  readonly rel: number;
  readonly abs: number;
}

/** Rounding noise of an equal-rewards group is 1e-17, divided by an ε of 1e-6. */
const float64: Tolerance = { rel: 1e-9, abs: 1e-10 };

/** The cases of test/golden/algorithms/NAME.json, described in the README.md beside them. */
export function goldenCases<Params, Inputs, Outputs>(name: string): GoldenCase<Params, Inputs, Outputs>[] {
  return JSON.parse(readFileSync(join(import.meta.dirname, "../golden/algorithms", `${name}.json`), "utf8"));
}

/** Equal within 1e-9 relative and 1e-10 absolute, or as given. */
export function expectClose(actual: unknown, expected: unknown, tolerance = float64, path = "value"): void {
  if (Array.isArray(expected)) {
    expect(actual, path).toHaveLength(expected.length);
    for (const [i, element] of expected.entries()) expectClose((actual as unknown[])[i], element, tolerance, `${path}[${i}]`);
    return;
  }
  const [a, e] = [Number(actual), Number(expected)];
  if (!(Math.abs(a - e) <= tolerance.abs + tolerance.rel * Math.abs(e))) expect.fail(`${path} is ${a}, expected ${e}`);
}

type Mask = readonly (readonly number[])[];

/** The entries of a padded matrix that the mask keeps, as ragged rows. */
export function unpadded(matrix: readonly (readonly number[])[], mask: Mask): number[][] {
  return matrix.map((row, b) => row.filter((_, t) => mask[b][t] === 1));
}

/** n_b, the number of action tokens of each row. */
export function lengthsOf(mask: Mask): number[] {
  return mask.map((row) => row.reduce((sum, m) => sum + m, 0));
}

/** What verl's means over a row's tokens divide by is n_b + 1e-8, which for one token is more than the tolerance; ours divide by n_b. */
export function verlEpsilon(mode: string, length: number): number {
  return mode === "seq-mean-token-mean" ? length / (length + 1e-8) : 1;
}

export function aggregationOf(mode: string, scaleFactor: number): Aggregation {
  switch (mode) {
    case "token-mean":
      return "token-mean";
    case "seq-mean-token-mean":
      return "sequence-mean-token-mean";
    case "seq-mean-token-sum":
      return { tokenSumOver: 1 };
    case "seq-mean-token-sum-norm":
      return { tokenSumOver: scaleFactor };
    default:
      throw new Error(`no aggregation for ${mode}`);
  }
}

/** `tokenScales` in verl's rounding. Its token sum is ours per sequence, times the sequences. */
export function verlScales(lengths: readonly number[], mode: string, scaleFactor: number): number[] {
  if (mode === "token-sum") return lengths.map((n) => (n === 0 ? 0 : 1));
  return tokenScales(lengths, aggregationOf(mode, scaleFactor)).map((scale, b) => scale * verlEpsilon(mode, lengths[b]));
}
