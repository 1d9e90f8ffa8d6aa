import { DivergenceError, EngineError, ModelError } from "../../../src/core/errors.ts";
import type { StepOptions } from "../../../src/engines/engine.ts";
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
  step(gradients: Arrays, options: StepOptions): number {
    const norm = gradientNorm(gradients);
    if (!Number.isFinite(norm)) throw nonFinite(gradients);
    const clipScale = Math.min(1, options.clipNorm / (norm + 1e-6));
    this.#steps++;
    for (const [name, parameter] of this.#parameters) {
      climb(parameter, arrayOf(gradients, name), arrayOf(this.#firstMoments, name), arrayOf(this.#secondMoments, name), {
        ...options,
        steps: this.#steps,
        clipScale,
      });
    }
    return norm;
  }

  /** Moments and step count, for a file. */
  tensors(): Map<string, Tensor> {
    const tensors = new Map<string, Tensor>([["steps", { shape: [1], data: Float32Array.of(this.#steps) }]]);
    for (const [name, data] of this.#firstMoments) tensors.set(`first.${name}`, { shape: [data.length], data });
    for (const [name, data] of this.#secondMoments) tensors.set(`second.${name}`, { shape: [data.length], data });
    return tensors;
  }

  /**
   * Continues from what `tensors` gave.
   * @param file names them in error messages
   * @throws ModelError if they are not the state of an optimiser over the same parameters
   */
  restore(tensors: ReadonlyMap<string, Tensor>, file: string): void {
    const take = (name: string, length: number): Float32Array => {
      const data = tensors.get(name)?.data;
      if (data?.length === length) return data;
      const hint = "It was saved from another model: remove the checkpoint or load the model that it belongs to.";
      throw new ModelError(`size of ${name} in ${file}`, data?.length, { expected: [length], hint });
    };
    const steps = take("steps", 1)[0];
    const read = [...this.#parameters].map(
      ([name, { length }]) => [name, take(`first.${name}`, length), take(`second.${name}`, length)] as const,
    );
    this.#steps = steps;
    for (const [name, first, second] of read) {
      this.#firstMoments.set(name, first);
      this.#secondMoments.set(name, second);
    }
  }
}

/** Euclidean norm over all entries of all arrays, accumulated in float64. */
export function gradientNorm(gradients: Arrays): number {
  let sum = 0;
  for (const gradient of gradients.values()) sum += sumOfSquares(gradient);
  return Math.sqrt(sum);
}

/** In four sums, so that no addition waits for the one before it: twice as fast. */
function sumOfSquares(values: Float32Array): number {
  let [a, b, c, d] = [0, 0, 0, 0];
  const whole = values.length - (values.length % 4);
  for (let i = 0; i < whole; i += 4) {
    a += values[i] * values[i];
    b += values[i + 1] * values[i + 1];
    c += values[i + 2] * values[i + 2];
    d += values[i + 3] * values[i + 3];
  }
  for (let i = whole; i < values.length; i++) a += values[i] * values[i];
  return a + b + (c + d);
}

function climb(
  parameter: Float32Array,
  gradient: Float32Array,
  first: Float32Array,
  second: Float32Array,
  { learningRate, beta1, beta2, epsilon, weightDecay, steps, clipScale }: StepOptions & { steps: number; clipScale: number },
): void {
  const decay = 1 - learningRate * weightDecay;
  const stepSize = learningRate / (1 - beta1 ** steps);
  const secondScale = 1 / Math.sqrt(1 - beta2 ** steps);
  for (let i = 0; i < parameter.length; i++) {
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

function nonFinite(gradients: Arrays): DivergenceError {
  const [name] = [...gradients].find(([, gradient]) => !gradient.every(Number.isFinite)) ?? ["all parameters"];
  const hint = "Lower the learning rate, or look at the rewards and log-probs of this step.";
  return new DivergenceError(`gradient of ${name}`, "not finite", { expected: "finite numbers", hint });
}

function zerosLike(arrays: Arrays): Map<string, Float32Array> {
  return new Map([...arrays].map(([name, { length }]) => [name, new Float32Array(length)]));
}
