import { expect, test } from "vitest";
import { expectClose } from "../../../test/algorithms/golden.ts";
import { groupOf, TablePolicy } from "../../../test/algorithms/table-policy.ts";
import { ConfigError, EngineError } from "../../core/errors.ts";
import type { Policy } from "../../core/policy.ts";
import { randomStream } from "../../core/random.ts";
import { resolveConfig } from "../../training/config/config.ts";
import { resolveAlgorithm, runUpdate } from "../algorithms.ts";
import { distillationAdvantages } from "./distillation.ts";

const algorithm = {
  kind: "custom",
  advantage: { kind: "distillation", teacher: "other" },
  update: { kind: "reinforce" },
} as const;

test("a token is credited with what the teacher finds it likelier, by hand", () => {
  expectClose(distillationAdvantages([[-1, -2], [-0.5]], [[-0.5, -3], [-0.5]]), [[0.5, -1], [0]]);
});

test("a policy of one state comes to be its teacher, and the metric is the KL that is left", async () => {
  const wanted = [0.7, 0.1, 0.1, 0.1].map(Math.log);
  const policy = new TablePolicy([[0, 0, 0, 0]], 4);
  const random = randomStream(2);
  let left = Number.NaN;
  for (let step = 0; step < 60; step++) {
    const [logits] = policy.table;
    const scale = logits.reduce((sum, logit) => sum + Math.exp(logit), 0);
    const drawn = Array.from({ length: 64 }, () => {
      let share = random.uniform() * scale;
      const token = logits.findIndex((logit) => (share -= Math.exp(logit)) < 0);
      return { reward: 0, turns: [{ context: [0], action: [Math.max(0, token)] }] };
    });
    const taught: Policy = Object.assign(policy, {
      teacherLogprobs: async (samples: Parameters<Policy["logprobs"]>[0]) =>
        samples.map(({ action }) => action.map((token) => wanted[token] ?? 0)),
    });
    const metrics = await runUpdate(taught, [groupOf("g", drawn)], resolveAlgorithm(algorithm), random);
    left = metrics.teacherKl ?? Number.NaN;
  }
  const [logits] = policy.table;
  const scale = logits.reduce((sum, logit) => sum + Math.exp(logit), 0);
  expect(Math.exp(logits[0]) / scale).toBeCloseTo(0.7, 1);
  expect(left).toBeLessThan(0.05);
});

test("a run without a teacher does not begin, and no update is made without its log-probs", async () => {
  const unnamed = { ...algorithm, advantage: { kind: "distillation" } } as never;
  const run = () => resolveConfig({ environment: "office", algorithm: unnamed });
  expect(run).toThrow(ConfigError);
  expect(run).toThrow("algorithm.advantage.teacher is missing");
  const group = groupOf("g", [{ reward: 0, turns: [{ context: [0], action: [1] }] }]);
  const untaught = runUpdate(new TablePolicy([[0, 0]], 1), [group], resolveAlgorithm(algorithm), randomStream(1));
  await expect(untaught).rejects.toThrow(EngineError);
});
