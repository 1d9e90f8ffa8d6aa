/**
 * The first batch of rollouts that the default model plays in the embedded environment, 8 tasks × 8 rollouts:
 * record-rollouts.ts MODEL THREADS FILE
 */

import "../../install.ts";
import { fileURLToPath } from "node:url";
import { createEnvironment } from "../../../entries/index.ts";
import { seedOf } from "../../../src/core/random.ts";
import { rolloutGroups } from "../../../src/rollouts/rollout.ts";
import { openModel } from "../../../src/sdk/model.ts";
import { resolveConfig } from "../../../src/training/config/config.ts";
import { trainingTasks } from "../../../src/training/config/tasks.ts";
import { rolloutBatch, writeBatch } from "../batch.ts";

export async function recordRollouts([model = "", threads, file = ""]: readonly string[], open = openModel): Promise<void> {
  const { environment: named, rollout, seed } = resolveConfig({ rollout: { tasksPerStep: 8, groupSize: 8 } });
  const { engine, chat } = await open(model, { kind: "local", device: "cpu", threads: Number(threads) });
  const environment = createEnvironment(named.name, named.settings);
  const tasks = await trainingTasks(environment, 0, rollout.tasksPerStep, seed);
  const groups = await rolloutGroups(engine, chat, environment, tasks, {
    ...rollout,
    seed: seedOf(seed, "rollout", 1),
    name: "step-1",
  });
  await engine.dispose();
  await writeBatch(file, rolloutBatch(groups));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await recordRollouts(process.argv.slice(2));
