import type { Trajectory } from "../../src/core/trajectory.ts";
import { withWeightsOf } from "./checkpoint-model.ts";
import { type RescoredLogprobs, writeRescored } from "./rescored.ts";

/**
 * Computes the log-probs of recorded episodes under the weights of another step of their run, and keeps them beside the run.
 * @param run the run's folder
 * @param since training steps that the weights have seen: 0 for the model that the run started from, else a step with a checkpoint
 * @param temperature at which the episodes were sampled
 * @throws RunError if there is no checkpoint of that step, or it is damaged; ConfigError, ModelError or EngineError if the model cannot be opened
 */
export async function rescoreSince(
  run: string,
  episodes: readonly Trajectory[],
  since: number,
  temperature: number,
): Promise<RescoredLogprobs[]> {
  return withWeightsOf(run, since, async (engine) => {
    const turns = episodes.flatMap((episode) => episode.turns);
    const logprobs = await engine.logprobs(turns, { temperature });
    let next = 0;
    return episodes.map((episode) => {
      const rescored = { since, logprobs: episode.turns.map(() => [...(logprobs[next++] ?? [])]) };
      writeRescored(run, episode.id, rescored);
      return rescored;
    });
  });
}
