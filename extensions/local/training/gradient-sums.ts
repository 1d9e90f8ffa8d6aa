import type { DeviceMemory } from "../graph/device-memory.ts";
import { Graph } from "../graph/graph.ts";
import { type Feed, Session } from "../graph/session.ts";
import type { Tensor } from "../graph/tensor.ts";
import type { DeviceTensor } from "../machine/native/tensor.ts";
import { Turns } from "../machine/turns.ts";
import type { Arrays } from "../model/arrays.ts";
import { parametersOf } from "../model/transformer.ts";
import type { DeviceTensors, ParameterStore } from "./parameter-store.ts";

/** The gradients that a pass adds to. Where they are empty, what comes first is written to where it belongs, without a copy. */
export interface GradientSums {
  /**
   * Where a run is to write: the sum itself, or what is added to it afterwards.
   * @param addend an array for that, on the processor
   */
  target(name: string, addend: (length: number) => Float32Array): Float32Array | DeviceTensor;
  /** Counts in what a run has written to the targets of these names. */
  add(names: readonly string[]): Promise<void>;
  /** Has a sum changed by what adds to an array. */
  change(name: string, adding: (array: Float32Array) => void): Promise<void>;
}

/** Where a pass adds its gradients: arrays, or what is on a device. */
export type Gradients = Arrays | DeviceSums;

/** @param empty whether they count as zeros, whatever they hold */
export function sumsOf(gradients: Gradients, empty: boolean): GradientSums {
  if (!(gradients instanceof DeviceSums)) return hostSums(gradients, empty);
  if (empty) gradients.clear();
  return gradients;
}

function hostSums(sums: Arrays, isEmpty: boolean): GradientSums {
  const sumOf = parametersOf(sums);
  const empty = isEmpty ? new Set(sums.keys()) : new Set<string>();
  const targets = new Map<string, Float32Array>();
  return {
    target(name, addend) {
      const sum = sumOf(name);
      const target = empty.has(name) ? sum : addend(sum.length);
      targets.set(name, target);
      return target;
    },

    async add(names) {
      const turns = new Turns();
      for (const name of names) {
        const [sum, written] = [sumOf(name), parametersOf(targets)(name)];
        empty.delete(name);
        if (sum === written) continue;
        await turns.over(sum.length, (from, to) => {
          for (let i = from; i < to; i++) sum[i] += written[i];
        });
      }
    },

    async change(name, adding) {
      const sum = sumOf(name);
      if (empty.delete(name)) sum.fill(0);
      adding(sum);
    },
  };
}

/** Gradients that stay on a GPU. */
export class DeviceSums implements GradientSums {
  readonly #store: ParameterStore;
  readonly #memory: DeviceMemory;
  readonly #sums: DeviceTensors;
  /** Made where a second pass adds to the first. */
  readonly #addends = new Map<string, DeviceTensor>();
  readonly #empty: Set<string>;
  /** By the shapes that they add up. */
  readonly #sessions = new Map<string, Promise<Session>>();

  private constructor(store: ParameterStore, memory: DeviceMemory, sums: DeviceTensors) {
    this.#store = store;
    this.#memory = memory;
    this.#sums = sums;
    this.#empty = new Set(sums.keys());
  }

  /** @param store of the sums: zeros */
  static async open(store: ParameterStore): Promise<DeviceSums> {
    return new DeviceSums(store, await store.memory(), await store.onDevice());
  }

  clear(): void {
    for (const name of this.#sums.keys()) this.#empty.add(name);
  }

  target(name: string): DeviceTensor {
    return this.#empty.has(name) ? this.#sum(name) : this.#addend(name);
  }

  async add(names: readonly string[]): Promise<void> {
    this.#store.changed();
    const further = names.filter((name) => !this.#empty.delete(name));
    if (further.length === 0) return;
    const session = await this.#session(further);
    const feeds: Record<string, Feed> = { one: { data: Float32Array.of(1), shape: [1] } };
    const into: Record<string, DeviceTensor> = {};
    further.forEach((name, i) => {
      feeds[`sum/${i}`] = into[`total/${i}`] = this.#sum(name);
      feeds[`addend/${i}`] = this.#addend(name);
    });
    await session.runInto(feeds, into);
  }

  async change(name: string, adding: (array: Float32Array) => void): Promise<void> {
    const array = new Float32Array(this.#store.length(name));
    adding(array);
    await this.#memory.write(this.target(name), array);
    await this.add([name]);
  }

  async close(): Promise<void> {
    for (const session of this.#sessions.values()) await (await session).close();
    this.#sessions.clear();
    for (const addend of this.#addends.values()) addend.dispose();
    this.#addends.clear();
  }

  #sum(name: string): DeviceTensor {
    const sum = this.#sums.get(name);
    if (sum === undefined) throw new RangeError(`no gradient of ${name}`);
    return sum;
  }

  #addend(name: string): DeviceTensor {
    const addend = this.#addends.get(name) ?? this.#memory.allocate(this.#sum(name).dims);
    this.#addends.set(name, addend);
    return addend;
  }

  #session(names: readonly string[]): Promise<Session> {
    const shapes = names.map((name) => this.#sum(name).dims);
    const key = shapes.map(String).join(" ");
    const session = this.#sessions.get(key) ?? Session.open(additions(shapes), { threads: 1, provider: this.#store.provider });
    this.#sessions.set(key, session);
    return session;
  }
}

/**
 * total = sum · 1 + addend, written to where the sum is. The product is there since no operator of WebGPU may read the memory that it writes to; its
 * factor is an input, so that it is not left out.
 */
function additions(shapes: readonly (readonly number[])[]): Graph {
  const g = new Graph();
  const one: Tensor = g.input("one", [1]);
  shapes.forEach((shape, i) => {
    g.output(`total/${i}`, g.add(g.mul(g.input(`sum/${i}`, shape), one), g.input(`addend/${i}`, shape)));
  });
  return g;
}
