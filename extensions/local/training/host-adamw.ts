import { DivergenceError } from "../../../src/core/errors.ts";
import type { StepOptions } from "../../../src/engines/engine.ts";
import { Turns } from "../machine/turns.ts";
import type { Arrays } from "../model/arrays.ts";
import { parametersOf } from "../model/transformer.ts";
import type { ParameterStore } from "./parameter-store.ts";

/** The parameters of a step and their moments, of the same names. */
export interface AdamWStores {
  readonly parameter: ParameterStore;
  readonly first: ParameterStore;
  readonly second: ParameterStore;
}

/** Changes parameters and moments, where they are. */
export interface AdamWArithmetic {
  /**
   * @param steps t, this one counted
   * @returns ‖g‖ before clipping
   * @throws DivergenceError if ‖g‖ is not finite; nothing has changed then
   */
  step(stores: AdamWStores, gradient: ParameterStore, options: StepOptions, steps: number): Promise<number>;
  close(): Promise<void>;
}

/** In this thread. */
export const hostAdamW: AdamWArithmetic = {
  step: async ({ parameter, first, second }, gradient, options, steps) => {
    const turns = new Turns();
    const norm = await gradientNorm(gradient.arrays, turns);
    if (!Number.isFinite(norm))
      throw nonFiniteGradient([...gradient.arrays].find(([, numbers]) => !numbers.every(Number.isFinite))?.[0]);
    const scales = { ...options, ...scalesOf(options, steps, norm) };
    for (const [name, numbers] of parameter.arrays) {
      const [g, m, v] = [gradient, first, second].map(({ arrays }) => parametersOf(arrays)(name));
      await turns.over(numbers.length, (from, to) => {
        const [parameter, gradient, first, second] = [numbers, g, m, v].map((all) => all.subarray(from, to));
        climb(parameter, gradient, first, second, scales);
      });
    }
    return norm;
  },
  close: async () => undefined,
};

/** The numbers of a step that follow its options. @param steps t @param norm ‖g‖ before clipping */
export function scalesOf(
  { learningRate, beta1, beta2, weightDecay, clipNorm }: Omit<StepOptions, "epsilon">,
  steps: number,
  norm: number,
) {
  return {
    clipScale: Math.min(1, clipNorm / (norm + 1e-6)),
    decay: 1 - learningRate * weightDecay,
    stepSize: learningRate / (1 - beta1 ** steps),
    secondScale: 1 / Math.sqrt(1 - beta2 ** steps),
  };
}

/** Euclidean norm over all entries of all arrays, accumulated in float64. */
export async function gradientNorm(gradients: Arrays, turns = new Turns()): Promise<number> {
  let sum = 0;
  for (const gradient of gradients.values()) sum += await sumOfSquares(gradient, turns);
  return Math.sqrt(sum);
}

/** In four sums, so that no addition waits for the one before it: twice as fast. */
async function sumOfSquares(values: Float32Array, turns: Turns): Promise<number> {
  const sums = new Float64Array(4);
  const whole = values.length - (values.length % 4);
  await turns.over(whole, (from, to) => addSquares(values, from, to, sums), 4);
  let [a, b, c, d] = sums;
  for (let i = whole; i < values.length; i++) a += values[i] * values[i];
  return a + b + (c + d);
}

function addSquares(values: Float32Array, from: number, to: number, sums: Float64Array): void {
  let [a, b, c, d] = sums;
  for (let i = from; i < to; i += 4) {
    a += values[i] * values[i];
    b += values[i + 1] * values[i + 1];
    c += values[i + 2] * values[i + 2];
    d += values[i + 3] * values[i + 3];
  }
  sums.set([a, b, c, d]);
}

function climb(
  parameter: Float32Array,
  gradient: Float32Array,
  first: Float32Array,
  second: Float32Array,
  { beta1, beta2, epsilon, clipScale, decay, stepSize, secondScale }: StepOptions & ReturnType<typeof scalesOf>,
): void {
  for (let i = 0; i < parameter.length; i++) {
    const g = gradient[i] * clipScale;
    const m = beta1 * first[i] + (1 - beta1) * g;
    const v = beta2 * second[i] + (1 - beta2) * g * g;
    first[i] = m;
    second[i] = v;
    parameter[i] = parameter[i] * decay + (stepSize * m) / (Math.sqrt(v) * secondScale + epsilon);
  }
}

/** @param name of a parameter whose gradient is not finite, where it is one alone */
export function nonFiniteGradient(name = "all parameters"): DivergenceError {
  const hint = "Lower the learning rate, or look at the rewards and log-probs of this step.";
  return new DivergenceError(`gradient of ${name}`, "not finite", { expected: "finite numbers", hint });
}
