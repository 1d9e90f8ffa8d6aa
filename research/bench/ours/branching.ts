/** Rollouts that branch beside rollouts that do not, 16 tasks × 16 leaves: branching.ts MODEL THREADS */

import "../../install.ts";
import { createEnvironment } from "../../../entries/index.ts";
import type { Group } from "../../../src/core/trajectory.ts";
import { rolloutTrees } from "../../../src/rollouts/branching/trees.ts";
import { rolloutGroups } from "../../../src/rollouts/rollout.ts";
import { openModel } from "../../../src/sdk/model.ts";
import { resolveConfig } from "../../../src/training/config/config.ts";
import { trainingTasks } from "../../../src/training/config/tasks.ts";
import { toolCallsSpent } from "../../../src/training/sampling/branching.ts";
import { answerRounds } from "./rounds.ts";

const [model, threads] = process.argv.slice(2);
const { engine, chat } = await openModel(model, { kind: "local", device: "cpu", threads: Number(threads) });
const { environment: named, rollout } = resolveConfig({ algorithm: "arpo" });
const environment = createEnvironment(named.name, named.settings);
const { branching, ...plain } = rollout;
if (branching === "off") throw new Error("ARPO's rollouts branch.");
const tasks = await trainingTasks(environment, 0, rollout.tasksPerStep, 1);

async function played(play: () => Promise<readonly Group[]>) {
  const started = performance.now();
  const groups = await play();
  const seconds = (performance.now() - started) / 1000;
  return { seconds, calls: toolCallsSpent(groups.flatMap(({ trajectories }) => trajectories)) };
}

const trees = (seed: number) => rolloutTrees(engine, chat, environment, tasks, { ...plain, branching, name: "t", seed });
const groups = (seed: number) => rolloutGroups(engine, chat, environment, tasks, { ...plain, name: "p", seed });
await groups(0);
let seed = 0;
await answerRounds("retrograde", async () => {
  seed++;
  const [ofTrees, ofGroups] = [await played(() => trees(seed)), await played(() => groups(seed))];
  return { calls: ofTrees.calls, plainCalls: ofGroups.calls, seconds: ofTrees.seconds, plainSeconds: ofGroups.seconds };
});
