import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { expectClose } from "../../../test/algorithms/golden.ts";
import { expectCentralDifferences, tokenwiseBatches } from "../../../test/algorithms/objective-properties.ts";
import { randomStream } from "../../core/random.ts";
import { parseSettings } from "../../core/settings.ts";
import { klCov } from "../objectives/covariance.ts";
import { anyUpdate, type UpdateConfig, updateKindOf } from "../objectives/kinds.ts";
import type { SurrogateBatch } from "../objectives/objective.ts";
import { valueLoss } from "../objectives/value.ts";

const update = (settings: object): UpdateConfig => parseSettings(anyUpdate, settings);
const updates: readonly UpdateConfig[] = [
  ...anyUpdate.options.map(({ shape }) => update({ kind: shape.kind.value })),
  update({ kind: "reinforce", level: "sequence" }),
  update({ kind: "ppu", level: "turn" }),
  update({ kind: "ppu", level: "sequence", clip: { low: 0.01, high: 0.05 }, dualClip: 1.2 }),
  update({ kind: "cispo", clip: { low: 0.1, high: 0.1 } }),
  update({ kind: "sapo", tauPos: 3, tauNeg: 5 }),
  update({ kind: "gmpo", clip: { low: 0.1, high: 0.2 } }),
  update({ kind: "dppo", clip: { low: 0.05, high: 0.02 }, ratioBound: 1.3 }),
  update({ kind: "dppo", divergence: "kl", clip: { low: 0.02, high: 0.02 } }),
  update({ kind: "clip-cov", share: 1, covLow: 0.1 }),
  update({ kind: "kl-cov", share: 0.4 }),
];
const named = updates.map((config) => [JSON.stringify(config), config] as const);
const of = (config: UpdateConfig) => (batch: SurrogateBatch) => updateKindOf(config).loss(batch, config, randomStream(1));

/** Coefficients of the log-prob that are not differentiated, so the loss is linear in it. */
const linear = (config: UpdateConfig) => ["cispo", "dppo", "reinforce"].includes(config.kind);
/** Formulas in which one token's weight depends on the others of the batch. */
const acrossRows = (config: UpdateConfig) => config.kind === "clip-cov" || config.kind === "kl-cov";
/** Formulas that take one advantage for the whole row. */
const perRow = (config: UpdateConfig) => config.kind === "gmpo" || (config.kind === "reinforce" && config.level === "sequence");

describe.each(named)("%s", (_, config) => {
  test("weights agree with central differences of the loss, what is held constant held", () => {
    fc.assert(
      fc.property(tokenwiseBatches, (batch) => {
        if (config.kind === "ppu" && config.level !== "token") return;
        // Keeps a gradient where its value is constant, and holds Ω constant: tests of their own.
        if (config.kind === "aepo-clip" || config.kind === "appo") return;
        if (!linear(config)) return expectCentralDifferences((logprobs) => of(config)({ ...batch, logprobs }), batch.logprobs);
        const { loss, weights } = of(config)(batch);
        expectClose(loss, -dot(weights, batch.logprobs));
      }),
      { numRuns: 40 },
    );
  });

  test("at ratio 1 has the gradient of REINFORCE", () => {
    if (updateKindOf(config).weighsByLogprob === true) return;
    fc.assert(
      fc.property(tokenwiseBatches, (batch) => {
        const { weights } = of(config)({ ...batch, oldLogprobs: batch.logprobs });
        const expected = batch.advantages.map((row, b) => {
          const mean = row.reduce((sum, a) => sum + a, 0) / row.length;
          return row.map((a) => batch.tokenScales[b] * (perRow(config) ? mean : a));
        });
        // Where an advantage is exactly 0 GMPO has no direction to clip to. Its 1e-8 in the length is 1e-8 of the weight.
        const tolerance = config.kind === "gmpo" ? { rel: 1e-7, abs: 1e-8 } : undefined;
        if (batch.advantages.every((row) => row.every((a) => a !== 0))) expectClose(weights, expected, tolerance);
      }),
      { numRuns: 40 },
    );
  });

  test("does not care in which order rows come, nor what is in other rows", () => {
    fc.assert(
      fc.property(tokenwiseBatches, (batch) => {
        // One token's weight depends on the others of the batch there, and on which side of a bound rounding leaves it.
        if (acrossRows(config)) return;
        const { loss, weights } = of(config)(batch);
        const reversed = of(config)({
          logprobs: [...batch.logprobs].reverse(),
          oldLogprobs: [...batch.oldLogprobs].reverse(),
          advantages: [...batch.advantages].reverse(),
          tokenScales: [...batch.tokenScales].reverse(),
        });
        expectClose(reversed.loss, loss);
        expectClose([...reversed.weights].reverse(), weights);
        const first = (rows: SurrogateBatch["logprobs"]) => rows.slice(0, 1);
        const alone = of(config)({
          logprobs: first(batch.logprobs),
          oldLogprobs: first(batch.oldLogprobs),
          advantages: first(batch.advantages),
          tokenScales: batch.tokenScales.slice(0, 1),
        });
        expect(alone.weights[0]).toEqual(weights[0]);
      }),
      { numRuns: 40 },
    );
  });

  test("of nothing, and of rows without tokens, is 0 without metrics", () => {
    const empty = { logprobs: [], oldLogprobs: [], advantages: [], tokenScales: [] };
    expect(of(config)(empty)).toEqual({ loss: 0, weights: [], metrics: {} });
    const tokenless = { logprobs: [[]], oldLogprobs: [[]], advantages: [[]], tokenScales: [0] };
    expect(of(config)(tokenless)).toEqual({ loss: 0, weights: [[]], metrics: {} });
  });

  test("refuses rows that do not fit", () => {
    const batch = { logprobs: [[-1, -2]], oldLogprobs: [[-1, -2]], advantages: [[1]], tokenScales: [1] };
    expect(() => of(config)(batch)).toThrow("number of tokens in row 0 of advantages is 1; expected 2");
  });
});

describe("the value loss", () => {
  const batch = { values: [[1, 2]], oldValues: [[1, 1]], returns: [[0, 4]], tokenScales: [0.5] };

  test("is half the squared error, and its weights pull V to the return", () => {
    const { loss, weights } = valueLoss(batch, { valueClip: 10 });
    expect(loss).toBe(0.25 * (1 + 4));
    expect(weights).toEqual([[-0.5, 1]]);
  });

  test("takes the larger of the clipped and the plain error: a value that went far towards its return stops", () => {
    const { loss, weights, metrics } = valueLoss(batch, { valueClip: 0.5 });
    expect(loss).toBe(0.25 * (1 + 2.5 ** 2));
    expect(weights).toEqual([[-0.5, 0]]);
    expect(metrics.valueClipFraction).toBe(0.5);
  });

  test("weights agree with central differences", () => {
    fc.assert(
      fc.property(tokenwiseBatches, ({ logprobs, oldLogprobs, advantages, tokenScales }) => {
        const at = (values: number[][]) =>
          valueLoss({ values, oldValues: oldLogprobs, returns: advantages, tokenScales }, { valueClip: 0.3 });
        expectCentralDifferences(at, logprobs);
      }),
    );
  });
});

test("KL-Cov holds the tokens of highest covariance, at least one", () => {
  const batch = {
    logprobs: [[-1, -3, -2]],
    oldLogprobs: [[-1.1, -3.1, -2.1]],
    advantages: [[1, 1, -2]],
    tokenScales: [1],
  };
  const plain = klCov(batch, { share: 0.01, coefficient: 0 });
  const held = klCov(batch, { share: 0.01, coefficient: 0.5 });
  //  mean A = 0, mean logπ = −2: cov = 1, −1, 0
  expectClose(
    held.weights[0].map((w, t) => w - plain.weights[0][t]),
    [-0.5, 0, 0],
  );
});

function dot(a: SurrogateBatch["logprobs"], b: SurrogateBatch["logprobs"]): number {
  return a.reduce((sum, row, i) => sum + row.reduce((part, value, t) => part + value * b[i][t], 0), 0);
}
