import { formatModelConfig, type ModelConfig, parameterShapes } from "../../extensions/local/model/model-config.ts";
import type { Model } from "../../extensions/local/model/model-folder.ts";
import type { Tensor } from "../../extensions/local/model/safetensors.ts";
import { randomStream } from "../../src/core/random.ts";
import type { ActionInContext, TokenId } from "../../src/core/trajectory.ts";

/** The adapter that both sides train. */
export const benchmarkAdapter = { rank: 16, alpha: 32, targets: "all-linear" } as const;

export function randomTokens(vocabSize: number, length: number, ...names: readonly (string | number)[]): TokenId[] {
  const random = randomStream(1, "benchmark", ...names);
  return Array.from({ length }, () => random.integer(vocabSize));
}

/** Rows of unrelated random tokens: all but the first of each are trained, and nothing is shared. */
export function denseBatch(vocabSize: number, rows: number, length: number): ActionInContext[] {
  return Array.from({ length: rows }, (_, row) => {
    const tokens = randomTokens(vocabSize, length, "row", row);
    return { trajectory: String(row), turn: 0, context: tokens.slice(0, 1), action: tokens.slice(1) };
  });
}

/** A random model, made quickly. @param take takes tensors over one by one, as `loadModel` gives them */
export function quickModel(config: ModelConfig, take: (name: string, tensor: Tensor) => unknown = () => false): Model {
  const parameters = new Map(
    [...parameterShapes(config)].map(([name, shape]) => {
      const tensor = { shape, data: randomWeights(shape) };
      return [name, take(name, tensor) === true ? { shape, data: new Float32Array(0) } : tensor];
    }),
  );
  return { config, parameters, configFile: formatModelConfig(config), companions: new Map() };
}

/** Normal enough: a sum of three uniforms of a fast generator, with deviation 1/√inputs; vectors are 1. */
function randomWeights(shape: readonly number[]): Float32Array {
  const data = new Float32Array(shape.reduce((product, size) => product * size, 1));
  if (shape.length === 1) return data.fill(1);
  const scale = 2 / Math.sqrt(shape[1]) / 2 ** 32;
  let state = data.length | 1;
  const next = () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0;
    return state;
  };
  for (let i = 0; i < data.length; i++) data[i] = scale * (next() + next() + next());
  return data;
}
