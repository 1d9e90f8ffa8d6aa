/**
 * Branched rollouts of the default model in the embedded environment, 16 tasks × 16 leaves as `--algorithm arpo` samples them:
 * record-trees.ts MODEL THREADS FILE
 */

import "../../install.ts";
import { createEnvironment } from "../../../entries/index.ts";
import { seedOf } from "../../../src/core/random.ts";
import { rolloutTrees } from "../../../src/rollouts/branching/trees.ts";
import { openModel } from "../../../src/sdk/model.ts";
import { resolveConfig } from "../../../src/training/config/config.ts";
import { trainingTasks } from "../../../src/training/config/tasks.ts";
import { rolloutBatch, writeBatch } from "../batch.ts";

const [model, threads, file] = process.argv.slice(2);
const { environment: named, rollout, seed } = resolveConfig({ algorithm: "arpo" });
const { branching } = rollout;
if (branching === "off") throw new Error("ARPO's rollouts branch.");
const { engine, chat } = await openModel(model, { kind: "local", device: "cpu", threads: Number(threads) });
const environment = createEnvironment(named.name, named.settings);
const tasks = await trainingTasks(environment, 0, rollout.tasksPerStep, seed);
const groups = await rolloutTrees(engine, chat, environment, tasks, {
  ...rollout,
  branching,
  seed: seedOf(seed, "rollout", 1),
  name: "step-1",
});
await engine.dispose();
await writeBatch(file, rolloutBatch(groups));
