import type { UserConfig } from "../../src/training/config.ts";

export const demoTasks = ["calculation", "calculator", "shop"] as const;
export type DemoTask = (typeof demoTasks)[number];

/** The two runs of a demonstration. The second one begins with the model of the first. */
export interface DemoRecipe {
  /** Supervised: the form of an answer, from demonstrations whose choices are drawn. */
  readonly form: UserConfig;
  /** GRPO: the right choices. */
  readonly reinforcement: UserConfig;
}

const lora = { rank: 16, alpha: 32, targets: "all-linear" } as const;

/** The settings of each task. Memory is in GiB; a prompt has about 60 tokens, and 140 and 330 with tools. */
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
  shop: recipe("shop", {
    form: { tokensPerStep: 3200, steps: 20 },
    rollout: { tasksPerStep: 8, groupSize: 8, maxTokens: 52, maxTurns: 4, concurrency: 48 },
    room: { memory: 2.4, maxLength: 512, sampling: { cacheGib: 0.2 } },
  }),
};

interface RecipeSettings {
  readonly form: { readonly tokensPerStep: number; readonly steps: number };
  readonly rollout: NonNullable<UserConfig["rollout"]>;
  readonly room: { readonly memory: number; readonly maxLength: number; readonly sampling: { readonly cacheGib: number } };
}

function recipe(environment: DemoTask, { form: { tokensPerStep, steps }, rollout, room }: RecipeSettings): DemoRecipe {
  const engine = { kind: "local", lora, ...room } as const;
  const shared = { environment, engine, optimizer: { learningRate: 5e-4 } } as const;
  return {
    form: { ...shared, algorithm: { kind: "sft", tokensPerStep }, rollout, evaluation: { tasks: 0 }, steps },
    reinforcement: {
      ...shared,
      algorithm: { kind: "grpo" },
      rollout,
      evaluation: { tasks: 160, temperature: 0, challenge: true },
      steps: 24,
    },
  };
}
