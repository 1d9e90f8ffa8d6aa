import type { Feed, FloatValue } from "../graph/session.ts";
import type { ModelConfig } from "../model/model-config.ts";
import type { FlatBatch } from "./blocks.ts";
import type { GradientSums } from "./gradient-sums.ts";
import type { LayerParts } from "./layer-parts.ts";
import type { PackedBatch } from "./packing.ts";
import type { Placed } from "./parameter-store.ts";
import { logitTokens } from "./pass-sizes.ts";
import { addRows, piecesOf, rowsOf } from "./rows.ts";
import type { ScratchArrays } from "./scratch.ts";
import { gradientOf, numbersOf, pick, weightsOf } from "./training-graph.ts";

/** The head reads hidden states [R, D] of the last layer, for the scored tokens of a batch. */
export interface HeadInputs {
  readonly batch: PackedBatch;
  readonly flat: FlatBatch;
  readonly hidden: Float32Array;
  readonly parameters: Placed;
  readonly temperature: number;
}

/** Where the head's part of the gradients is added. `weights` are [M] for each number that the head reads. */
export interface HeadAdjoints {
  readonly weights: readonly Float32Array[];
  readonly gradients: GradientSums;
  /** [R, D] */
  readonly adjoint: Float32Array;
}

/**
 * The head over scored tokens, some at a time, so that logits of a whole batch are never held.
 * @param most scored tokens at a time. Default: decided by the vocabulary
 * @returns reads what the head says of the M scored tokens. With `wanted`, its part of the gradients is computed too
 */
export function headPass(config: ModelConfig, parts: LayerParts, arrays: ScratchArrays, most = logitTokens(config)) {
  const { hiddenSize } = config;
  return async ({ batch, flat, hidden, parameters, temperature }: HeadInputs, wanted?: HeadAdjoints): Promise<Float32Array> => {
    const numbers = new Float32Array(batch.targets.length);
    const part = await parts.get({ part: "head" }, wanted !== undefined);
    for (const { start, end } of piecesOf(batch.targets.length, most)) {
      const predictors = flat.predictors.subarray(start, end);
      const count = end - start;
      const x = rowsOf(hidden, predictors, arrays.get("scored", count * hiddenSize), hiddenSize);
      const feeds: Record<string, Feed> = {
        ...parts.parameterFeeds(part, parameters),
        x: { data: x, shape: [count, hiddenSize] },
        targets: { data: batch.targets.subarray(start, end), shape: [count, 1] },
        inverseTemperature: { data: Float32Array.of(1 / temperature), shape: [1] },
      };
      const into: Record<string, FloatValue> = { [numbersOf(0)]: { data: numbers.subarray(start, end), shape: [count, 1] } };
      if (wanted === undefined) {
        await part.session.runInto(pick(feeds, part.inputs), into);
        continue;
      }
      wanted.weights.forEach((data, output) => {
        feeds[weightsOf(output)] = { data: data.subarray(start, end), shape: [count, 1] };
      });
      const ofX = arrays.get("scored adjoint", count * hiddenSize);
      into[gradientOf("x")] = { data: ofX, shape: [count, hiddenSize] };
      await parts.runBackward(part, undefined, wanted.gradients, pick(feeds, part.inputs), into);
      addRows(wanted.adjoint, predictors, ofX, hiddenSize);
    }
    return numbers;
  };
}
