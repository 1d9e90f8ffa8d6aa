import { describe, expect, test } from "vitest";
import { type Aggregation, tokenScales } from "../../src/algorithms/objectives/aggregation.ts";
import { cispo } from "../../src/algorithms/objectives/cispo.ts";
import { clipCov, klCov } from "../../src/algorithms/objectives/covariance.ts";
import { dppo } from "../../src/algorithms/objectives/dppo.ts";
import { dro } from "../../src/algorithms/objectives/dro.ts";
import { gmpo } from "../../src/algorithms/objectives/gmpo.ts";
import { type KlEstimator, klPenalty, tokenKl, tokenKls } from "../../src/algorithms/objectives/kl.ts";
import { clipRatio, type LossAndWeights, plus, type SurrogateBatch } from "../../src/algorithms/objectives/objective.ts";
import { ppu } from "../../src/algorithms/objectives/ppu.ts";
import { reinforce } from "../../src/algorithms/objectives/reinforce.ts";
import { sapo } from "../../src/algorithms/objectives/sapo.ts";
import { valueLoss } from "../../src/algorithms/objectives/value.ts";
import { carriedRatio, turnRatio } from "../../src/algorithms/seeupo/carried-ratios.ts";
import { randomStream } from "../../src/core/random.ts";
import { branchEntropy } from "../../src/rollouts/branching/entropy.ts";
import { aggregationOf, expectClose, goldenCases, lengthsOf, unpadded, verlEpsilon, verlScales } from "./golden.ts";
import { entropyOf, TablePolicy } from "./table-policy.ts";

type Matrix = number[][];

describe("carried ratios", () => {
  interface Inputs {
    readonly oldLogprobs: Matrix;
    readonly newLogprobs: Matrix;
    readonly mask: Matrix;
    readonly carriedRatio?: number[];
  }
  type Outputs = { stepRatio: number[]; carriedRatio: number[] };
  const cases = goldenCases<{ clipLow: number; clipHigh: number }, Inputs, Outputs>("carried-ratios");
  for (const { id, params, inputs, outputs } of cases) {
    test(id, () => {
      const clip = { low: params.clipLow, high: params.clipHigh };
      const [old, now] = [unpadded(inputs.oldLogprobs, inputs.mask), unpadded(inputs.newLogprobs, inputs.mask)];
      const ratios = now.map((row, b) => turnRatio(row, old[b], { carryRatio: "geometric", carryClip: clip }));
      expectClose(
        ratios.map((ratio) => clipRatio(ratio, clip)),
        outputs.stepRatio,
      );
      expectClose(
        ratios.map((ratio, b) => carriedRatio(inputs.carriedRatio?.[b] ?? 1, ratio, clip)),
        outputs.carriedRatio,
      );
    });
  }
});

describe("aggregation", () => {
  type Params = {
    aggregation: string;
    workers?: number;
    globalTokens?: number;
    globalSequences?: number;
    lossScaleFactor?: number;
  };
  type Inputs = { tokenLoss: Matrix; mask: Matrix };
  for (const { id, params, inputs, outputs } of goldenCases<Params, Inputs, { loss: number; gradTokenLoss: Matrix }>(
    "aggregation",
  )) {
    test(id, () => {
      const lengths = lengthsOf(inputs.mask);
      const { aggregation: mode, workers = 1, lossScaleFactor = inputs.mask[0].length } = params;
      // verl sees one worker's share of a batch: its counts are of the whole batch, and the workers' gradients are averaged.
      const counted = mode === "token-mean" ? sum(lengths) : mode === "token-sum" ? 1 : lengths.filter((n) => n > 0).length;
      const inAll = mode === "token-mean" ? params.globalTokens : mode === "token-sum" ? 1 : params.globalSequences;
      const scales = verlScales(lengths, mode, lossScaleFactor).map((scale) => (scale * workers * counted) / (inAll ?? counted));
      const loss = unpadded(inputs.tokenLoss, inputs.mask).map((row, b) => sum(row) * scales[b]);
      expectClose(sum(loss), outputs.loss);
      expectClose(
        inputs.mask.map((row, b) => row.map((m) => (m === 1 ? scales[b] : 0))),
        outputs.gradTokenLoss,
      );
    });
  }
});

describe("objectives of verl, SeeUPO and ARPO", () => {
  interface Params {
    readonly clipLow: number;
    readonly clipHigh: number;
    readonly dualClip: number;
    readonly aggregation?: string;
    readonly lossScaleFactor?: number;
    readonly tauPos: number;
    readonly tauNeg: number;
    readonly beta: number;
    readonly covRatio: number;
    readonly covLow: number;
    readonly covHigh: number;
    readonly klCoef: number;
  }
  interface Inputs {
    readonly oldLogprobs: Matrix;
    readonly logprobs: Matrix;
    readonly advantages: Matrix;
    readonly mask: Matrix;
    readonly isWeights?: Matrix;
  }
  interface Outputs {
    readonly loss: number;
    readonly gradLogprobs: Matrix;
    readonly clipFraction?: number;
    readonly clipFractionLower?: number;
    readonly approxKl?: number;
  }
  const objectives: Readonly<Record<string, (batch: SurrogateBatch, params: Params) => LossAndWeights>> = {
    ppo: (batch, params) => ppu(batch, { level: "token", clip: clipOf(params), dualClip: params.dualClip }),
    gspo: (batch, params) => ppu(batch, { level: "sequence", clip: clipOf(params) }),
    cispo: (batch, params) => cispo(batch, { clip: clipOf(params) }),
    reinforce: (batch) => reinforce(batch, { level: "token" }),
    sapo: (batch, params) => sapo(batch, params),
    gmpo: (batch, params) => gmpo(batch, { clip: clipOf(params) }),
    "dppo-tv": (batch, params) => dppo(batch, { divergence: "tv", clip: clipOf(params), ratioBound: params.dualClip }),
    "dppo-kl": (batch, params) => dppo(batch, { divergence: "kl", clip: clipOf(params), ratioBound: params.dualClip }),
    dro: (batch, params) => dro(batch, params),
    "clip-cov": (batch, params) => {
      const { covRatio: share, covLow, covHigh } = params;
      return clipCov(batch, { clip: clipOf(params), share, between: [covLow, covHigh] }, randomStream(1));
    },
    "kl-cov": (batch, { covRatio: share, klCoef: coefficient }) => klCov(batch, { share, coefficient }),
  };
  for (const { id, params, inputs, outputs } of goldenCases<Params, Inputs, Outputs>("surrogates")) {
    test(id, () => {
      const [, algorithm, source] = id.split("/");
      const { mask } = inputs;
      const lengths = lengthsOf(mask);
      const mode = params.aggregation ?? "seq-mean-token-mean";
      const tokens = sum(lengths);
      const sequences = lengths.filter((length) => length > 0).length;
      const scales = lengths.map((n, b) => {
        const scale = verlScales(lengths, mode, params.lossScaleFactor ?? mask[0].length)[b];
        if (mode === "token-sum") return scale;
        // GMPO's mean is over all rows, those without tokens too.
        if (algorithm === "gmpo") return n === 0 ? 0 : 1 / (n * lengths.length);
        if (source === "verl") return scale;
        // Older code adds 1e-8 to the number of tokens, counts rows without tokens, and in one mode does not count rows at all.
        if (mode === "token-mean") return (scale * tokens) / (tokens + 1e-8);
        return mode === "seq-mean-token-sum-norm"
          ? scale * sequences
          : (scale * sequences) / lengths.length / verlEpsilon(mode, n || 1);
      });
      // A weight of a token's loss, where it is positive, is a factor on its advantage.
      const advantages = inputs.advantages.map((row, b) => row.map((a, t) => a * (inputs.isWeights?.[b][t] ?? 1)));
      const batch = {
        logprobs: unpadded(inputs.logprobs, mask),
        oldLogprobs: unpadded(inputs.oldLogprobs, mask),
        advantages: unpadded(advantages, mask),
        tokenScales: scales,
      };
      const result = objectives[algorithm](batch, params);
      expectClose(result.loss, outputs.loss);
      expectClose(gradientsOf(result), unpadded(outputs.gradLogprobs, mask));
      const { clipFraction = 0, dualClipFraction = 0, approxKl = 0 } = result.metrics;
      const masked = tokens / (tokens + 1e-8);
      expectClose(clipFraction * masked, outputs.clipFraction ?? 0);
      expectClose(dualClipFraction * masked, outputs.clipFractionLower ?? 0);
      expectClose(approxKl * masked, outputs.approxKl ?? 0);
    });
  }

  function clipOf({ clipLow, clipHigh }: Params) {
    return { low: clipLow, high: clipHigh };
  }
});

describe("surrogates of TRL", () => {
  interface Params {
    readonly clipLow: number;
    readonly clipHigh: number;
    readonly level: "token" | "sequence";
    readonly klCoef: number;
    readonly lossType: "grpo" | "bnpo" | "dr_grpo" | "dapo" | "luspo" | "cispo" | "sapo";
    readonly delta?: number;
    readonly maxCompletionLength: number;
  }
  interface Inputs {
    readonly oldLogprobs: Matrix;
    readonly logprobs: Matrix;
    readonly refLogprobs?: Matrix;
    readonly advantagePerSequence: number[];
    readonly mask: Matrix;
  }
  interface Outputs {
    readonly loss: number;
    readonly gradLogprobs: Matrix;
    readonly clipFraction: number;
    readonly kl?: number;
  }
  const aggregations: Record<Params["lossType"], (maxCompletionLength: number) => Aggregation> = {
    grpo: () => "sequence-mean-token-mean",
    bnpo: () => "token-mean",
    dapo: () => "token-mean",
    dr_grpo: (tokenSumOver) => ({ tokenSumOver }),
    luspo: () => ({ tokenSumOver: 1 }),
    cispo: () => "token-mean",
    sapo: () => "sequence-mean-token-mean",
  };
  for (const { id, params, inputs, outputs } of goldenCases<Params, Inputs, Outputs>("surrogates-trl")) {
    test(id, () => {
      const { mask } = inputs;
      const lengths = lengthsOf(mask);
      const aggregation = aggregations[params.lossType](params.maxCompletionLength);
      // TRL's means over sequences count rows without tokens; ours leave them out.
      const counted = aggregation === "token-mean" ? 1 : lengths.filter((n) => n > 0).length / lengths.length;
      const scales = tokenScales(lengths, aggregation).map((scale) => scale * counted);
      const logprobs = unpadded(inputs.logprobs, mask);
      const batch = {
        logprobs,
        oldLogprobs: unpadded(inputs.oldLogprobs, mask),
        advantages: logprobs.map((row, b) => row.map(() => inputs.advantagePerSequence[b])),
        tokenScales: scales,
      };
      let result = objectiveOf(params)(batch);
      if (inputs.refLogprobs !== undefined && params.klCoef > 0) {
        const toReference = { logprobs, refLogprobs: unpadded(inputs.refLogprobs, mask), tokenScales: scales };
        result = plus(result, klPenalty(toReference, { estimator: "k3", coefficient: params.klCoef }));
        expectClose(result.metrics.kl, outputs.kl);
      }
      expectClose(result.loss, outputs.loss);
      expectClose(gradientsOf(result), unpadded(outputs.gradLogprobs, mask));
      // At sequence level TRL's fraction is over rows, ours over tokens.
      if (params.level === "token" && params.lossType !== "cispo" && params.lossType !== "sapo")
        expectClose(result.metrics.clipFraction, outputs.clipFraction);
    });
  }

  function objectiveOf({
    lossType,
    level,
    clipLow: low,
    clipHigh: high,
    delta,
  }: Params): (batch: SurrogateBatch) => LossAndWeights {
    // TRL's CISPO takes the upper bound itself and has no lower one; its SAPO has temperatures 1 and 1.05.
    if (lossType === "cispo") return (batch) => cispo(batch, { clip: { low: 1, high: high - 1 } });
    if (lossType === "sapo") return (batch) => sapo(batch, { tauPos: 1, tauNeg: 1.05 });
    return (batch) => ppu(batch, { level, clip: { low, high }, dualClip: delta });
  }
});

describe("KL estimators", () => {
  type Params = { estimator: KlEstimator; aggregation: string };
  type Inputs = { logprobs: Matrix; refLogprobs: Matrix; mask: Matrix };
  type Outputs = { tokenKl: Matrix; loss: number; gradLogprobs: Matrix };
  for (const { id, params, inputs, outputs } of goldenCases<Params, Inputs, Outputs>("kl")) {
    test(id, () => {
      const { mask } = inputs;
      expectClose(
        inputs.logprobs.map((row, b) =>
          row.map((logprob, t) => tokenKl(logprob - inputs.refLogprobs[b][t], { estimator: params.estimator }).value),
        ),
        outputs.tokenKl,
      );
      const lengths = lengthsOf(mask);
      const scales = tokenScales(lengths, aggregationOf(params.aggregation, mask[0].length));
      const batch = {
        logprobs: unpadded(inputs.logprobs, mask),
        refLogprobs: unpadded(inputs.refLogprobs, mask),
        tokenScales: scales.map((scale, b) => scale * verlEpsilon(params.aggregation, lengths[b])),
      };
      const result = klPenalty(batch, { estimator: params.estimator, coefficient: 1 });
      expectClose(result.loss, outputs.loss);
      expectClose(gradientsOf(result), unpadded(outputs.gradLogprobs, mask));
    });
  }
});

describe("KL in the reward", () => {
  type Params = { estimator: KlEstimator; klCoef: number; targetKl: number; horizon: number };
  type Inputs = { tokenScores: Matrix; oldLogprobs: Matrix; refLogprobs: Matrix; mask: Matrix };
  type Outputs = { tokenRewards: Matrix; kl: number; klCoefUsed: number; klCoefAfter: number };
  for (const { id, params, inputs, outputs } of goldenCases<Params, Inputs, Outputs>("kl-in-reward")) {
    test(id, () => {
      const { mask, tokenScores } = inputs;
      const kls = tokenKls(unpadded(inputs.oldLogprobs, mask), unpadded(inputs.refLogprobs, mask), {
        estimator: params.estimator,
      });
      const scores = unpadded(tokenScores, mask);
      expectClose(
        kls.map((row, b) => row.map((kl, t) => scores[b][t] - params.klCoef * kl)),
        unpadded(outputs.tokenRewards, mask),
      );
      const kl = sum(kls.map((row) => sum(row) / (row.length + 1e-8))) / kls.length;
      expectClose(kl, outputs.kl);
      expect(outputs.klCoefUsed).toBe(params.klCoef);
    });
  }
});

describe("value loss", () => {
  type Params = { aggregation: string; clip: number };
  type Inputs = { values: Matrix; oldValues: Matrix; returns: Matrix; mask: Matrix };
  type Outputs = { loss: number; gradValues: Matrix; clipFraction: number };
  for (const { id, params, inputs, outputs } of goldenCases<Params, Inputs, Outputs>("value-loss")) {
    test(id, () => {
      const { mask } = inputs;
      const lengths = lengthsOf(mask);
      const batch = {
        values: unpadded(inputs.values, mask),
        oldValues: unpadded(inputs.oldValues, mask),
        returns: unpadded(inputs.returns, mask),
        tokenScales: verlScales(lengths, params.aggregation, mask[0].length),
      };
      const result = valueLoss(batch, { valueClip: params.clip });
      expectClose(result.loss, outputs.loss);
      expectClose(gradientsOf(result), unpadded(outputs.gradValues, mask));
      const masked = sum(lengths) / (sum(lengths) + 1e-8);
      expectClose((result.metrics.valueClipFraction ?? Number.NaN) * masked, outputs.clipFraction);
    });
  }
});

describe("entropy, as the table policy of these tests differentiates it", () => {
  type Inputs = { logits: number[][][]; mask: Matrix };
  type Outputs = { tokenEntropy: Matrix; entropy: number; gradLogits: number[][][] };
  for (const { id, inputs, outputs } of goldenCases<object, Inputs, Outputs>("entropy")) {
    test(id, async () => {
      expectClose(
        inputs.logits.map((row) => row.map(entropyOf)),
        outputs.tokenEntropy,
      );
      const lengths = lengthsOf(inputs.mask);
      const scale = Math.max(...tokenScales(lengths, "token-mean"));
      const positions = inputs.mask.flatMap((row, b) => row.flatMap((m, t) => (m === 1 ? [{ b, t }] : [])));
      const policy = new TablePolicy(
        positions.map(({ b, t }) => inputs.logits[b][t]),
        1,
      );
      const samples = positions.map((_, row) => ({ trajectory: "t", turn: row, context: [row], action: [0] }));
      const nothing = samples.map(() => [0]);
      const bonus = samples.map(() => [scale]);
      await policy.forwardBackward(samples, nothing, bonus);
      await policy.step();
      expectClose(sum(positions.map(({ b, t }) => scale * entropyOf(inputs.logits[b][t]))), outputs.entropy);
      expectClose(
        policy.steps[0].gradient,
        positions.map(({ b, t }) => outputs.gradLogits[b][t]),
      );
    });
  }
});

describe("ARPO's entropy of a continuation", () => {
  type Params = { vocabularySize: number; tokens: number };
  type Outputs = { entropySum: number; entropy: number };
  for (const { id, params, inputs, outputs } of goldenCases<Params, { topLogprobs: Matrix }, Outputs>("arpo-entropy")) {
    test(id, () => {
      const entropy = branchEntropy(inputs.topLogprobs, params);
      expectClose(entropy, outputs.entropy);
      expectClose(entropy * Math.log(params.vocabularySize), outputs.entropySum);
    });
  }
});

function gradientsOf({ weights }: LossAndWeights): Matrix {
  return weights.map((row) => row.map((weight) => -weight));
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

test("every stored case is read", () => {
  const names = [
    "advantages",
    "carried-ratios",
    "aggregation",
    "surrogates",
    "surrogates-trl",
    "kl",
    "kl-in-reward",
    "value-loss",
  ];
  const counts = [...names, "entropy", "arpo-entropy", "seeupo", "seeupo-forms"].map((name) => goldenCases(name).length);
  expect(counts).toEqual([99, 12, 30, 111, 33, 30, 6, 6, 3, 3, 36, 69]);
  expect(sum(counts)).toBe(438);
});
