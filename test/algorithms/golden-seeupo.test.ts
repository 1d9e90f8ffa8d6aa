import { describe, test } from "vitest";
import { resolveAlgorithm } from "../../src/algorithms/algorithms.ts";
import { klPenalty } from "../../src/algorithms/objectives/kl.ts";
import { plus } from "../../src/algorithms/objectives/objective.ts";
import { ppu } from "../../src/algorithms/objectives/ppu.ts";
import { CarriedRatios } from "../../src/algorithms/seeupo/carried-ratios.ts";
import { seeupoAdvantages, seeupoUpdate } from "../../src/algorithms/seeupo/seeupo.ts";
import type { SeeupoConfig } from "../../src/algorithms/seeupo/settings.ts";
import { minimise } from "../../src/algorithms/step/minimise.ts";
import { randomStream } from "../../src/core/random.ts";
import type { Group } from "../../src/core/trajectory.ts";
import { expectClose, goldenCases } from "./golden.ts";
import { groupOf, TablePolicy } from "./table-policy.ts";

type Matrix = number[][];

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
    readonly missingTurns: "absent" | "padded";
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
        kind: "seeupo-code",
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

    if (params.missingTurns === "padded") {
      test(`${id}, in the published code's reading`, () => expectPadded(params, inputs, outputs, groups, config("textbook")));
      continue;
    }

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

  /**
   * In the published code a trajectory without a turn stands in with its last turn and advantage 0: it counts in the mean, in the KL and in its M.
   * The product leaves it alone; its formulas are held to these cases all the same.
   */
  async function expectPadded(params: Params, inputs: Inputs, outputs: Outputs, groups: Group[], config: SeeupoConfig) {
    const policy = new TablePolicy(inputs.table, params.learningRate);
    const advantages = seeupoAdvantages(groups, config);
    const carried = new CarriedRatios(config);
    const trajectories = groups.flatMap((group) => group.trajectories);
    for (const [s, turn] of params.updateOrder.entries()) {
      const samples = trajectories.map(({ turns }) => turns[Math.min(turn, turns.length - 1)]);
      const active = trajectories.map(({ turns }) => turn < turns.length);
      const [oldLogprobs, refLogprobs] = [await policy.logprobs(samples), await policy.referenceLogprobs(samples)];
      const tokenScales = samples.map(({ action }) => 1 / (samples.length * action.length));
      const perToken = samples.map(({ trajectory, action }, i) => {
        const advantage = active[i] ? (advantages.get(trajectory) ?? Number.NaN) * carried.of(trajectory) : 0;
        return action.map(() => advantage);
      });
      for (const epoch of outputs.steps[s].epochs) {
        const {
          metrics: { loss },
        } = await minimise(policy, samples, (logprobs) => {
          const batch = { logprobs, oldLogprobs, advantages: perToken, tokenScales };
          const surrogate = ppu(batch, { level: "sequence", clip: config.clip });
          if (params.klCoef === 0) return surrogate;
          const penalty = { estimator: "k3", coefficient: params.klCoef } as const;
          return plus(surrogate, klPenalty({ logprobs, refLogprobs, tokenScales }, penalty));
        });
        expectClose(loss, epoch.loss);
        expectClose(policy.table, epoch.tableAfter);
      }
      carried.carry(samples, oldLogprobs, await policy.logprobs(samples));
    }
    for (const { id } of trajectories) expectClose(carried.of(id), outputs.carriedFinal[id]);
  }
});

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

describe("the paper's form and the code's, from a program of their own", () => {
  type Form = Pick<SeeupoConfig, "ratioTo" | "carryRatioTo" | "carryRatio" | "clip" | "epochs">;
  interface Params extends Form {
    readonly order: number[];
    readonly carryClip: SeeupoConfig["clip"] | null;
    readonly bound: number | null;
    readonly kl: number;
    readonly rate: number;
  }
  interface Inputs {
    readonly table: Matrix;
    readonly groups: { id: string; reward: number; turns: { context: number; action: number[] }[] }[][];
  }
  interface Outputs {
    readonly table: Matrix;
    readonly losses: number[];
    readonly clipFraction: number;
    readonly carried: Record<string, number>;
    /** Smallest and largest M that multiplied an advantage. */
    readonly read: [number, number];
  }
  for (const { id, params, inputs, outputs } of goldenCases<Params, Inputs, Outputs>("seeupo-forms"))
    test.each(["textbook", "fused"] as const)(`${id}, %s`, async (form) => {
      const { carryClip, bound, kl, rate, ...same } = params;
      const own = { form, klCoef: kl, carryClip: carryClip ?? "off", advantageBound: bound ?? "off" };
      const config = resolveAlgorithm({ kind: "seeupo", ...same, ...own }) as SeeupoConfig;
      const groups = inputs.groups.map((trajectories, g) =>
        groupOf(
          `group-${g}`,
          trajectories.map((t) => ({ ...t, turns: t.turns.map(({ context, action }) => ({ context: [context], action })) })),
        ),
      );
      const policy = new TablePolicy(inputs.table, rate);
      const { metrics, carriedRatios } = await seeupoUpdate(policy, groups, config, randomStream(1));
      expectClose(policy.table, outputs.table);
      expectClose((metrics.loss ?? Number.NaN) * outputs.losses.length, sum(outputs.losses));
      expectClose(metrics.clipFraction, outputs.clipFraction);
      expectClose([metrics.carriedMin, metrics.carriedMax], outputs.read);
      if (form === "fused") return; // It takes only the r that are read.
      for (const [trajectory, carried] of Object.entries(outputs.carried))
        expectClose(carriedRatios.get(trajectory) ?? 1, carried);
    });
});
