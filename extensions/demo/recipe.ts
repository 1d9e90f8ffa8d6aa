import type { UserConfig } from "../../src/training/config/user-config.ts";

export const demoTasks = ["calculation", "calculator"] as const;
export type DemoTask = (typeof demoTasks)[number];

/** The two runs of a demonstration. The second one begins with the model of the first. */
export interface DemoRecipe {
  /** Supervised: the form of an answer, from demonstrations of which many choose wrong. */
  readonly form: UserConfig;
  /** GRPO: the right choices. */
  readonly reinforcement: UserConfig;
}

const lora = { rank: 16, alpha: 32, targets: "all-linear" } as const;

/** The settings of each task. Memory is in GiB; a prompt has about 60 tokens, and 140 with the calculator. */
export const recipes: Readonly<Record<DemoTask, DemoRecipe>> = {
  calculation: recipe("calculation", {
    form: { tokensPerStep: 600, steps: 10 },
    rollout: { tasksPerStep: 16, groupSize: 8, maxTokens: 14, maxTurns: 1, concurrency: 48 },
    room: { memory: 1.85, maxLength: 96, sampling: { cacheGib: 0.1 } },
  }),
  calculator: recipe("calculator", {
    form: { tokensPerStep: 1600, steps: 16 },
    rollout: { tasksPerStep: 16, groupSize: 8, maxTokens: 40, maxTurns: 2, concurrency: 48 },
    room: { memory: 1.85, maxLength: 256, sampling: { cacheGib: 0.1 } },
  }),
};

interface RecipeSettings {
  readonly form: { readonly steps: number; readonly tokensPerStep: number };
  readonly rollout: NonNullable<UserConfig["rollout"]>;
  readonly room: { readonly memory: number; readonly maxLength: number; readonly sampling: { readonly cacheGib: number } };
}

function recipe(environment: DemoTask, { form: { tokensPerStep, steps }, rollout, room }: RecipeSettings): DemoRecipe {
  const shared = {
    ...{ environment, engine: { kind: "local", lora, ...room }, rollout },
    optimizer: { learningRate: 5e-4 },
  } as const;
  return {
    form: { ...shared, steps, algorithm: { kind: "sft", tokensPerStep }, evaluation: { tasks: 0 } },
    reinforcement: {
      ...shared,
      steps: 24,
      algorithm: { kind: "grpo" },
      evaluation: { tasks: 160, temperature: 0, challenge: true },
    },
  };
}
