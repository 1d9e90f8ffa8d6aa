/** A training run whose environment misbehaves in its third step: `foreign-process.ts MODEL FOLDER reject|throw|loop|never`. */
import "../extensions/engines.ts";
import { setTimeout as sleep } from "node:timers/promises";
import type { Environment, Task } from "../src/environments/environment.ts";
import { planRun, runPlan } from "../src/sdk/train.ts";
import { lettersEnvironment } from "./letters.ts";

const [model, out, fault] = process.argv.slice(2);
const letters = lettersEnvironment() as unknown as Environment<Task>;
let episodes = 0;

async function misbehave(): Promise<void> {
  switch (fault) {
    case "reject":
      Promise.reject(new Error("nobody waits for me"));
      return;
    case "throw":
      setTimeout(() => {
        throw new Error("thrown in a timer");
      });
      return sleep(50);
    case "loop":
      await sleep(1);
      for (;;);
  }
}

const environment: Environment<Task> = {
  ...letters,
  start: async (task, seed) => {
    const episode = await letters.start(task, seed);
    if (++episodes !== 22) return episode;
    return {
      ...episode,
      reply: async (message) => {
        await misbehave();
        return episode.reply(message);
      },
    };
  },
  task: (split, index) =>
    fault === "never" && episodes >= 16 ? new Promise(() => {}) : (letters.task(split, index) as Task | Promise<Task>),
};

const plan = await planRun({
  environment,
  model,
  rollout: { tasksPerStep: 2, groupSize: 4, maxTokens: 6, episodeTimeoutMs: 2000 },
  evaluation: { tasks: 0 },
  checkpoint: { every: 100 },
  steps: 4,
  engine: { threads: 1 },
  out,
});
try {
  await runPlan(plan, { onEvent: (event) => event.type === "warning" && console.log(event.message) });
} catch (error) {
  console.log(error instanceof Error ? `${error.name}: ${error.message}` : "no error");
}
