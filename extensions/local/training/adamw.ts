import type { StepOptions } from "../../../src/engines/engine.ts";
import { arraysIn } from "../model/arrays.ts";
import type { Tensor } from "../model/safetensors.ts";
import { deviceAdamW } from "./device-adamw.ts";
import { type AdamWArithmetic, type AdamWStores, hostAdamW } from "./host-adamw.ts";
import { ParameterStore } from "./parameter-store.ts";

/**
 * AdamW (arXiv:1711.05101), as `torch.optim.AdamW` with `maximize=True`: it climbs the gradient g of an objective.
 * The gradient is clipped first, as by `torch.nn.utils.clip_grad_norm_`; every parameter decays.
 *
 *   g ← g · min( 1, clipNorm / (‖g‖ + 1e-6) )
 *   θ ← θ · (1 - lr·λ)
 *   m ← β1·m + (1-β1)·g          v ← β2·v + (1-β2)·g²
 *   θ ← θ + lr · m/(1-β1^t) / ( √(v/(1-β2^t)) + ε )
 *
 * Moments are where the parameters are, and made when they are first asked for.
 */
export class AdamW {
  readonly #parameters: ParameterStore;
  readonly #arithmetic: AdamWArithmetic;
  #moments: Promise<Omit<AdamWStores, "parameter">> | undefined;
  #steps = 0;
  /** A device's copies, and calls of `remember`. */
  #kept: readonly ParameterStore[] = [];
  #remembered = 0;

  /** @param parameters changed in place by `step` */
  constructor(parameters: ParameterStore) {
    this.#parameters = parameters;
    this.#arithmetic = parameters.provider === undefined ? hostAdamW : deviceAdamW(parameters);
  }

  /** Steps taken so far: t. */
  get steps(): number {
    return this.#steps;
  }

  /**
   * One step up the gradient.
   * @param gradient of every parameter; read only
   * @returns ‖g‖ before clipping
   * @throws DivergenceError if ‖g‖ is not finite; nothing has changed then
   */
  async step(gradient: ParameterStore, options: StepOptions): Promise<number> {
    const stores = await this.#stores();
    const norm = await this.#arithmetic.step(stores, gradient, options, this.#steps + 1);
    this.#steps++;
    return norm;
  }

  /** Moments and step count, for a file. */
  async tensors(): Promise<Map<string, Tensor>> {
    const { first, second } = await this.#stores();
    const tensors = new Map<string, Tensor>([["steps", { shape: [1], data: Float32Array.of(this.#steps) }]]);
    for (const [order, store] of Object.entries({ first, second }))
      for (const [name, data] of await store.host()) tensors.set(`${order}.${name}`, { shape: [data.length], data });
    return tensors;
  }

  /**
   * Continues from what `tensors` gave.
   * @param file names them in error messages
   * @throws ModelError if they are not the state of an optimiser over the same parameters
   */
  async restore(tensors: ReadonlyMap<string, Tensor>, file: string): Promise<void> {
    const hint = "It was saved from another model: remove the checkpoint or load the model that it belongs to.";
    const take = arraysIn(tensors, file, hint);
    const of = (order: string) =>
      new Map(this.#parameters.lengths.map(([name, length]) => [name, take(`${order}.${name}`, length)]));
    const [steps, ...moments] = [take("steps", 1)[0], of("first"), of("second")];
    const { shapes, provider } = this.#parameters;
    const [first, second] = moments.map((arrays) => ParameterStore.of(arrays, shapes, { provider }));
    await this.#dropMoments();
    this.#moments = Promise.resolve({ first, second });
    this.#steps = steps;
  }

  /** Copies parameters and moments, where they are. @returns puts the copies back, until the next call */
  async remember(): Promise<() => Promise<void>> {
    const copies: ParameterStore[] = [];
    for (const [i, store] of Object.values(await this.#stores()).entries()) {
      const kept = this.#kept[i];
      await kept?.assign(store);
      copies.push(kept ?? (await store.copy()));
    }
    if (this.#parameters.provider !== undefined) this.#kept = copies; // a device's memory is not collected
    const [call, steps] = [++this.#remembered, this.#steps];
    return async () => {
      if (this.#remembered !== call) throw new RangeError("a copy that a later one has overwritten");
      for (const [i, store] of Object.values(await this.#stores()).entries()) await store.assign(copies[i]);
      this.#steps = steps;
    };
  }

  async close(): Promise<void> {
    await this.#arithmetic.close();
    await this.#dropMoments();
    for (const copy of this.#kept) await copy.dispose();
  }

  async #dropMoments(): Promise<void> {
    for (const store of Object.values((await this.#moments) ?? {})) await store.dispose();
  }

  async #stores(): Promise<AdamWStores> {
    const make = async () => ({ first: await this.#parameters.zeros(), second: await this.#parameters.zeros() });
    return { parameter: this.#parameters, ...(await (this.#moments ??= make())) };
  }
}
