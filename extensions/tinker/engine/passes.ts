import { EngineError } from "../../../src/core/errors.ts";
import type { Weights } from "../../../src/core/policy.ts";
import type { ActionInContext } from "../../../src/core/trajectory.ts";
import type { ForwardBackwardResult, TinkerModel } from "../client/index.ts";
import { type Packed, packSamples, spreadWeights, unpackLogprobs } from "./data.ts";
import type { LinearForm } from "./linear-form.ts";

/** One request of training: samples as they travel, and how they are sent. */
export interface Pass {
  readonly samples: readonly ActionInContext[];
  readonly packed: Packed;
  readonly send: (model: TinkerModel) => Promise<ForwardBackwardResult>;
}

/** Log-probs of the samples. */
export function forwardPass(samples: readonly ActionInContext[]): Pass {
  const packed = packSamples(samples);
  return { samples, packed, send: (model) => model.forward(packed.data) };
}

/** The gradient of Σ w·log π, as the server computes it exactly. @throws EngineError for weights that are not one finite number a token */
export function backwardPass(samples: readonly ActionInContext[], weights: Weights, form: LinearForm): Pass {
  checkWeights(samples, weights);
  const packed = packSamples(samples);
  const data = form.inputs(packed.data, spreadWeights(packed, weights));
  return { samples, packed, send: (model) => model.forwardBackward(data, form.lossFn, form.config) };
}

/** The log-probs of each sample's action. */
export function logprobsOf({ packed }: Pass, { fields }: ForwardBackwardResult): number[][] {
  return unpackLogprobs(packed, fields.logprobs);
}

/** Some of the samples of a call, with their indices in it. */
interface Part {
  readonly indices: readonly number[];
  readonly samples: readonly ActionInContext[];
  readonly weights: Weights;
}

/** Returns the samples that have a gradient, and those that are only scored. */
export function byGradient(samples: readonly ActionInContext[], weights: Weights): { moving: Part; scored: Part } {
  const moves = weights.map((row) => row.some((weight) => weight !== 0));
  const part = (moving: boolean): Part => {
    const belongs = (_: unknown, i: number) => moves[i] === moving;
    return { indices: [...moves.keys()].filter(belongs), samples: samples.filter(belongs), weights: weights.filter(belongs) };
  };
  return { moving: part(true), scored: part(false) };
}

/** @throws EngineError */
export function checkWeights(samples: readonly ActionInContext[], weights: Weights): void {
  samples.forEach(({ action, trajectory, turn }, i) => {
    const where = `weights of turn ${turn} of trajectory ${trajectory}`;
    if (weights[i]?.length !== action.length)
      throw new EngineError(where, weights[i]?.length, { expected: `${action.length} numbers, one a token` });
    const bad = weights[i].find((w) => !Number.isFinite(w));
    if (bad !== undefined) throw new EngineError(where, bad, { expected: "finite numbers" });
  });
}
