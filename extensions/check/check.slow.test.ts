import "../../research/install.ts";
import { expect, test } from "vitest";
import { createEnvironment } from "../../src/environments/registry.ts";
import { resolveConfig } from "../../src/training/config/config.ts";
import { checkEnvironment } from "./check.ts";

const { rollout } = resolveConfig();

test("the office gives nothing away: the expert solves it, and nothing that understands nothing does", async () => {
  const report = await checkEnvironment(createEnvironment("office", {}), { seed: 1, tasks: 240, trainingTasks: 400, rollout });
  expect(report.expert?.mean).toBe(1);
  expect(report.policies.length).toBeGreaterThanOrEqual(14);
  expect(report.policies.filter(({ success }) => success.mean > 0.15)).toEqual([]);
  expect(report.overlap.map(({ shared }) => shared)).toEqual(report.overlap.map(() => 0));
  expect(report.overlap).toHaveLength(7);
  expect(report.unchecked).toEqual(["No model was measured."]);
});
