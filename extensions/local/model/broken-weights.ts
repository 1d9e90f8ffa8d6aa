import { EngineError } from "../../../src/core/errors.ts";
import type { Logprobs } from "../../../src/core/policy.ts";

/**
 * Returns an error that names the weights which make log-probs impossible: a NaN among them would otherwise read as a model that knows nothing.
 * @param parameters undefined where they are on a device
 */
export function notFiniteError(what: string, logprob: number, parameters?: ReadonlyMap<string, Float32Array>): EngineError {
  if (parameters === undefined)
    return new EngineError(what, logprob, {
      expected: "a finite number",
      hint: "Weights are not finite, or an activation overflowed. Go back to an earlier checkpoint, or copy the model's folder from its source again.",
    });
  const broken = brokenWeights(parameters);
  return new EngineError(what, logprob, {
    expected: "a finite number",
    hint:
      broken === undefined
        ? "All weights are finite, so an activation overflowed: the weights are too large, or belong to another configuration."
        : `The weights ${broken} have values that are not finite. Copy the model's folder from its source again, or go back to an earlier checkpoint.`,
  });
}

/** @throws EngineError if a log-prob is NaN because weights are not finite, naming them; another cause is the algorithm's to report */
export async function requireWholeWeights(
  logprobs: Logprobs,
  parameters: () => Promise<ReadonlyMap<string, Float32Array>>,
): Promise<Logprobs> {
  if (!logprobs.some((row) => row.some(Number.isNaN))) return logprobs;
  const now = await parameters();
  if (brokenWeights(now) !== undefined) throw notFiniteError("the log-prob of a token", Number.NaN, now);
  return logprobs;
}

function brokenWeights(parameters: ReadonlyMap<string, Float32Array>): string | undefined {
  return [...parameters].find(([, data]) => !data.every(Number.isFinite))?.[0];
}
