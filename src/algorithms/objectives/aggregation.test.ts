import fc from "fast-check";
import { expect, test } from "vitest";
import { tokenScales } from "./aggregation.ts";

test("each way of counting, by hand", () => {
  //               tokens  1  3  4
  expect(tokenScales([1, 3, 4], "token-mean")).toEqual([1 / 8, 1 / 8, 1 / 8]);
  expect(tokenScales([1, 3, 4], "sequence-mean-token-mean")).toEqual([1 / 3, 1 / 9, 1 / 12]);
  expect(tokenScales([1, 3, 4], { tokenSumOver: 10 })).toEqual([1 / 30, 1 / 30, 1 / 30]);
});

test("both means of a loss that is 1 everywhere are 1, and sequences without tokens count as none", () => {
  fc.assert(
    fc.property(fc.array(fc.nat(20), { maxLength: 10 }), (lengths) => {
      for (const mode of ["token-mean", "sequence-mean-token-mean"] as const) {
        const loss = tokenScales(lengths, mode).reduce((sum, scale, b) => sum + scale * lengths[b], 0);
        expect(loss).toBeCloseTo(lengths.some((length) => length > 0) ? 1 : 0, 12);
      }
    }),
  );
  expect(tokenScales([2, 0], { tokenSumOver: 4 })).toEqual([0.25, 0]);
});
