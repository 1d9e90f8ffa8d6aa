import { expect, test } from "vitest";
import { TableCritic, TablePolicy } from "../../test/algorithms/table-policy.ts";
import { randomWorld } from "../../test/algorithms/worlds.ts";
import { randomStream } from "../core/random.ts";
import { resolveAlgorithm, rolloutAlgorithms, runUpdate } from "./algorithms.ts";
import { updateMetrics } from "./glossary.ts";

test.each([...rolloutAlgorithms.filter((kind) => kind !== "custom"), "sft"])(
  "%s moves the policy and reports metrics of the glossary, all finite",
  async (kind) => {
    const { table, groups } = randomWorld(4);
    const policy = new TablePolicy(table, 1, new TableCritic([0, 0, 0, 0], 0.5));
    const metrics = await runUpdate(
      policy,
      groups,
      resolveAlgorithm({ kind, ...(kind === "ppo" ? { miniBatches: 2 } : {}) }),
      randomStream(1),
    );
    expect(policy.table).not.toEqual(table);
    expect(metrics.optimiserSteps).toBe(policy.steps.length);
    for (const [name, value] of Object.entries(metrics)) {
      expect(Object.keys(updateMetrics)).toContain(name);
      expect(value).toSatisfy(Number.isFinite);
    }
  },
);
