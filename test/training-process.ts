import { existsSync } from "node:fs";
import { pathToFileURL } from "node:url";
import "../research/install.ts";
import { agentEnvironment } from "../extensions/agents/agent.ts";
import { layout } from "../src/runs/layout.ts";
import { planRun, runPlan } from "../src/sdk/train.ts";
import type { UserConfig } from "../src/training/config/user-config.ts";
import { lettersEnvironment } from "./letters.ts";

const agent = () =>
  agentEnvironment({
    name: "agent",
    tasks: { train: [{ prompt: "a" }, { prompt: "b" }], test: [{ prompt: "c" }] },
    run: async ({ prompt }, { converse }) => {
      const { message } = await converse({ messages: [{ role: "user", content: prompt }], maxTokens: 6 });
      return String(message.content).split(prompt).length - 1;
    },
  });

const letters = (ahead: number): UserConfig => ({
  environment: lettersEnvironment(),
  rollout: { tasksPerStep: 4, groupSize: 4, maxTokens: 6, ahead },
  evaluation: { tasks: 8, k: 2, during: { every: 4, tasks: 4 } },
  steps: 10,
});

const kinds = {
  letters: letters(0),
  ahead: letters(2),
  adapter: { environment: lettersEnvironment(), engine: { threads: 1, lora: { rank: 4 } } },
  agent: { environment: agent() },
} satisfies Record<string, UserConfig>;

export type Kind = keyof typeof kinds;

/** Trains a run of a kind, or continues it where its folder has one. @param onEvent hears the type of each event */
export async function trainKind(kind: Kind, model: string, out: string, onEvent: (type: string) => void): Promise<void> {
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
    { resume: existsSync(layout.run(out)) },
  );
  await runPlan(plan, { onEvent: ({ type }) => onEvent(type) });
}

// A process of its own, to be killed by the test that started it: `training-process.ts KIND MODEL FOLDER`.
if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const [kind, model, out] = process.argv.slice(2);
  await trainKind(kind as Kind, model, out, (type) => console.log(type));
}
