/**
 * The calculator agent of Danau5tin/calculator_agent_rl, where GRPO took Qwen2.5-0.5B from 0.6 to 34 % in 2 h 56 min on eight RTX 6000 Ada:
 *
 *     npx jiti research/recipes/calculator-agent.ts --seed 11 --out runs/calculator-agent-11
 *
 * First the form, by demonstrations whose operations are drawn at random; then GRPO on the questions of calculator-questions.ts. Called again, it
 * continues.
 */
import "../install.ts";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { createScreen } from "../../src/terminal/screen.ts";
import { calculatorConfigs } from "./calculator-run.ts";
import { runStages } from "./stages.ts";

const { values } = parseArgs({
  options: {
    seed: { type: "string", default: "1" },
    out: { type: "string" },
    algorithm: { type: "string", default: "grpo" },
    threads: { type: "string", default: "1" },
    device: { type: "string", default: "cpu" },
  },
});
const { algorithm, device } = values;
const seed = Number(values.seed);
const out = values.out ?? `runs/calculator-agent-${seed}`;
const { form, reinforcement } = calculatorConfigs({ seed, algorithm, device, threads: Number(values.threads) });
const stages = [
  { config: form, folder: join(out, "form"), model: "smollm2" },
  { config: reinforcement, folder: join(out, algorithm), model: join(out, "form") },
];
process.exitCode = await runStages(stages, createScreen(process.stdout));
