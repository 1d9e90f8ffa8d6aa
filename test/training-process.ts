import "../extensions/install.ts";
/** One process of a training run, to be killed by the test that started it: `training-process.ts KIND MODEL FOLDER AHEAD [resume]`. */
import { agentEnvironment } from "../src/environments/agent.ts";
import { planRun, runPlan } from "../src/sdk/train.ts";
import type { UserConfig } from "../src/training/config.ts";
import { lettersEnvironment } from "./letters.ts";

const [kind, model, out, ahead, resume] = process.argv.slice(2);

const agent = () =>
  agentEnvironment({
    name: "agent",
    tasks: { train: [{ prompt: "a" }, { prompt: "b" }], test: [{ prompt: "c" }] },
    run: async ({ prompt }, { converse }) => {
      const { message } = await converse({ messages: [{ role: "user", content: prompt }], maxTokens: 6 });
      return String(message.content).split(prompt).length - 1;
    },
  });

const kinds: Record<string, UserConfig> = {
  letters: {
    environment: lettersEnvironment(),
    rollout: { tasksPerStep: 4, groupSize: 4, maxTokens: 6, ahead: Number(ahead) },
    evaluation: { tasks: 8, k: 2, during: { every: 4, tasks: 4 } },
    steps: 10,
  },
  adapter: { environment: lettersEnvironment(), engine: { threads: 1, lora: { rank: 4 } } },
  agent: { environment: agent() },
  knowledge: { environment: "knowledge", model: "default" },
};

const plan = await planRun(
  {
    model,
    engine: { threads: 1 },
    rollout: { tasksPerStep: 2, groupSize: 4, maxTokens: 6 },
    optimizer: { learningRate: 3e-3 },
    evaluation: { tasks: 0 },
    checkpoint: { every: 3, keep: 2 },
    steps: 5,
    seed: 3,
    out,
    ...kinds[kind],
  },
  { resume: resume !== undefined },
);
await runPlan(plan, { onEvent: ({ type }) => console.log(type) });
