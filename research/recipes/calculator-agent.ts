/**
 * The calculator agent of Danau5tin/calculator_agent_rl, where GRPO took Qwen2.5-0.5B from 0.6 to 34 % in 2 h 56 min on eight RTX 6000 Ada:
 *
 *     npx jiti research/recipes/calculator-agent.ts --seed 11 --out runs/calculator-agent-11
 *
 * First the form, by demonstrations whose operations are drawn at random; then GRPO on the questions of calculator-questions.ts. Called again, it
 * continues.
 */
import "../install.ts";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { runTraining } from "../../src/cli/commands/train.ts";
import { layout } from "../../src/runs/layout.ts";
import { readSummary } from "../../src/runs/read.ts";
import { createScreen } from "../../src/terminal/screen.ts";
import type { UserConfig } from "../../src/training/config/user-config.ts";
import { environment } from "./calculator-questions.ts";

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      seed: { type: "string", default: "1" },
      out: { type: "string" },
      algorithm: { type: "string", default: "grpo" },
      threads: { type: "string", default: "1" },
      device: { type: "string", default: "cpu" },
    },
  });
  const seed = Number(values.seed);
  const out = values.out ?? `runs/calculator-agent-${seed}`;
  const shared = {
    seed,
    environment,
    engine: {
      kind: "local",
      device: values.device,
      threads: Number(values.threads),
      lora: { rank: 16, alpha: 32, targets: "all-linear" },
      maxLength: 512,
      memory: 3,
    },
    rollout: { tasksPerStep: 16, groupSize: 8, maxTurns: 2, maxTokens: 120 },
  } as UserConfig;
  const screen = createScreen(process.stdout);
  const stage = async (config: UserConfig, folder: string, model: string): Promise<number> => {
    const isBegun = existsSync(layout.run(folder));
    if (isBegun && readSummary(folder) !== undefined) return 0;
    return runTraining({ ...config, model, out: folder }, { out: folder }, { resume: isBegun, dashboard: false }, screen);
  };
  const form = {
    ...shared,
    algorithm: { kind: "sft", tokensPerStep: 3200 },
    optimizer: { learningRate: 7e-4 },
    steps: 30,
    evaluation: { tasks: 0 },
  } as const;
  const reinforcement = {
    ...shared,
    algorithm: { kind: values.algorithm },
    optimizer: { learningRate: 4e-4 },
    steps: 40,
    evaluation: { tasks: 160, k: 1 },
  } as unknown as UserConfig;
  if ((await stage(form, join(out, "form"), "smollm2")) === 0)
    process.exitCode = await stage(reinforcement, join(out, values.algorithm), join(out, "form"));
}

await main();
