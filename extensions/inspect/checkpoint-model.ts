import { existsSync } from "node:fs";
import { ConfigError, RunError } from "../../src/core/errors.ts";
import type { Engine } from "../../src/engines/engine.ts";
import { engineStateFolder, requireWhole } from "../../src/runs/checkpoints.ts";
import { writeChecksums } from "../../src/runs/checksums.ts";
import { writeFolderAtomic } from "../../src/runs/files.ts";
import { checkpointSteps } from "../../src/runs/read.ts";
import { modelFolder, openModel, samplingUse } from "../../src/sdk/model.ts";
import { recordedConfig } from "../../src/sdk/run-environment.ts";
import { recordedEnvironment } from "../../src/training/config/known-models.ts";

/**
 * Opens a run's engine with the weights of one of its steps, and closes it after the work.
 * @param run the run's folder
 * @param step training steps that the weights have seen: 0 for the model that the run started from, else a step with a checkpoint
 * @throws RunError if there is no checkpoint of that step, or it is damaged; ConfigError, ModelError or EngineError if the model cannot be opened
 */
export async function withWeightsOf<T>(run: string, step: number, work: (engine: Engine) => Promise<T>): Promise<T> {
  const steps = [0, ...checkpointSteps(run)];
  if (!steps.includes(step))
    throw new RunError(`the checkpoint of step ${step}`, "not kept", {
      expected: `a step with weights: ${steps.join(", ")}`,
      hint: "checkpoint.keep sets how many checkpoints a run keeps, checkpoint.every how far they are apart.",
    });
  if (step > 0) requireWhole(run, step);
  const parts = ["model", "engine", "rollout", "algorithm", "seed"] as const;
  const config = { ...recordedConfig(run, parts), environment: recordedEnvironment(run) };
  const use = samplingUse(config);
  const { engine } = await openModel(await modelFolder(config, undefined, use), config.engine, { use, seed: config.seed });
  try {
    if (step > 0) await engine.loadState(engineStateFolder(run, step));
    return await work(engine);
  } finally {
    await engine.dispose();
  }
}

/**
 * Writes the model of a run's checkpoint, also of a run that was stopped, as a finished run's folder `model` has it.
 * @param step one with a checkpoint; the newest by default
 * @returns the step whose model it is
 * @throws RunError if there is no such checkpoint, or it is damaged; ConfigError if there is something at `out`
 */
export async function writeCheckpointModel(run: string, out: string, step = checkpointSteps(run).at(-1) ?? 0): Promise<number> {
  if (existsSync(out)) throw new ConfigError("out", out, { expected: "a path where nothing is yet" });
  if (step === 0)
    throw new RunError(run, "without a checkpoint", {
      expected: "a run that has saved one",
      hint: "Continue it with --resume; checkpoint.first and checkpoint.every say after which steps one is saved.",
    });
  await withWeightsOf(run, step, (engine) =>
    writeFolderAtomic(out, async (into) => {
      await engine.saveModel(into);
      writeChecksums(into);
    }),
  );
  return step;
}
