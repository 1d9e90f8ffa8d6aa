import "../research/install.ts";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { expect, test } from "vitest";
import { readMetrics } from "../src/runs/read.ts";
import { planRun, runPlan } from "../src/sdk/train.ts";

const runs = mkdtempSync(join(tmpdir(), "knowledge-runs-"));

test.each(["grpo", "dapo", "arpo", "seeupo"] as const)(
  "a step of %s in the knowledge world, from its own default model",
  async (kind) => {
    const folder = join(runs, kind);
    const plan = await planRun({
      environment: "knowledge",
      algorithm: kind,
      rollout: { tasksPerStep: 8, groupSize: 8 },
      steps: 1,
      evaluation: { tasks: 0 },
      engine: { threads: 1 },
      out: folder,
    });
    expect(basename(plan.modelFolder)).toBe("knowledge");
    await runPlan(plan);
    const [{ metrics }] = readMetrics(folder);
    // The model knows the protocol and some of the answers, and calls both tools.
    expect(metrics["score/format"]).toBeGreaterThan(0.9);
    expect(metrics.success).toBeGreaterThan(0);
    expect(metrics.success).toBeLessThan(0.95);
    expect(metrics["score/searches"]).toBeGreaterThan(0.5);
    expect(metrics["score/calculations"]).toBeGreaterThan(0);
    expect(metrics.gradientNorm).toBeGreaterThan(0);
  },
);
