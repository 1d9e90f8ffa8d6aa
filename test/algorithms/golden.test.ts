import { describe, expect, test } from "vitest";
import { batchNormalised, clippedAdvantages, groupRelativeAdvantages } from "../../src/algorithms/advantages.ts";
import { type Aggregation, tokenScales } from "../../src/algorithms/aggregation.ts";
import { carriedRatio, turnRatio } from "../../src/algorithms/carried-ratios.ts";
import { resolveAlgorithm, type SeeupoConfig } from "../../src/algorithms/config.ts";
import {
  clipRatio,
  type KlEstimator,
  klPenalty,
  type LossAndWeights,
  plus,
  ppu,
  tokenKl,
} from "../../src/algorithms/objectives.ts";
import { seeupoUpdate } from "../../src/algorithms/seeupo.ts";
import { randomStream } from "../../src/core/random.ts";
import type { Group } from "../../src/core/trajectory.ts";
import { expectClose, goldenCases, lengthsOf, unpadded } from "./golden.ts";
import { groupOf, TablePolicy } from "./table-policy.ts";

type Matrix = number[][];

describe("advantages", () => {
  interface Params {
    readonly divideByStd?: boolean;
    readonly clamp?: number;
  }
  interface Inputs {
    readonly tokenRewards: Matrix;
    readonly mask: Matrix;
    readonly group: number[];
    readonly carriedRatio?: number[];
  }
  for (const { id, params, inputs, outputs } of goldenCases<Params, Inputs, { advantages: Matrix }>("advantages")) {
    test(id, () => {
      const groups = groupsByRow(inputs.group, inputs.tokenRewards);
      const centred = groupRelativeAdvantages(groups, { divideByStd: params.divideByStd ?? false, singletonGroups: "raw" });
      const advantages = params.clamp === undefined ? centred : clippedAdvantages(batchNormalised(centred, false), params.clamp);
      const perToken = inputs.mask.map((row, b) =>
        row.map((m) => m * (advantages.get(`row-${b}`) ?? Number.NaN) * (inputs.carriedRatio?.[b] ?? 1)),
      );
      expectClose(perToken, outputs.advantages);
    });
  }

  function groupsByRow(group: readonly number[], tokenRewards: Matrix): Group[] {
    const rewards = tokenRewards.map((row) => row.reduce((sum, reward) => sum + reward, 0));
    return [...new Set(group)].map((g) =>
      groupOf(
        `group-${g}`,
        rewards.flatMap((reward, b) => (group[b] === g ? [{ id: `row-${b}`, reward, turns: [] }] : [])),
      ),
    );
  }
});

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
      const ratios = now.map((row, b) => turnRatio(row, old[b]));
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
  type Params = { aggregation: string };
  for (const { id, params, inputs, outputs } of goldenCases<
    Params,
    { tokenLoss: Matrix; mask: Matrix },
    { loss: number; gradTokenLoss: Matrix }
  >("aggregation")) {
    test(id, () => {
      const lengths = lengthsOf(inputs.mask);
      const aggregation = aggregationOf(params.aggregation, inputs.mask[0].length);
      const scales = tokenScales(lengths, aggregation).map((scale, b) => scale * verlEpsilon(params.aggregation, lengths[b]));
      const loss = unpadded(inputs.tokenLoss, inputs.mask).map((row, b) => row.reduce((sum, l) => sum + l * scales[b], 0));
      expectClose(
        loss.reduce((sum, l) => sum + l, 0),
        outputs.loss,
      );
      expectClose(
        inputs.mask.map((row, b) => row.map((m) => (m === 1 ? scales[b] : 0))),
        outputs.gradTokenLoss,
      );
    });
  }
});

describe("surrogates of verl, SeeUPO and ARPO", () => {
  interface Params {
    readonly clipLow: number;
    readonly clipHigh: number;
    readonly dualClip?: number;
    readonly aggregation?: string;
    readonly lossScaleFactor?: number;
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
    readonly clipFraction: number;
    readonly clipFractionLower: number;
  }
  for (const { id, params, inputs, outputs } of goldenCases<Params, Inputs, Outputs>("surrogates")) {
    test(id, () => {
      const [, algorithm, source] = id.split("/");
      const { mask } = inputs;
      const lengths = lengthsOf(mask);
      const mode = params.aggregation ?? "seq-mean-token-mean";
      const older = source !== "verl";
      const tokens = lengths.reduce((sum, n) => sum + n, 0);
      const scales = lengths.map((n, b) => {
        if (mode === "token-sum") return 1;
        const scale = tokenScales(lengths, aggregationOf(mode, params.lossScaleFactor ?? mask[0].length))[b];
        if (!older) return scale * verlEpsilon(mode, n);
        // Older code adds 1e-8 to the number of tokens, counts rows without tokens, and in one mode does not count rows at all.
        const sequences = lengths.filter((length) => length > 0).length;
        if (mode === "token-mean") return (scale * tokens) / (tokens + 1e-8);
        return mode === "seq-mean-token-sum-norm" ? scale * sequences : (scale * sequences) / lengths.length;
      });
      // A weight of a token's loss, where it is positive, is a factor on its advantage.
      const advantages = inputs.advantages.map((row, b) => row.map((a, t) => a * (inputs.isWeights?.[b][t] ?? 1)));
      const result = ppu(
        {
          logprobs: unpadded(inputs.logprobs, mask),
          oldLogprobs: unpadded(inputs.oldLogprobs, mask),
          advantages: unpadded(advantages, mask),
          tokenScales: scales,
        },
        {
          level: algorithm === "gspo" ? "sequence" : "token",
          clip: { low: params.clipLow, high: params.clipHigh },
          dualClip: params.dualClip,
        },
      );
      expectClose(result.loss, outputs.loss);
      expectClose(gradientsOf(result), unpadded(outputs.gradLogprobs, mask));
      const masked = tokens / (tokens + 1e-8);
      expectClose((result.metrics.clipFraction ?? Number.NaN) * masked, outputs.clipFraction);
      expectClose((result.metrics.dualClipFraction ?? 0) * masked, outputs.clipFractionLower);
    });
  }
});

describe("surrogates of TRL", () => {
  interface Params {
    readonly clipLow: number;
    readonly clipHigh: number;
    readonly level: "token" | "sequence";
    readonly klCoef: number;
    readonly lossType: "grpo" | "bnpo" | "dr_grpo" | "dapo" | "luspo";
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
      let result: LossAndWeights = ppu(
        {
          logprobs,
          oldLogprobs: unpadded(inputs.oldLogprobs, mask),
          advantages: logprobs.map((row, b) => row.map(() => inputs.advantagePerSequence[b])),
          tokenScales: scales,
        },
        { level: params.level, clip: { low: params.clipLow, high: params.clipHigh }, dualClip: params.delta },
      );
      if (inputs.refLogprobs !== undefined && params.klCoef > 0) {
        const batch = { logprobs, refLogprobs: unpadded(inputs.refLogprobs, mask), tokenScales: scales };
        result = plus(result, klPenalty(batch, { estimator: "k3", coefficient: params.klCoef }));
        expectClose(result.metrics.kl, outputs.kl);
      }
      expectClose(result.loss, outputs.loss);
      expectClose(gradientsOf(result), unpadded(outputs.gradLogprobs, mask));
      // At sequence level TRL's fraction is over rows, ours over tokens.
      if (params.level === "token") expectClose(result.metrics.clipFraction, outputs.clipFraction);
    });
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
          row.map((logprob, t) => tokenKl(logprob - inputs.refLogprobs[b][t], params.estimator).value),
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

describe("whole SeeUPO updates", () => {
  interface Params {
    readonly updateOrder: number[];
    readonly epochs: number;
    readonly clipLow: number;
    readonly clipHigh: number;
    readonly carryClipLow: number;
    readonly carryClipHigh: number;
    readonly klCoef: number;
    readonly loss: "gspo" | "ppo";
    readonly correction: boolean;
    readonly learningRate: number;
    readonly order: "reverse" | "sequential" | "random";
  }
  interface Inputs {
    readonly table: Matrix;
    readonly trajectories: { id: string; task: number; reward: number; turns: { contexts: number[]; tokens: number[] }[] }[];
  }
  interface Outputs {
    readonly steps: { turn: number; epochs: { loss: number; clipFraction: number; tableAfter: Matrix }[] }[];
    readonly carriedFinal: Record<string, number>;
  }
  for (const { id, params, inputs, outputs } of goldenCases<Params, Inputs, Outputs>("seeupo")) {
    const config = (form: SeeupoConfig["form"]) =>
      resolveAlgorithm({
        kind: "seeupo",
        visitScale: "plain",
        minimumRows: 1,
        form,
        order: params.order === "random" ? params.updateOrder : params.order,
        level: params.loss === "gspo" ? "turn" : "token",
        dualClip: params.loss === "gspo" ? undefined : 3,
        clip: { low: params.clipLow, high: params.clipHigh },
        carryClip: { low: params.carryClipLow, high: params.carryClipHigh },
        klCoef: params.klCoef,
        epochs: params.epochs,
        advantageFactor: params.correction,
      }) as SeeupoConfig;
    const groups = [...new Set(inputs.trajectories.map(({ task }) => task))].map((task) =>
      groupOf(
        `task-${task}`,
        inputs.trajectories
          .filter((trajectory) => trajectory.task === task)
          .map(({ id: own, reward, turns }) => ({
            id: own,
            reward,
            turns: turns.map(({ contexts, tokens }) => ({ context: [contexts[0]], action: tokens })),
          })),
      ),
    );
    const expectedSteps = outputs.steps.flatMap((step) => step.epochs);

    test.each(["textbook", "fused"] as const)(`${id}, %s`, async (form) => {
      const policy = new TablePolicy(inputs.table, params.learningRate);
      const { metrics, carriedRatios } = await seeupoUpdate(policy, groups, config(form), randomStream(1));
      // A step whose tokens are all clipped has no gradient, and is not taken.
      const tables = [inputs.table, ...expectedSteps.map((step) => step.tableAfter)];
      expectClose(
        policy.steps.map((step) => step.tableAfter),
        tables.filter((table, i) => i > 0 && JSON.stringify(table) !== JSON.stringify(tables[i - 1])),
      );
      expectClose((metrics.loss ?? Number.NaN) * expectedSteps.length, sum(expectedSteps.map((step) => step.loss)));

      // A group of equal returns has advantage 0 here and is left out; in the references rounding noise of 1e-17 takes its place.
      const withSignal = groups.filter(({ trajectories }) => new Set(trajectories.map(({ reward }) => reward)).size > 1);
      if (withSignal.length === groups.length) {
        const clipped = sum(expectedSteps.map((step) => step.clipFraction));
        expectClose((metrics.clipFraction ?? Number.NaN) * expectedSteps.length, clipped);
      }
      if (form === "textbook" && params.correction) {
        for (const { id: trajectory } of withSignal.flatMap(({ trajectories }) => trajectories))
          expectClose(carriedRatios.get(trajectory), outputs.carriedFinal[trajectory]);
      }
    });

    test(`${id}: the order of trajectories and groups does not matter`, async () => {
      const policy = new TablePolicy(inputs.table, params.learningRate);
      const shuffled = randomStream(7).shuffle(
        groups.map((g) => ({ ...g, trajectories: randomStream(8, g.id).shuffle(g.trajectories) })),
      );
      await seeupoUpdate(policy, shuffled, config("fused"), randomStream(1));
      expectClose(policy.table, expectedSteps[expectedSteps.length - 1].tableAfter);
    });
  }
});

function aggregationOf(mode: string, scaleFactor: number): Aggregation {
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

/** verl divides a row's token mean by n_b + 1e-8, which for one token is more than the tolerance; ours divides by n_b. */
function verlEpsilon(mode: string, length: number): number {
  return mode === "seq-mean-token-mean" ? length / (length + 1e-8) : 1;
}

function gradientsOf({ weights }: LossAndWeights): Matrix {
  return weights.map((row) => row.map((weight) => -weight));
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

test("every stored case is read", () => {
  const counts = ["advantages", "carried-ratios", "aggregation", "surrogates", "surrogates-trl", "kl", "seeupo"];
  expect(counts.map((name) => goldenCases(name).length)).toEqual([24, 12, 12, 57, 27, 18, 30]);
});
