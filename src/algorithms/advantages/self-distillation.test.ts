import { expect, test } from "vitest";
import { expectClose } from "../../../test/algorithms/golden.ts";
import { groupOf, TablePolicy } from "../../../test/algorithms/table-policy.ts";
import { EngineError } from "../../core/errors.ts";
import type { Policy } from "../../core/policy.ts";
import { randomStream } from "../../core/random.ts";
import { resolveConfig } from "../../training/config/config.ts";
import { resolveAlgorithm, runUpdate } from "../algorithms.ts";
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
