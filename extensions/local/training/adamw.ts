import { DivergenceError, EngineError, ModelError } from "../../../src/core/errors.ts";
import type { StepOptions } from "../../../src/engines/engine.ts";
import { Turns } from "../machine/turns.ts";
import type { Tensor } from "../model/safetensors.ts";

type Arrays = ReadonlyMap<string, Float32Array>;

/**
 * AdamW (arXiv:1711.05101), as `torch.optim.AdamW` with `maximize=True`: it climbs the gradient g of an objective.
 * The gradient is clipped first, as by `torch.nn.utils.clip_grad_norm_`; every parameter decays.
 *
 *   g ← g · min( 1, clipNorm / (‖g‖ + 1e-6) )
 *   θ ← θ · (1 - lr·λ)
 *   m ← β1·m + (1-β1)·g          v ← β2·v + (1-β2)·g²
 *   θ ← θ + lr · m/(1-β1^t) / ( √(v/(1-β2^t)) + ε )
 */
export class AdamW {
  readonly #parameters: Arrays;
  readonly #firstMoments: Map<string, Float32Array>;
  readonly #secondMoments: Map<string, Float32Array>;
  #steps = 0;

  /** @param parameters by name; changed in place by `step` */
  constructor(parameters: Arrays) {
    this.#parameters = parameters;
    this.#firstMoments = zerosLike(parameters);
    this.#secondMoments = zerosLike(parameters);
  }

  /** Steps taken so far: t. */
  get steps(): number {
    return this.#steps;
  }

  /**
   * One step up the gradient.
   * @param gradients one array for every parameter, of its size; read only
   * @returns ‖g‖ before clipping
   * @throws EngineError if ‖g‖ is not finite; nothing has changed then
   */
  async step(gradients: Arrays, options: StepOptions): Promise<number> {
    const turns = new Turns();
    const norm = await gradientNorm(gradients, turns);
    if (!Number.isFinite(norm))
      throw nonFiniteGradient([...gradients].find(([, gradient]) => !gradient.every(Number.isFinite))?.[0]);
    this.#steps++;
    const scales = { ...options, ...scalesOf(options, this.#steps, norm) };
    for (const [name, parameter] of this.#parameters) {
      const [gradient, first, second] = [gradients, this.#firstMoments, this.#secondMoments].map((all) => arrayOf(all, name));
      await turns.over(parameter.length, (from, to) => climb(parameter, gradient, first, second, from, to, scales));
    }
    return norm;
  }

  /** Moments and step count, for a file. */
  tensors(): Map<string, Tensor> {
    return momentTensors(this.#steps, this.#firstMoments, this.#secondMoments);
  }

  /**
   * Continues from what `tensors` gave.
   * @param file names them in error messages
   * @throws ModelError if they are not the state of an optimiser over the same parameters
   */
  restore(tensors: ReadonlyMap<string, Tensor>, file: string): void {
    const lengths = [...this.#parameters].map(([name, { length }]) => [name, length] as const);
    const { steps, first, second } = momentsIn(tensors, lengths, file);
    this.#steps = steps;
    for (const [name, data] of first) this.#firstMoments.set(name, data);
    for (const [name, data] of second) this.#secondMoments.set(name, data);
  }
}

export function momentTensors(steps: number, first: Arrays, second: Arrays): Map<string, Tensor> {
  const tensors = new Map<string, Tensor>([["steps", { shape: [1], data: Float32Array.of(steps) }]]);
  for (const [name, data] of first) tensors.set(`first.${name}`, { shape: [data.length], data });
  for (const [name, data] of second) tensors.set(`second.${name}`, { shape: [data.length], data });
  return tensors;
}

/** Reads what `momentTensors` made. @throws ModelError if it is not of these parameters */
export function momentsIn(
  tensors: ReadonlyMap<string, Tensor>,
  lengths: readonly (readonly [name: string, length: number])[],
  file: string,
): { readonly steps: number; readonly first: Arrays; readonly second: Arrays } {
  const take = (name: string, length: number): Float32Array => {
    const data = tensors.get(name)?.data;
    if (data?.length === length) return data;
    const hint = "It was saved from another model: remove the checkpoint or load the model that it belongs to.";
    throw new ModelError(`size of ${name} in ${file}`, data?.length, { expected: [length], hint });
  };
  const steps = take("steps", 1)[0];
  const moments = (order: string) => new Map(lengths.map(([name, length]) => [name, take(`${order}.${name}`, length)]));
  return { steps, first: moments("first"), second: moments("second") };
}

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
  from: number,
  to: number,
  { beta1, beta2, epsilon, clipScale, decay, stepSize, secondScale }: StepOptions & ReturnType<typeof scalesOf>,
): void {
  for (let i = from; i < to; i++) {
    const g = gradient[i] * clipScale;
    const m = beta1 * first[i] + (1 - beta1) * g;
    const v = beta2 * second[i] + (1 - beta2) * g * g;
    first[i] = m;
    second[i] = v;
    parameter[i] = parameter[i] * decay + (stepSize * m) / (Math.sqrt(v) * secondScale + epsilon);
  }
}

function arrayOf(arrays: Arrays, name: string): Float32Array {
  const array = arrays.get(name);
  if (array === undefined) throw new EngineError(`gradient of ${name}`, undefined, { expected: "one array for every parameter" });
  return array;
}

/** @param name of a parameter whose gradient is not finite, where it is one alone */
export function nonFiniteGradient(name = "all parameters"): DivergenceError {
  const hint = "Lower the learning rate, or look at the rewards and log-probs of this step.";
  return new DivergenceError(`gradient of ${name}`, "not finite", { expected: "finite numbers", hint });
}

function zerosLike(arrays: Arrays): Map<string, Float32Array> {
  return new Map([...arrays].map(([name, { length }]) => [name, new Float32Array(length)]));
}
