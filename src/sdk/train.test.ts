import "../../test/office.ts";
import { expect, test } from "vitest";
import { resolveConfig } from "../training/config/config.ts";
import type { UserConfig } from "../training/config/user-config.ts";
import { openingLine, planRun, type RunPlan } from "./train.ts";

test("what no engine of the kind can do is refused before a model is looked for", async () => {
  const model = "no/such-model";
  await expect(planRun({ model, engine: { device: "webgpu" }, rollout: { ahead: 1 } })).rejects.toThrow(
    /rollout\.ahead is 1; expected 0, or an engine with the capability "frozen-policies" \(the engine "local" has .*WebGPU/,
  );
});

test("a run is described in one line", () => {
  const line = (user: UserConfig, resume = false) =>
    openingLine({ config: resolveConfig(user), environment: { name: "office" } as RunPlan["environment"], resume });
  expect(line({ algorithm: "grpo", steps: 3, rollout: { tasksPerStep: 1, groupSize: 8 } })).toBe(
    'Training the default model in "office" by grpo: 3 steps of 1 task × 8 rollouts',
  );
  expect(line({ algorithm: "seeupo", model: "m", steps: 1, rollout: { tasksPerStep: 4, groupSize: 2 } }, true)).toBe(
    'Continuing m in "office" by seeupo: 1 step of 4 tasks × 2 rollouts',
  );
  expect(line({ algorithm: { kind: "sft", tokensPerStep: 300 }, steps: 2 })).toBe(
    'Training the default model in "office" by sft: 2 steps of about 300 tokens of the expert\'s demonstrations',
  );
});
