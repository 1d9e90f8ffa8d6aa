/** Whole training steps by GRPO, so many tasks × 8 rollouts: step.ts MODEL THREADS TASKS */
import "../../install.ts";
import { fileURLToPath } from "node:url";
import { openModel } from "../../../src/sdk/model.ts";
import { resolveConfig } from "../../../src/training/config/config.ts";
import { rolloutSource } from "../../../src/training/sampling/rollout-source.ts";
import type { StepArguments } from "../../../src/training/sampling/step-arguments.ts";
import { trainingStep } from "../../../src/training/update/step.ts";
import { wordsEnvironment } from "../words.ts";
import { answerRounds, peakMegabytes, type Round, secondsPerCall } from "./rounds.ts";

/** @param open a model, and its engine */
export async function stepRounds([model = "", threads, count]: readonly string[], open = openModel): Promise<Round> {
  const tasksPerStep = Number(count);
  const { engine, chat } = await open(model, { kind: "local", device: "cpu", threads: Number(threads) });
  const environment = wordsEnvironment;
  const config = resolveConfig({
    environment,
    algorithm: "grpo",
    rollout: { tasksPerStep, groupSize: 8, maxTurns: 1, maxTokens: 128 },
    optimizer: { learningRate: 1e-5, schedule: "constant" },
    steps: 1000,
  });
  const args: StepArguments = { config, engine, chat, environment, onEvent: () => {} };
  const start = { step: 0, position: 0, episodes: 0, toolCalls: 0, sampledTokens: 0, wallSeconds: 0, peakRssMb: 0 };
  const rollouts = await rolloutSource(args, start, undefined, () => []);
  let step = 0;
  let position = 0;

  async function next(): Promise<void> {
    const { tasks } = await trainingStep(args, ++step, await rollouts.take(step, position));
    position += tasks;
  }

  await next();
  return async () => ({
    rolloutsPerSecond: (8 * tasksPerStep) / (await secondsPerCall(next)),
    peakMegabytes: peakMegabytes(),
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await answerRounds(await stepRounds(process.argv.slice(2)));
