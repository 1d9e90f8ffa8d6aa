import "../extensions/install.ts";
/** One process of a training run, to be killed by the test that started it: `training-process.ts MODEL FOLDER AHEAD [resume]`. */
import { planRun, runPlan } from "../src/sdk/train.ts";
import { lettersEnvironment } from "./letters.ts";

const [model, out, ahead, resume] = process.argv.slice(2);
const plan = await planRun(
  {
    environment: lettersEnvironment(),
    model,
    rollout: { tasksPerStep: 4, groupSize: 4, maxTokens: 6, ahead: Number(ahead) },
    optimizer: { learningRate: 3e-3 },
    evaluation: { tasks: 8, k: 2, during: { every: 4, tasks: 4 } },
    checkpoint: { every: 3, keep: 2 },
    steps: 10,
    seed: 3,
    engine: { threads: 1 },
    out,
  },
  { resume: resume !== undefined },
);
await runPlan(plan, { onEvent: ({ type }) => console.log(type) });
