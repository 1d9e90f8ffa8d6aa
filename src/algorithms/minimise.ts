import { EngineError, ShapeError } from "../core/errors.ts";
import type { Logprobs, Policy } from "../core/policy.ts";
import type { ActionInContext } from "../core/trajectory.ts";
import type { UpdateMetrics } from "./metrics.ts";
import type { LossAndWeights } from "./objectives.ts";

/** What every optimiser step reports. */
export type StepMetrics = UpdateMetrics & Required<Pick<UpdateMetrics, "loss" | "gradientNorm" | "learningRate">>;

/**
 * One optimiser step down a loss: forward, weights, backward, step.
 * @param loss may return fewer rows of weights than there are samples; the samples after them are only looked at
 * @param learningRateScale factor on the learning rate of this step
 * @throws EngineError if a log-prob or the loss is not finite; the policy has then not been moved
 */
export async function minimise(
  policy: Policy,
  samples: readonly ActionInContext[],
  loss: (logprobs: Logprobs) => LossAndWeights,
  learningRateScale = 1,
): Promise<StepMetrics> {
  let metrics: UpdateMetrics & { loss: number } = { loss: 0 };
  await policy.forwardBackward(samples, (logprobs) => {
    const result = loss(checkedLogprobs(samples, logprobs));
    if (!Number.isFinite(result.loss))
      throw new EngineError("loss", result.loss, {
        expected: "a finite number",
        hint: "Every log-prob was finite: look at the advantages.",
      });
    metrics = { ...result.metrics, loss: result.loss };
    const lookedAt = samples.slice(result.weights.length);
    return [...result.weights, ...lookedAt.map(({ action }) => action.map(() => 0))];
  });
  const { gradientNorm, learningRate } = await policy.step(learningRateScale);
  return { ...metrics, gradientNorm, gradientNormMax: gradientNorm, learningRate, optimiserSteps: 1 };
}

/**
 * @throws ShapeError if the rows are not one number per action token of each sample, EngineError naming the first that is not finite
 */
export function checkedLogprobs(samples: readonly ActionInContext[], logprobs: Logprobs): Logprobs {
  if (logprobs.length !== samples.length)
    throw new ShapeError("rows of log-probs", logprobs.length, { expected: [samples.length] });
  for (const [i, { trajectory, turn, action }] of samples.entries()) {
    const where = `turn ${turn} of trajectory ${trajectory}`;
    if (logprobs[i].length !== action.length)
      throw new ShapeError(`log-probs of ${where}`, logprobs[i].length, { expected: [action.length] });
    const wrong = logprobs[i].findIndex((logprob) => !Number.isFinite(logprob));
    if (wrong >= 0)
      throw new EngineError(`log-prob of token ${wrong} in ${where}`, logprobs[i][wrong], {
        expected: "a finite number",
        hint: "A smaller learning rate or gradient clipping keeps the parameters finite.",
      });
  }
  return logprobs;
}

/** Log-probs that stay fixed during an update: the rows of any of the samples they were taken for. */
export type FixedLogprobs = (samples: readonly ActionInContext[]) => Logprobs;

export function fixedLogprobs(samples: readonly ActionInContext[], logprobs: Logprobs): FixedLogprobs {
  checkedLogprobs(samples, logprobs);
  const rows = new Map(samples.map((sample, i) => [sample, logprobs[i]]));
  return (chosen) => chosen.map((sample) => rows.get(sample) ?? []);
}
