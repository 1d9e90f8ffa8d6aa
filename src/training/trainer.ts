import { readSummary } from "../runs/read.ts";
import type { Summary } from "../runs/records.ts";
import type { TrainArguments } from "./training-run.ts";
import { TrainingRun } from "./training-run.ts";

/**
 * The outer loop of every algorithm: evaluate, then (sample, update, record) for every step, then evaluate again. Rollouts that are sampled
 * ahead are sampled while earlier steps are made. All randomness derives from the seed and the step, and everything else that a step needs
 * is in the checkpoints, so a run that was killed and reopened writes what it would have written.
 * @param args.engine with the weights that training starts from; a checkpoint's are loaded here
 * @param args.signal ends the run after the step that is being made, or at once while episodes run
 * Whether it can begin is checked before, by `checkEnvironment` and `checkOpened`.
 * @throws RunError if the run was interrupted or the folder cannot be written; finished steps are kept in a checkpoint
 * @throws EngineError if sampler and trainer disagree, or a number is not finite
 */
export async function train(args: TrainArguments): Promise<Summary> {
  const finished = readSummary(args.folder);
  if (finished !== undefined) return finished;
  const run = await TrainingRun.open(args);
  try {
    await run.begin();
    while (!run.done) await run.step();
    return await run.finish();
  } catch (error) {
    throw await run.ended(error);
  } finally {
    await run.close();
  }
}
