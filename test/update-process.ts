/** A run of the office whose updates take many optimiser steps: `update-process.ts FOLDER [resume]`. It says which phase begins. */
import { train } from "../entries/index.ts";

const [out, resume] = process.argv.slice(2);
const rollout = { tasksPerStep: 6, groupSize: 8 };
const config = { environment: "office", algorithm: "seeupo-scaled", steps: 3, seed: 3, engine: { threads: 1 }, out } as const;
await train(
  { ...config, rollout, evaluation: { tasks: 0 } },
  {
    resume: resume !== undefined,
    interruptible: true,
    onEvent: (event) => {
      if (event.type === "phase") console.log(`${event.phase} ${event.step}`);
    },
  },
);
