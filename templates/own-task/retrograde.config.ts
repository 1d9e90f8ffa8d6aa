import { defineConfig } from "retrograde-rl";
import { shop } from "./task.ts";

export default defineConfig({
  environment: shop,
  // A model of 2 million parameters that knows another world: enough to see all of this work in minutes, without a download.
  // For real use: "Qwen/Qwen3-0.6B" with engine: { kind: "local", lora: {} }, or a model of your own.
  model: "bundled:office",
  algorithm: "grpo",
  steps: 30,
  rollout: { tasksPerStep: 10, groupSize: 8, maxTurns: 4, maxTokens: 40 },
  // Twice this forgets the format after one step: twenty conversations are learned by heart, not for good.
  optimizer: { learningRate: 1.2e-4 },
  evaluation: { tasks: 64, k: 1 },
});
