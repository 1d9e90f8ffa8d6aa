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
  calculation: recipe(
    "calculation",
    { tokensPerStep: 600, steps: 10 },
    { maxTokens: 14, maxTurns: 1, concurrency: 48 },
    // GiB. A prompt has about 60 tokens.
    { memory: 1.85, maxLength: 96, sampling: { cacheGib: 0.1 } },
  ),
  calculator: recipe("calculator", { tokensPerStep: 1500, steps: 24 }, { maxTokens: 48, maxTurns: 3 }, {}),
};

function recipe(
  environment: DemoTask,
  { tokensPerStep, steps }: { readonly tokensPerStep: number; readonly steps: number },
  limits: { readonly maxTokens: number; readonly maxTurns: number; readonly concurrency?: number },
  room: { readonly memory?: number; readonly maxLength?: number; readonly sampling?: { readonly cacheGib: number } },
): DemoRecipe {
  const engine = { kind: "local", lora, ...room } as const;
  const shared = { environment, engine, optimizer: { learningRate: 5e-4 } } as const;
  return {
    form: { ...shared, algorithm: { kind: "sft", tokensPerStep }, evaluation: { tasks: 0 }, steps },
    reinforcement: {
      ...shared,
      algorithm: { kind: "grpo" },
      rollout: { tasksPerStep: 16, groupSize: 8, ...limits },
      evaluation: { tasks: 160, temperature: 0, challenge: true },
      steps: 24,
    },
  };
}
