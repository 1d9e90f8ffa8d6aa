import "../extensions/install.ts";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { readMetrics } from "../src/runs/read.ts";
import { planRun, runPlan } from "../src/sdk/train.ts";

/** A real SkyRL server that serves the bundled model of the office, in bfloat16: `.ci/skyrl` starts it in this folder. */
const home = process.env.RETROGRADE_SKYRL_OFFICE;
const title = (text: string) => (home === undefined ? `${text} — skipped: no SkyRL server runs (./.ci/skyrl)` : text);
const model = "models/office";

test.skipIf(home === undefined).each(["grpo", "seeupo"] as const)(
  title("%s trains the office through a real SkyRL server that computes in bfloat16"),
  { timeout: 900_000 },
  async (algorithm) => {
    const url = /TINKER_BASE_URL=(\S+)/.exec(readFileSync(join(home ?? "", "server.env"), "utf8"))?.[1] ?? "";
    const out = join(mkdtempSync(join(tmpdir(), "retrograde-skyrl-office-")), "run");
    const plan = await planRun({
      ...{ environment: "office", model, algorithm, steps: 2, seed: 5, out },
      engine: { kind: "tinker", url, model: "office", rank: 8 },
      rollout: { tasksPerStep: 4, groupSize: 4 },
      optimizer: { learningRate: 1e-3, clipNorm: "off" },
      evaluation: { tasks: 0 },
      checkpoint: { exact: false },
    });
    await runPlan(plan);
    const metrics = readMetrics(out).map((record) => record.metrics);
    expect(metrics).toHaveLength(2);
    for (const { toolCalls, samplerGapMax, samplerGapTokens, gradientNorm } of metrics) {
      expect(toolCalls).toBeGreaterThan(16);
      expect(samplerGapTokens).toBeGreaterThan(50);
      expect(samplerGapMax).toBeLessThanOrEqual(0.25);
      expect(gradientNorm).toBeGreaterThan(0);
    }
    expect(existsSync(join(out, "model", "adapter", "adapter_model.safetensors"))).toBe(true);
    rmSync(out, { recursive: true });
  },
);
