import { DeviceMemory } from "../graph/device-memory.ts";
import { Graph } from "../graph/graph.ts";
import { Session } from "../graph/session.ts";
import type { Provider } from "../machine/device.ts";
import { DeviceTensor } from "../machine/native/tensor.ts";
import { adapterShapes, isAdapted, matrixOf, moduleOf } from "../model/lora.ts";
import { type ModelConfig, parameterShapes } from "../model/model-config.ts";
import { parametersOf } from "../model/transformer.ts";
import type { Placed } from "../training/parameter-store.ts";

/**
 * The weights that steps on a device compute with, which stay where they are: recorded steps know them by their address. Those of modules with an adapter
 * are merged, W + (α/r)·B·A, after each update: a step reads no more than those of the model then.
 */
export class DeviceWeights {
  readonly #config: ModelConfig;
  readonly #memory: DeviceMemory;
  readonly #merging: Session | undefined;
  /** Copies that are of this sampler alone, by name: of parameters, of A and B, and merged ones. */
  readonly #own = new Map<string, DeviceTensor>();
  #tensors: Readonly<Record<string, DeviceTensor>> = {};

  private constructor(config: ModelConfig, memory: DeviceMemory, merging: Session | undefined) {
    this.#config = config;
    this.#memory = memory;
    this.#merging = merging;
  }

  /** @param parameters tensors that are there already, and stay where they are, or arrays, of which copies are made */
  static async open(config: ModelConfig, parameters: Placed, provider: Provider): Promise<DeviceWeights> {
    const merging = config.lora && (await Session.open(mergingGraph(config.lora.rank), { provider, threads: 1, fewNodes: true }));
    const weights = new DeviceWeights(config, await DeviceMemory.of(provider), merging);
    await weights.update(parameters);
    return weights;
  }

  /** By the names of the model's parameters. */
  get tensors(): Readonly<Record<string, DeviceTensor>> {
    return this.#tensors;
  }

  /** Takes parameters that have changed. @returns whether some tensors are others than before */
  async update(parameters: Placed): Promise<boolean> {
    const tensors: Record<string, DeviceTensor> = {};
    const [of, adapter] = [parametersOf(parameters), adapterShapes(this.#config)];
    for (const [name, shape] of parameterShapes(this.#config)) {
      const module = moduleOf(name);
      if (this.#config.lora === undefined) tensors[name] = await this.#learned(name, of(name), shape);
      else if (module === undefined || !isAdapted(this.#config, module)) tensors[name] = await this.#frozen(of(name), shape);
      else {
        const factor = (each: string) => this.#learned(each, of(each), adapter.get(each) ?? []);
        const [a, b] = [await factor(matrixOf(module, "A")), await factor(matrixOf(module, "B"))];
        const merged = this.#own.get(name) ?? this.#memory.allocate(shape);
        this.#own.set(name, merged);
        await this.#merging?.runInto({ w: await this.#frozen(of(name), shape), a, b, scale: this.#scale() }, { merged });
        tensors[name] = merged;
      }
    }
    const before = this.#tensors;
    this.#tensors = tensors;
    return Object.entries(tensors).some(([name, tensor]) => before[name] !== tensor);
  }

  async close(): Promise<void> {
    for (const tensor of this.#own.values()) tensor.dispose();
    this.#own.clear();
    await this.#merging?.close();
  }

  /** A parameter that learns, as it is now. */
  async #learned(name: string, given: Float32Array | DeviceTensor, shape: readonly number[]): Promise<DeviceTensor> {
    if (given instanceof DeviceTensor) return given;
    const own = this.#own.get(name) ?? this.#memory.allocate(shape);
    this.#own.set(name, own);
    await this.#memory.write(own, given);
    return own;
  }

  /** One that does not: all share its copy. */
  async #frozen(given: Float32Array | DeviceTensor, shape: readonly number[]): Promise<DeviceTensor> {
    return given instanceof DeviceTensor ? given : this.#memory.constant({ data: given, shape });
  }

  #scale() {
    const { alpha = 1, rank = 1 } = this.#config.lora ?? {};
    return { data: Float32Array.of(alpha / rank), shape: [1] };
  }
}

function mergingGraph(rank: number): Graph {
  const g = new Graph();
  const [w, a, b] = [g.input("w", ["O", "I"]), g.input("a", [rank, "I"]), g.input("b", ["O", rank])];
  g.output("merged", g.add(w, g.mul(g.matmul(b, a), g.input("scale", [1]))));
  return g;
}
