import { expect, test } from "vitest";
import { TablePolicy } from "../../test/algorithms/table-policy.ts";
import { randomWorld } from "../../test/algorithms/worlds.ts";
import { randomStream } from "../core/random.ts";
import { resolveAlgorithm } from "./config.ts";
import { updateMetrics } from "./metrics.ts";
import { runUpdate } from "./update.ts";

test.each(["seeupo", "grpo", "sft"])("%s moves the policy and reports metrics of the glossary, all finite", async (kind) => {
  const { table, groups } = randomWorld(4);
  const policy = new TablePolicy(table, 1);
  const metrics = await runUpdate(policy, groups, resolveAlgorithm({ kind }), randomStream(1));
  expect(policy.table).not.toEqual(table);
  expect(metrics.optimiserSteps).toBe(policy.steps.length);
  for (const [name, value] of Object.entries(metrics)) {
    expect(Object.keys(updateMetrics)).toContain(name);
    expect(value).toSatisfy(Number.isFinite);
  }
});
