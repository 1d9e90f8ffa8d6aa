import { expect, test } from "vitest";
import { expectClose } from "../../../test/algorithms/golden.ts";
import { groupOf, TablePolicy } from "../../../test/algorithms/table-policy.ts";
import { Context } from "../../core/context.ts";
import { EngineError } from "../../core/errors.ts";
import type { Policy } from "../../core/policy.ts";
import { randomStream } from "../../core/random.ts";
import type { ActionInContext, Trajectory } from "../../core/trajectory.ts";
import { resolveConfig } from "../../training/config/config.ts";
import { resolveAlgorithm, runUpdate } from "../algorithms.ts";
import type { StepParts } from "./advantage.ts";
import { selfDistillationKind } from "./self-distillation.ts";

const algorithm = { kind: "custom", advantage: { kind: "self-distillation" }, update: { kind: "reinforce" } } as const;
const group = groupOf("g", [{ reward: 1, turns: [{ context: [0], action: [1, 0] }] }]);
const even: Policy = new TablePolicy(
  [
    [0, 0],
    [0, 0],
  ],
  1,
);

test("a token is credited with what it is likelier after the demonstration, by hand", async () => {
  const policy: Policy = Object.assign(Object.create(even) as Policy, { teacherLogprobs: async () => [[-0.1, -2]] });
  const { advantages, metrics } = await selfDistillationKind.estimate({ policy, groups: [group] }, {});
  const half = Math.log(2);
  expectClose(advantages, [[half - 0.1, half - 2]]);
  expectClose([metrics.demonstrationKl ?? 0], [(2.1 - 2 * half) / 2]);
});

test("without a demonstration no update is made, and rollouts may be sampled ahead", async () => {
  await expect(runUpdate(even, [group], resolveAlgorithm(algorithm), randomStream(1))).rejects.toThrow(EngineError);
  const ahead = { environment: "office", algorithm, rollout: { ahead: 1 }, correction: { level: "token" } } as const;
  expect(resolveConfig(ahead).rollout.ahead).toBe(1);
});

test("over ten steps the policy comes to what it is with the demonstration, though no return differs", async () => {
  // After 0, the task, both tokens are as likely; after 1, the task with its demonstration, the first is e² times as likely.
  const policy = new TablePolicy(
    [
      [0, 0],
      [2, 0],
    ],
    1,
  );
  const shown: Policy = Object.assign(policy, {
    teacherLogprobs: (samples: readonly ActionInContext[]) =>
      policy.logprobs(samples.map((sample) => ({ ...sample, context: [1] }))),
  });
  const gaps: number[] = [];
  for (let step = 1; step <= 10; step++) {
    const [[likely]] = await policy.logprobs([{ trajectory: "", turn: 0, context: [0], action: [0] }]);
    const random = randomStream(step, "sample");
    const sampled = Array.from({ length: 500 }, () => Number(random.uniform() >= Math.exp(likely)));
    const groups = [
      groupOf(
        "g",
        sampled.map((token) => ({ reward: 1, turns: [{ context: [0], action: [token] }] })),
      ),
    ];
    const { demonstrationKl = Number.NaN } = await runUpdate(shown, groups, resolveAlgorithm(algorithm), randomStream(step));
    gaps.push(demonstrationKl);
  }
  // KL of (½, ½) to σ(2) = 0.8808: ½ ln(½/0.8808) + ½ ln(½/0.1192) = 0.4338. Four standard errors of 500 draws: 4·(½·2)/√500.
  expect(Math.abs(gaps[0] - 0.4338)).toBeLessThan(4 / Math.sqrt(500));
  for (const gap of gaps.slice(-3)) expect(Math.abs(gap)).toBeLessThan(0.1);
});

test("contexts without room for a demonstration are counted, and one without a task's is scored as it is", async () => {
  const warned: string[] = [];
  const scored: number[] = [];
  const trajectory = { id: "a", task: "t" } as Trajectory;
  const parts: StepParts = {
    groups: [{ id: "g", trajectories: [trajectory] }],
    maxLength: 6,
    scores: async (samples) => {
      scored.push(...samples.map(({ context }) => context.length));
      return [];
    },
    demonstration: async () => Context.of([7, 8]),
    warn: (message) => warned.push(message),
  };
  const scores = await selfDistillationKind.teacher?.(parts, {});
  const sample = (id: string, length: number) => ({ trajectory: id, turn: 0, context: Array(length).fill(1), action: [2] });
  await scores?.([sample("a", 3)]);
  expect([scored, warned]).toEqual([[5], []]);
  await scores?.([sample("a", 4), sample("a", 1), sample("b", 1)]);
  expect(scored.slice(1)).toEqual([4, 3, 1]);
  expect(warned).toEqual(["2 of 3 contexts leave no room for a demonstration (6 tokens), and teach nothing."]);
});
