import { DeviceMemory } from "../graph/device-memory.ts";
import { Graph } from "../graph/graph.ts";
import { Session } from "../graph/session.ts";
import type { Provider } from "../machine/device.ts";
import type { DeviceTensor } from "../machine/native/tensor.ts";
import type { Arrays } from "../model/arrays.ts";
import { adapterShapes, isAdapted, matrixOf } from "../model/lora.ts";
import { type ModelConfig, parameterShapes } from "../model/model-config.ts";

/** Parameters that are on the device already, such as those that are trained there: by name, and where they stay. */
export type OnDevice = (name: string) => DeviceTensor | undefined;

/**
 * The weights that steps on a device compute with, which stay where they are: recorded steps know them by their address. Those of modules with an adapter
 * are merged, W + (α/r)·B·A, after each update: a step reads no more than those of the model then.
 */
export class DeviceWeights {
  readonly #config: ModelConfig;
  readonly #memory: DeviceMemory;
  readonly #merging: Session | undefined;
  readonly #given: OnDevice;
  /** Copies that are of this sampler alone, by name: of parameters, of A and B, and merged ones. */
  readonly #own = new Map<string, DeviceTensor>();
  #tensors: Readonly<Record<string, DeviceTensor>> = {};

  private constructor(config: ModelConfig, memory: DeviceMemory, merging: Session | undefined, given: OnDevice) {
    this.#config = config;
    this.#memory = memory;
    this.#merging = merging;
    this.#given = given;
  }

  static async open(
    config: ModelConfig,
    parameters: Arrays,
    provider: Provider,
    given: OnDevice = () => undefined,
  ): Promise<DeviceWeights> {
    const merging = config.lora && (await Session.open(mergingGraph(config.lora.rank), { provider, threads: 1, fewNodes: true }));
    const weights = new DeviceWeights(config, await DeviceMemory.of(provider), merging, given);
    await weights.update(parameters);
    return weights;
  }

  /** By the names of the model's parameters. */
  get tensors(): Readonly<Record<string, DeviceTensor>> {
    return this.#tensors;
  }

  /** Takes parameters that have changed, into the tensors that they are in. */
  async update(parameters: Arrays): Promise<void> {
    const tensors: Record<string, DeviceTensor> = {};
    const adapter = adapterShapes(this.#config);
    for (const [name, shape] of parameterShapes(this.#config)) {
      const module = name.replace(/\.weight$/, "");
      const data = arrayOf(parameters, name);
      if (this.#config.lora === undefined) tensors[name] = await this.#placed(name, data, shape);
      else if (module === name || !isAdapted(this.#config, module)) tensors[name] = await this.#frozen(name, data, shape);
      else {
        const [a, b] = [matrixOf(module, "A"), matrixOf(module, "B")];
        const of = (each: string) => this.#placed(each, arrayOf(parameters, each), adapter.get(each) ?? []);
        const merged = this.#own.get(name) ?? this.#memory.allocate(shape);
        this.#own.set(name, merged);
        const factors = { w: await this.#frozen(name, data, shape), a: await of(a), b: await of(b) };
        await this.#merging?.runInto({ ...factors, scale: this.#scale() }, { merged });
        tensors[name] = merged;
      }
    }
    this.#tensors = tensors;
  }

  async close(): Promise<void> {
    for (const tensor of this.#own.values()) tensor.dispose();
    this.#own.clear();
    await this.#merging?.close();
  }

  /** A parameter that learns: as it is now. */
  async #placed(name: string, data: Float32Array, shape: readonly number[]): Promise<DeviceTensor> {
    const there = this.#given(name);
    if (there !== undefined) return there;
    const own = this.#own.get(name) ?? this.#memory.allocate(shape);
    this.#own.set(name, own);
    await this.#memory.write(own, data);
    return own;
  }

  /** One that does not: all share its copy. */
  async #frozen(name: string, data: Float32Array, shape: readonly number[]): Promise<DeviceTensor> {
    return this.#given(name) ?? this.#memory.constant({ data, shape });
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

/** @throws RangeError for a name that there is no array of */
function arrayOf(parameters: Arrays, name: string): Float32Array {
  const data = parameters.get(name);
  if (data === undefined) throw new RangeError(`no parameter ${name}`);
  return data;
}
