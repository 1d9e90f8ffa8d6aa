import { RunError } from "../core/errors.ts";
import type { Trajectory } from "../core/trajectory.ts";
import { engineStateFolder } from "../runs/checkpoints.ts";
import { checkpointSteps } from "../runs/read.ts";
import { type RescoredLogprobs, writeRescored } from "../runs/rescored.ts";
import { modelFolder, openModel, samplingUse } from "./model.ts";
import { recordedConfig } from "./run-environment.ts";

/**
 * Computes the log-probs of recorded episodes under the weights of another step of their run, and keeps them beside the run.
 * @param run the run's folder
 * @param since training steps that the weights have seen: 0 for the model that the run started from, else a step with a checkpoint
 * @param temperature at which the episodes were sampled
 * @throws RunError if there is no checkpoint of that step; ConfigError, ModelError or EngineError if the model cannot be opened
 */
export async function rescoreSince(
  run: string,
  episodes: readonly Trajectory[],
  since: number,
  temperature: number,
): Promise<RescoredLogprobs[]> {
  const steps = [0, ...checkpointSteps(run)];
  if (!steps.includes(since))
    throw new RunError(`the checkpoint of step ${since}`, "not kept", {
      expected: `a step with weights: ${steps.join(", ")}`,
      hint: "checkpoint.keep sets how many checkpoints a run keeps, checkpoint.every how far they are apart.",
    });
  const config = recordedConfig(run);
  const use = samplingUse(config);
  const { engine } = await openModel(await modelFolder(config, undefined, use), config.engine, { use, seed: config.seed });
  try {
    if (since > 0) await engine.loadState(engineStateFolder(run, since));
    const turns = episodes.flatMap((episode) => episode.turns);
    const logprobs = await engine.logprobs(turns, { temperature });
    let next = 0;
    return episodes.map((episode) => {
      const rescored = { since, logprobs: episode.turns.map(() => [...(logprobs[next++] ?? [])]) };
      writeRescored(run, episode.id, rescored);
      return rescored;
    });
  } finally {
    await engine.dispose();
  }
}
