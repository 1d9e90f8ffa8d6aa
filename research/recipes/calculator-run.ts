import type { UserConfig } from "../../src/training/config/user-config.ts";
import { environment } from "./calculator-questions.ts";

export interface CalculatorRun {
  readonly seed: number;
  readonly algorithm: string;
  readonly device: string;
  readonly threads: number;
}

/** The two stages of calculator-agent.ts. */
export function calculatorConfigs({ seed, algorithm, device, threads }: CalculatorRun) {
  const shared = {
    ...{ seed, environment },
    engine: {
      ...{ kind: "local", device, threads },
      lora: { rank: 16, alpha: 32, targets: "all-linear" },
      ...{ maxLength: 512, memory: 3 },
    },
    rollout: { tasksPerStep: 16, groupSize: 8, maxTurns: 2, maxTokens: 120 },
  };
  const form = {
    ...shared,
    algorithm: { kind: "sft", tokensPerStep: 3200 },
    optimizer: { learningRate: 7e-4 },
    steps: 30,
    evaluation: { tasks: 0 },
  } as UserConfig;
  const reinforcement = {
    ...shared,
    algorithm: { kind: algorithm },
    optimizer: { learningRate: 4e-4 },
    steps: 40,
    evaluation: { tasks: 160, k: 1 },
  } as UserConfig;
  return { form, reinforcement };
}
