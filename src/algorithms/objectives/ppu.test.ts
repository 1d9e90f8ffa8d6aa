import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { batches, expectCentralDifferences } from "../../../test/algorithms/objective-properties.ts";
import { real } from "../../../test/reals.ts";
import { ShapeError } from "../../core/errors.ts";
import { klEstimators, klPenalty, tokenKl } from "./kl.ts";
import { type LossAndWeights, plus, type SurrogateBatch } from "./objective.ts";
import { type PpuOptions, ppu } from "./ppu.ts";
import { crossEntropy, reinforce } from "./reinforce.ts";

type Rows = number[][];

const options: PpuOptions[] = [
  { level: "token", clip: { low: 0.2, high: 0.2 } },
  { level: "token", clip: { low: 0.1, high: 0.3 }, dualClip: 1.5 },
  { level: "sequence", clip: { low: 0.2, high: 0.2 } },
  { level: "sequence", clip: { low: 0.05, high: 0.4 }, dualClip: 1.3 },
];

describe("ppu", () => {
  test.each(options)("weights agree with central differences of the loss: %j", (option) => {
    fc.assert(
      fc.property(batches, (batch) => {
        expectCentralDifferences((logprobs) => ppu({ ...batch, logprobs }, option), batch.logprobs);
      }),
    );
  });

  test.each(options)("at ratio 1 has the gradient of REINFORCE: %j", (option) => {
    fc.assert(
      fc.property(batches, (batch) => {
        const { weights, metrics } = ppu({ ...batch, oldLogprobs: batch.logprobs }, option);
        // REINFORCE minimises −A·logπ, so its weights are the advantages.
        expect(weights.map((row) => row.map((w) => w + 0))).toEqual(
          batch.advantages.map((row, b) => row.map((a) => batch.tokenScales[b] * a + 0)),
        );
        expect(metrics).toMatchObject({ clipFraction: 0, ratioMin: 1, ratioMax: 1, ratioMean: 1 });
      }),
    );
  });

  test.each(options)("does not care in which order rows come: %j", (option) => {
    fc.assert(
      fc.property(batches, (batch) => {
        const reversed = {
          logprobs: [...batch.logprobs].reverse(),
          oldLogprobs: [...batch.oldLogprobs].reverse(),
          advantages: [...batch.advantages].reverse(),
          tokenScales: [...batch.tokenScales].reverse(),
        };
        const result = ppu(reversed, option);
        expect([...result.weights].reverse()).toEqual(ppu(batch, option).weights);
        expect(result.loss).toBeCloseTo(ppu(batch, option).loss, 12);
      }),
    );
  });

  test("clips towards the side that the advantage pulls to, and only there", () => {
    const rise = Math.log(1.5);
    const batch = (a: number, d: number): SurrogateBatch => ({
      logprobs: [[-1]],
      oldLogprobs: [[-1 - d]],
      advantages: [[a]],
      tokenScales: [1],
    });
    const [token] = options;
    expect(ppu(batch(2, rise), token)).toMatchObject({ loss: -2.4, weights: [[0]], metrics: { clipFraction: 1 } });
    expect(ppu(batch(2, -rise), token).weights[0][0]).toBeCloseTo(2 / 1.5, 12);
    expect(ppu(batch(-2, rise), token).weights[0][0]).toBeCloseTo(-3, 12);
    expect(ppu(batch(-2, -rise), token)).toMatchObject({ loss: 1.6, weights: [[0]], metrics: { clipFraction: 1 } });
  });

  test("dual clip bounds the loss of a token that became likelier than it should", () => {
    const batch = { logprobs: [[-1]], oldLogprobs: [[-1 - Math.log(4)]], advantages: [[-2]], tokenScales: [1] };
    const without = ppu(batch, options[0]);
    expect(without.loss).toBeCloseTo(8, 12);
    expect(without.metrics.dualClipFraction).toBeUndefined();
    const bounded = ppu(batch, { ...options[0], dualClip: 3 });
    expect(bounded).toMatchObject({ loss: 6, weights: [[0]], metrics: { dualClipFraction: 1 } });
  });

  test("takes one ratio a row at level sequence, whose mean log-ratio decides for all its tokens", () => {
    //                        log-ratios  0.5  −0.5: every token alone would be clipped or pulled, the row's ratio is 1
    const batch = { logprobs: [[-1, -2]], oldLogprobs: [[-1.5, -1.5]], advantages: [[1, 1]], tokenScales: [0.5] };
    expect(ppu(batch, options[2])).toMatchObject({ loss: -1, weights: [[0.5, 0.5]], metrics: { ratioMin: 1, ratioMax: 1 } });
    expect(ppu(batch, options[0]).weights[0][0]).toBe(0);
  });

  test("at level token may see a row in parts", () => {
    fc.assert(
      fc.property(batches, (batch) => {
        const parts = (rows: SurrogateBatch["logprobs"]) => rows.flatMap((row) => [row.slice(0, 1), row.slice(1)]);
        const split = {
          logprobs: parts(batch.logprobs),
          oldLogprobs: parts(batch.oldLogprobs),
          advantages: parts(batch.advantages),
          tokenScales: batch.tokenScales.flatMap((scale) => [scale, scale]),
        };
        expect(ppu(split, options[0]).weights).toEqual(parts(ppu(batch, options[0]).weights));
      }),
    );
  });

  test("of nothing, or of rows without tokens, is 0", () => {
    const empty = { logprobs: [], oldLogprobs: [], advantages: [], tokenScales: [] };
    expect(ppu(empty, options[0])).toEqual({ loss: 0, weights: [], metrics: {} });
    const tokenless = { logprobs: [[]], oldLogprobs: [[]], advantages: [[]], tokenScales: [0] };
    for (const option of options) expect(ppu(tokenless, option)).toEqual({ loss: 0, weights: [[]], metrics: {} });
  });

  test("stays finite and without gradient where log-ratios run away", () => {
    const batch = { logprobs: [[-0.1]], oldLogprobs: [[-900]], advantages: [[-1]], tokenScales: [1] };
    for (const option of options) {
      const { loss, weights } = ppu(batch, option);
      expect(Number.isFinite(loss)).toBe(true);
      expect(weights).toEqual([[0]]);
    }
  });
});

describe("KL penalty", () => {
  test.each(klEstimators.filter((name) => !name.endsWith("+")))(
    "%s: weights agree with central differences of the loss",
    (estimator) => {
      fc.assert(
        fc.property(batches, ({ logprobs, oldLogprobs, tokenScales: scales }) => {
          const penalty = (rows: Rows) =>
            klPenalty({ logprobs: rows, refLogprobs: oldLogprobs, tokenScales: scales }, { estimator, coefficient: 0.3 });
          expectCentralDifferences(penalty, logprobs);
        }),
      );
    },
  );

  test("k2 and k3 are never negative and 0 at the reference; k1 has the sign", () => {
    fc.assert(
      fc.property(real(-30, 30), (x) => {
        expect(tokenKl(x, { estimator: "k2" }).value).toBeGreaterThanOrEqual(0);
        expect(tokenKl(x, { estimator: "k3" }).value).toBeGreaterThanOrEqual(-1e-15); // e^q − q − 1 cancels near 0
        expect(tokenKl(x, { estimator: "k1" }).value).toBe(x);
      }),
    );
    for (const estimator of klEstimators) expect(tokenKl(0, { estimator }).value).toBeCloseTo(0, 15);
  });

  test("the reported kl is the mean over tokens, whatever the coefficient", () => {
    const batch = { logprobs: [[-1, -2], [-3]], refLogprobs: [[-2, -2], [-1]], tokenScales: [1, 1] };
    const { loss, metrics } = klPenalty(batch, { estimator: "k2", coefficient: 0.1 });
    expect(metrics.kl).toBeCloseTo((0.5 + 0 + 2) / 3, 12);
    expect(loss).toBeCloseTo(0.25, 12);
  });
});

test("cross-entropy: the loss is the weighted negative log-prob and every token pulls alike", () => {
  expect(crossEntropy([[-1, -2], [-4]], [0.25, 0.5])).toEqual({ loss: 2.75, weights: [[0.25, 0.25], [0.5]], metrics: {} });
});

test("plus adds losses and weights and keeps the metrics of both", () => {
  const a: LossAndWeights = { loss: 1, weights: [[1, 2]], metrics: { clipFraction: 0.5 } };
  const b: LossAndWeights = { loss: 2, weights: [[10, 20]], metrics: { kl: 0.1 } };
  expect(plus(a, b)).toEqual({ loss: 3, weights: [[11, 22]], metrics: { clipFraction: 0.5, kl: 0.1 } });
});

test("rows that do not fit are named", () => {
  const batch = { logprobs: [[-1]], oldLogprobs: [[-1]], advantages: [[1]], tokenScales: [1] };
  const broken = (change: Partial<SurrogateBatch>) => () => ppu({ ...batch, ...change }, options[0]);
  expect(broken({ oldLogprobs: [] })).toThrow(ShapeError);
  expect(broken({ oldLogprobs: [] })).toThrow("number of rows of oldLogprobs is 0; expected 1");
  expect(broken({ advantages: [[1, 1]] })).toThrow("number of tokens in row 0 of advantages is 2; expected 1");
  expect(broken({ tokenScales: [] })).toThrow("number of rows of tokenScales is 0; expected 1");
});

test("REINFORCE over sequences: the mean of equal advantages is their value, without rounding", () => {
  const batch = { logprobs: [[-1, -2, -3]], oldLogprobs: [[-1, -2, -3]], tokenScales: [1] };
  const weightsOf = (advantages: number[]) => reinforce({ ...batch, advantages: [advantages] }, { level: "sequence" }).weights;
  expect(weightsOf([0.1, 0.1, 0.1])).toEqual([[0.1, 0.1, 0.1]]);
  expect(weightsOf([0, 1, 2])).toEqual([[1, 1, 1]]);
});
