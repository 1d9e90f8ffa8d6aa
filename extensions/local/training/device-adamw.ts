import type { StepOptions } from "../../../src/engines/engine.ts";
import { Graph } from "../graph/graph.ts";
import { type Feed, Session } from "../graph/session.ts";
import type { Tensor } from "../graph/tensor.ts";
import type { DeviceTensor } from "../machine/native/tensor.ts";
import type { Tensor as FileTensor } from "../model/safetensors.ts";
import { type AdamW, momentsIn, momentTensors, nonFiniteGradient, scalesOf } from "./adamw.ts";
import type { ParameterStore } from "./parameter-store.ts";

export type Optimiser = AdamW | DeviceAdamW;

/**
 * AdamW over parameters that are on a GPU, where its moments are too: what `AdamW` computes, in float32. Of a step, only the sum of squares of each
 * parameter's gradient comes back, and numbers of all in common go there. Each parameter has kernels of its own: to put them together and
 * take them apart again costs fifty times as much.
 */
export class DeviceAdamW {
  readonly #parameters: ParameterStore;
  readonly #first: ParameterStore;
  readonly #second: ParameterStore;
  #sessions: Promise<{ readonly squares: Session; readonly climb: Session }> | undefined;
  #steps = 0;
  /** Copies on the device, of the last call of `remember`. */
  #kept: { readonly copies: readonly ParameterStore[]; calls: number } | undefined;

  /** @param parameters changed by `step`, where they are */
  constructor(parameters: ParameterStore) {
    this.#parameters = parameters;
    this.#first = parameters.zeros();
    this.#second = parameters.zeros();
  }

  get steps(): number {
    return this.#steps;
  }

  /** As `AdamW.step`. */
  async step(gradient: ParameterStore, options: StepOptions): Promise<number> {
    const { squares, climb } = await (this.#sessions ??= this.#open());
    const { names } = this.#parameters;
    const gradients = await gradient.onDevice();
    const feeds: Record<string, Feed> = {};
    names.forEach((name, i) => {
      feeds[`gradient/${i}`] = tensorOf(gradients, name);
    });
    // Apart from the update: a gradient that is not finite must change nothing.
    const sums = (await squares.run(feeds, ["squares"])).squares;
    const norm = Math.sqrt(sums.reduce((total, sum) => total + sum, 0));
    if (!Number.isFinite(norm)) throw nonFiniteGradient(names[sums.findIndex((sum) => !Number.isFinite(sum))]);
    const into: Record<string, DeviceTensor> = {};
    for (const [kind, store] of this.#stores) {
      const tensors = await store.onDevice();
      names.forEach((name, i) => {
        feeds[`${kind}/${i}`] = into[`new/${kind}/${i}`] = tensorOf(tensors, name);
      });
    }
    const scales = factors(options, this.#steps + 1, norm);
    for (const [name, value] of Object.entries(scales)) feeds[name] = { data: Float32Array.of(value), shape: [1] };
    await climb.runInto(feeds, into);
    this.#steps++;
    for (const [, store] of this.#stores) store.changed();
    return norm;
  }

  async tensors(): Promise<Map<string, FileTensor>> {
    return momentTensors(this.#steps, await this.#first.host(), await this.#second.host());
  }

  /** As `AdamW.restore`. */
  async restore(tensors: ReadonlyMap<string, FileTensor>, file: string): Promise<void> {
    const lengths = this.#parameters.names.map((name) => [name, this.#parameters.length(name)] as const);
    const { steps, first, second } = momentsIn(tensors, lengths, file);
    await this.#first.write(first);
    await this.#second.write(second);
    this.#steps = steps;
  }

  /** Copies parameters and moments, on the device. @returns puts the copies back, until the next call copies others */
  async remember(): Promise<() => Promise<void>> {
    const stores = this.#stores.map(([, store]) => store);
    if (this.#kept === undefined) {
      const copies: ParameterStore[] = [];
      for (const store of stores) copies.push(await store.copy());
      this.#kept = { copies, calls: 0 };
    } else for (const [i, store] of stores.entries()) await this.#kept.copies[i].assign(store);
    const kept = this.#kept;
    const [call, steps] = [++kept.calls, this.#steps];
    return async () => {
      if (kept.calls !== call) throw new RangeError("a copy that a later one has overwritten");
      for (const [i, store] of stores.entries()) await store.assign(kept.copies[i]);
      this.#steps = steps;
    };
  }

  async close(): Promise<void> {
    for (const session of Object.values((await this.#sessions) ?? {})) await session.close();
    this.#sessions = undefined;
    for (const store of [this.#first, this.#second, ...(this.#kept?.copies ?? [])]) await store.dispose();
  }

  get #stores() {
    return [
      ["parameter", this.#parameters],
      ["first", this.#first],
      ["second", this.#second],
    ] as const;
  }

  async #open() {
    const options = { threads: 1, provider: this.#parameters.provider };
    const shapes = [...this.#parameters.shapes.values()];
    return {
      squares: await Session.open(sumsOfSquares(shapes), options),
      climb: await Session.open(climbing(shapes), options),
    };
  }
}

function tensorOf(tensors: ReadonlyMap<string, DeviceTensor>, name: string): DeviceTensor {
  const tensor = tensors.get(name);
  if (tensor === undefined) throw new RangeError(`no ${name} on the device`);
  return tensor;
}

/** Most values that one kernel of WebGPU puts together. */
const joined = 8;

/** Σg² of each gradient, [P]: lines first, since one long sum of float32 is a thousandth off. */
function sumsOfSquares(shapes: readonly (readonly number[])[]): Graph {
  const g = new Graph();
  let sums = shapes.map((shape, i) => {
    const gradient = g.input(`gradient/${i}`, shape);
    const axes = shape.map((_, axis) => axis);
    return g.reshape(g.sum(g.sum(g.mul(gradient, gradient), axes.slice(-1)), axes), [1]);
  });
  while (sums.length > 1)
    sums = Array.from({ length: Math.ceil(sums.length / joined) }, (_, i) => {
      const some = sums.slice(i * joined, (i + 1) * joined);
      return some.length === 1 ? some[0] : g.concat(some, 0);
    });
  g.output("squares", sums[0]);
  return g;
}

/** The numbers of a step that all parameters have in common. */
function factors({ learningRate, beta1, beta2, epsilon, weightDecay, clipNorm }: StepOptions, steps: number, norm: number) {
  const { clipScale, decay, stepSize, secondScale } = scalesOf(
    { learningRate, beta1, beta2, weightDecay, clipNorm },
    steps,
    norm,
  );
  // What divides m is divided by the step's size, which must not be 0 for that.
  const size = Math.max(stepSize, 1e-30);
  return {
    ...{ beta1, beta2, ofFirst: (1 - beta1) * clipScale, ofSecond: Math.sqrt(1 - beta2) * clipScale },
    ...{ decay, deviation: secondScale / size, floor: epsilon / size },
  };
}

/**
 * m ← β1·m + (1-β1)·c·g      v ← β2·v + (√(1-β2)·c·g)²      θ ← decay·θ + m / (√v·deviation + floor)
 *
 * Each is written to where it was read. No kernel reads the memory that it writes to, which WebGPU refuses.
 */
function climbing(shapes: readonly (readonly number[])[]): Graph {
  const g = new Graph();
  const [beta1, beta2, ofFirst, ofSecond, decay, deviation, floor] = (
    ["beta1", "beta2", "ofFirst", "ofSecond", "decay", "deviation", "floor"] satisfies (keyof ReturnType<typeof factors>)[]
  ).map((name): Tensor => g.input(name, [1]));
  shapes.forEach((shape, i) => {
    const [parameter, gradient, first, second] = ["parameter", "gradient", "first", "second"].map((kind) =>
      g.input(`${kind}/${i}`, shape),
    );
    const m = g.add(g.mul(first, beta1), g.mul(gradient, ofFirst));
    const scaled = g.mul(gradient, ofSecond);
    const v = g.add(g.mul(second, beta2), g.mul(scaled, scaled));
    const step = g.div(m, g.add(g.mul(g.sqrt(v), deviation), floor));
    g.output(`new/parameter/${i}`, g.add(g.mul(parameter, decay), step));
    g.output(`new/first/${i}`, m);
    g.output(`new/second/${i}`, v);
  });
  return g;
}
