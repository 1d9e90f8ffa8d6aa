/**
 * Whole updates of a recorded batch of rollouts, as a run makes them: updates.ts MODEL THREADS FILE
 * SeeUPO and GRPO with the default run's settings: no KL term on either side. The request "5 turns" cuts trajectories off there.
 */
import "../../install.ts";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createLocalEngine } from "../../../extensions/local/engine.ts";
import type { AlgorithmConfig } from "../../../src/algorithms/algorithms.ts";
import { runUpdate } from "../../../src/algorithms/algorithms.ts";
import { randomStream } from "../../../src/core/random.ts";
import type { Group } from "../../../src/core/trajectory.ts";
import { resolveConfig } from "../../../src/training/config/config.ts";
import { enginePolicy, stepOptions } from "../../../src/training/update/engine-policy.ts";
import { readBatch } from "../batch.ts";
import { PassCounter, referencePasses } from "../passes.ts";
import { answerRounds } from "./rounds.ts";

const [model, threads, file] = process.argv.slice(2);
const engine = await createLocalEngine({ model, threads: Number(threads) });
const batch = await readBatch(file);
const { optimizer, rollout, algorithm: seeupo, seed } = resolveConfig();
const grpo = resolveConfig({ algorithm: "grpo" }).algorithm;

// Every update starts from the same weights: later ones would find ratios clipped and compute less.
const start = await mkdtemp(join(tmpdir(), "retrograde-bench-updates-"));
await engine.saveState(start);

function firstTurns(most: number): Group[] {
  return batch.groups.map((group) => ({
    ...group,
    trajectories: group.trajectories.map((trajectory) => ({ ...trajectory, turns: trajectory.turns.slice(0, most) })),
  }));
}

async function update(algorithm: AlgorithmConfig, groups: readonly Group[]): Promise<{ seconds: number; passes: number }> {
  await engine.loadState(start);
  engine.takeStats();
  const counter = new PassCounter(
    engine,
    enginePolicy(engine, rollout.temperature, stepOptions(optimizer, optimizer.learningRate)),
  );
  const started = performance.now();
  await runUpdate(counter.policy, groups, algorithm, randomStream(seed, "update", 1));
  return { seconds: (performance.now() - started) / 1000, passes: counter.passes };
}

try {
  await update(grpo, batch.groups);
  await update(seeupo, batch.groups);
  await answerRounds("retrograde", async (request) => {
    const groups = request === "5 turns" ? firstTurns(5) : batch.groups;
    const ofSeeupo = await update(seeupo, groups);
    const ofGrpo = await update(grpo, groups);
    return {
      seeupoPasses: ofSeeupo.passes,
      referencePasses: referencePasses(groups),
      seeupoSeconds: ofSeeupo.seconds,
      grpoSeconds: ofGrpo.seconds,
    };
  });
} finally {
  await rm(start, { recursive: true });
}
