import fc from "fast-check";
import { expect } from "vitest";
import { tokenScales } from "../../src/algorithms/objectives/aggregation.ts";
import type { LossAndWeights, SurrogateBatch } from "../../src/algorithms/objectives/objective.ts";
import { real } from "../reals.ts";

const logprob = real(-4, -0.01);
const drift = real(-0.6, 0.6);
const advantage = real(-3, 3);

/** Batches of 1 to 4 rows of 1 to 5 tokens, one advantage a row. */
export const batches: fc.Arbitrary<SurrogateBatch> = batchesOf((row) => row.map(() => row[0][2]));
/** The same with an advantage for every token. */
export const tokenwiseBatches: fc.Arbitrary<SurrogateBatch> = batchesOf((row) => row.map(([, , a]) => a));

function batchesOf(
  advantagesOf: (row: readonly (readonly [number, number, number])[]) => number[],
): fc.Arbitrary<SurrogateBatch> {
  const rows = fc.array(fc.array(fc.tuple(logprob, drift, advantage), { minLength: 1, maxLength: 5 }), {
    minLength: 1,
    maxLength: 4,
  });
  return rows.map((tokens) => ({
    logprobs: tokens.map((row) => row.map(([p]) => p)),
    oldLogprobs: tokens.map((row) => row.map(([p, d]) => p - d)),
    advantages: tokens.map(advantagesOf),
    tokenScales: tokenScales(
      tokens.map((row) => row.length),
      "sequence-mean-token-mean",
    ),
  }));
}

/** w = −∂loss/∂logprob. Tokens whose derivative jumps between the two points stand at a kink, where there is none to compare. */
export function expectCentralDifferences(
  objective: (logprobs: number[][]) => LossAndWeights,
  logprobs: SurrogateBatch["logprobs"],
): void {
  const step = 1e-5;
  const { weights } = objective(logprobs.map((row) => [...row]));
  for (const [b, row] of logprobs.entries()) {
    for (const t of row.keys()) {
      const at = (change: number) =>
        objective(logprobs.map((r, i) => r.map((value, j) => (i === b && j === t ? value + change : value))));
      const [above, below] = [at(step), at(-step)];
      const jumps = weights.some((w, i) =>
        w.some((here, j) => [above, below].some((there) => Math.abs(there.weights[i][j] - here) > 1e-3)),
      );
      if (jumps) continue;
      // The difference quotient's error is step² times the third derivative, which is below 1e3 here.
      const quotient = -(above.loss - below.loss) / (2 * step);
      if (!(Math.abs(weights[b][t] - quotient) < 5e-7))
        expect.fail(`weight [${b}][${t}] is ${weights[b][t]}, expected ${quotient}`);
    }
  }
}
