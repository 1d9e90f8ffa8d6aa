import { pathToFileURL } from "node:url";
import { train } from "../entries/index.ts";

/** A run of the office whose updates take many optimiser steps. @param say hears which phase begins */
export async function trainLongUpdates(out: string, resume: boolean, say: (text: string) => void): Promise<void> {
  const rollout = { tasksPerStep: 2, groupSize: 4 };
  const config = { environment: "office", algorithm: "seeupo", steps: 2, seed: 4, engine: { threads: 1 }, out } as const;
  await train(
    { ...config, rollout, evaluation: { tasks: 0 }, checkpoint: { first: 2 } },
    {
      resume,
      interruptible: true,
      onEvent: (event) => {
        if (event.type === "phase") say(`${event.phase} ${event.step}`);
      },
    },
  );
}

// A process of its own, to be interrupted by the test that started it: `update-process.ts FOLDER`.
if (import.meta.url === pathToFileURL(process.argv[1]).href) await trainLongUpdates(process.argv[2], false, console.log);
