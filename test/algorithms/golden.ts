import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";

export interface GoldenCase<Params, Inputs, Outputs> {
  readonly id: string;
  readonly params: Params;
  readonly inputs: Inputs;
  readonly outputs: Outputs;
}

/** The cases of test/golden/algorithms/NAME.json, described in the README.md beside them. */
export function goldenCases<Params, Inputs, Outputs>(name: string): GoldenCase<Params, Inputs, Outputs>[] {
  return JSON.parse(readFileSync(join(import.meta.dirname, "../golden/algorithms", `${name}.json`), "utf8"));
}

/** Equal within 1e-9 relative and 1e-10 absolute: rounding noise of an equal-rewards group is 1e-17, divided by an ε of 1e-6. */
export function expectClose(actual: unknown, expected: unknown, path = "value"): void {
  if (Array.isArray(expected)) {
    expect(actual, path).toHaveLength(expected.length);
    for (const [i, element] of expected.entries()) expectClose((actual as unknown[])[i], element, `${path}[${i}]`);
    return;
  }
  const [a, e] = [Number(actual), Number(expected)];
  if (!(Math.abs(a - e) <= 1e-10 + 1e-9 * Math.abs(e))) expect.fail(`${path} is ${a}, expected ${e}`);
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
