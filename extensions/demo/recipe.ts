import type { UserConfig } from "../../src/training/config.ts";

export const demoTasks = ["calculation", "calculator"] as const;
export type DemoTask = (typeof demoTasks)[number];

/** The two runs of a demonstration. The second one begins with the model of the first. */
export interface DemoRecipe {
  /** Supervised: the form of an answer, from demonstrations whose choices are drawn. */
  readonly form: UserConfig;
  /** GRPO: the right choices. */
  readonly reinforcement: UserConfig;
}

const lora = { rank: 16, alpha: 32, targets: "all-linear" } as const;

/** The settings of each task. Those of the calculator are not tuned. */
export const recipes: Readonly<Record<DemoTask, DemoRecipe>> = {
  calculation: {
    form: {
      environment: "calculation",
      algorithm: { kind: "sft", tokensPerStep: 600 },
      engine: { kind: "local", lora },
      optimizer: { learningRate: 5e-4 },
      evaluation: { tasks: 0 },
      steps: 10,
    },
    reinforcement: {
      environment: "calculation",
      algorithm: { kind: "grpo" },
      engine: { kind: "local", lora },
      optimizer: { learningRate: 5e-4 },
      rollout: { tasksPerStep: 8, groupSize: 8, maxTokens: 14, maxTurns: 1 },
      evaluation: { tasks: 160, k: 1, challenge: true },
      steps: 24,
    },
  },
  calculator: {
    form: {
      environment: "calculator",
      algorithm: { kind: "sft", tokensPerStep: 1500 },
      engine: { kind: "local", lora },
      optimizer: { learningRate: 5e-4 },
      evaluation: { tasks: 0 },
      steps: 24,
    },
    reinforcement: {
      environment: "calculator",
      algorithm: { kind: "grpo" },
      engine: { kind: "local", lora },
      optimizer: { learningRate: 5e-4 },
      rollout: { tasksPerStep: 8, groupSize: 8, maxTokens: 48, maxTurns: 3 },
      evaluation: { tasks: 160, k: 1, challenge: true },
      steps: 24,
    },
  },
};
