import { ConfigError } from "../../../src/core/errors.ts";
import { randomStream } from "../../../src/core/random.ts";
import { Graph } from "../graph/graph.ts";
import { Session } from "../graph/session.ts";
import type { Tensor } from "../graph/tensor.ts";
import type { Arrays } from "./arrays.ts";
import { type Lora, type ModelConfig, parameterShapes } from "./model-config.ts";
import type { GraphModel, Parameters } from "./parameters.ts";

/**
 * LoRA (arXiv:2106.09685, §4.1): the base W [out, in] is frozen, A [r, in] and B [out, r] are trained beside it.
 *
 *   h = W·x + (α/r) · B(A·x)          B = 0 at the start, so that training begins with the base itself
 *
 * Names, initial values and files are those of Hugging Face's PEFT.
 */
export interface LoraSettings {
  readonly rank: number;
  readonly alpha: number;
  /** Modules by the last part of their name, or all linear ones of the layers. */
  readonly targets: "all-linear" | readonly string[];
  /** The number of layers that have an adapter, counted from the last: the backward half ends there. Default: all. */
  readonly layers?: number;
}

/** The name of a matrix of a module's adapter. */
export const matrixOf = (module: string, matrix: "A" | "B") => `${module}.lora_${matrix}.weight`;

const ending = ".weight";

/** The name of the module that a weight belongs to. Undefined for other parameters. */
export function moduleOf(name: string): string | undefined {
  return name.endsWith(ending) ? name.slice(0, -ending.length) : undefined;
}

/** @throws ConfigError naming a target that the model lacks, and the modules that it has, or more layers than it has */
export function resolveLora(config: ModelConfig, { rank, alpha, targets, layers = config.layers }: LoraSettings): Lora {
  if (layers > config.layers)
    throw new ConfigError("lora.layers", layers, { expected: `at most ${config.layers}, the layers of this model` });
  const settings = { rank, alpha, ...(layers < config.layers && { layers }) };
  const linear = linearModules(config).filter(({ name }) => layerOf(name) >= config.layers - layers);
  const modules = [...new Set(linear.map(({ name }) => lastPart(name)))];
  if (targets === "all-linear") return { ...settings, targets: modules };
  const unknown = targets.find((target) => !modules.includes(target));
  if (unknown !== undefined || targets.length === 0) {
    throw new ConfigError("lora.targets", unknown ?? targets, {
      expected: ["all-linear", ...modules],
      hint: "These are the linear modules in the layers of this model.",
    });
  }
  return { ...settings, targets: modules.filter((module) => targets.includes(module)) };
}

/** The first layer that has an adapter; 0 without one. */
export function firstAdapted({ lora, layers }: ModelConfig): number {
  return layers - (lora?.layers ?? layers);
}

/** The configuration as a layer knows it: without an adapter where it has none. */
export function configOfLayer(config: ModelConfig, layer: number): ModelConfig {
  return layer < firstAdapted(config) ? { ...config, lora: undefined } : config;
}

/** Shapes of A and B of every target module, by name; none without an adapter. */
export function adapterShapes(config: ModelConfig): Map<string, readonly number[]> {
  const { lora } = config;
  const shapes = new Map<string, readonly number[]>();
  if (lora === undefined) return shapes;
  for (const { name, outputs, inputs } of linearModules(config)) {
    if (!isAdapted(config, name)) continue;
    shapes.set(matrixOf(name, "A"), [lora.rank, inputs]);
    shapes.set(matrixOf(name, "B"), [outputs, lora.rank]);
  }
  return shapes;
}

/** A uniform in ±1/√in, as PEFT's `kaiming_uniform_(a=√5)`; B zero. */
export function initialiseAdapter(config: ModelConfig, seed: number): Map<string, Float32Array> {
  const parts = initialAdapter(config, seed);
  for (;;) {
    const { done, value } = parts.next();
    if (done) return value;
  }
}

/** The numbers between two pauses: some milliseconds. */
const numbersAtOnce = 2 ** 18;

/** The same with pauses, in which a server may answer others: on a wide model it takes seconds. */
export function* initialAdapter(config: ModelConfig, seed: number): Generator<undefined, Map<string, Float32Array>> {
  const adapter = new Map<string, Float32Array>();
  for (const [name, [rows, columns]] of adapterShapes(config)) {
    const data = new Float32Array(rows * columns);
    adapter.set(name, data);
    if (!name.endsWith(".lora_A.weight")) continue;
    const random = randomStream(seed, "lora", name);
    for (let from = 0; from < data.length; from += numbersAtOnce) {
      const to = Math.min(data.length, from + numbersAtOnce);
      for (let i = from; i < to; i++) data[i] = (2 * random.uniform() - 1) / Math.sqrt(columns);
      yield;
    }
  }
  return adapter;
}

/** The adapter that changes nothing: B zero, so that the base shows. A is shared. */
export function switchedOff<Placed>(
  adapter: ReadonlyMap<string, Placed>,
  shapes: ReadonlyMap<string, readonly number[]>,
): Map<string, Placed | Float32Array> {
  const zeros = (name: string) => new Float32Array((shapes.get(name) ?? []).reduce((product, size) => product * size, 1));
  return new Map([...adapter].map(([name, placed]) => [name, name.endsWith(".lora_B.weight") ? zeros(name) : placed] as const));
}

/** `product` = W·x of a module, with (α/r)·B(A·x) where the module is a target. No matrix of W's size is made, nor its gradient. */
export function addAdapter({ g, config: { lora }, weight }: GraphModel, module: string, x: Tensor, product: Tensor): Tensor {
  if (lora === undefined || !lora.targets.includes(lastPart(module))) return product;
  const low = g.matmul(x, weight(matrixOf(module, "A")), { transB: true });
  return g.add(product, g.matmul(low, weight(matrixOf(module, "B")), { transB: true, alpha: lora.alpha / lora.rank }));
}

/**
 * Looks up W + (α/r)·B·A where it is asked for W. Of constants, ONNX Runtime computes that once, when the session is made: of standard
 * operators, which is why the scale is no attribute of the product.
 */
export function mergedParameters({ g, config, weight }: GraphModel): Parameters {
  const { lora } = config;
  return (name) => {
    const module = moduleOf(name);
    if (lora === undefined || module === undefined || !isAdapted(config, module)) return weight(name);
    const [a, b] = [weight(matrixOf(module, "A")), weight(matrixOf(module, "B"))];
    return g.add(weight(name), g.mul(g.matmul(b, a), g.scalar(lora.alpha / lora.rank)));
  };
}

/** Merges an adapter into its base, matrix by matrix. */
export interface Merger {
  /** Computes W + (α/r)·B·A of a target module. Returns undefined for a parameter without an adapter. */
  merge(name: string, weight: Float32Array): Promise<Float32Array | undefined>;
  close(): Promise<void>;
}

/** @param config with the adapter's settings */
export async function openMerger(config: ModelConfig, lora: Lora, adapter: Arrays): Promise<Merger> {
  const modules = new Map(linearModules(config).map((module) => [`${module.name}.weight`, module]));
  const g = new Graph();
  const [w, a, b] = [g.input("W", ["O", "I"]), g.input("A", [lora.rank, "I"]), g.input("B", ["O", lora.rank])];
  g.output("merged", g.add(w, g.matmul(b, a, { alpha: lora.alpha / lora.rank })));
  const session = await Session.open(g, { threads: 1 });
  return {
    async merge(weightName, W) {
      const { name = "", outputs = 0, inputs = 0 } = modules.get(weightName) ?? {};
      const [A, B] = [adapter.get(matrixOf(name, "A")), adapter.get(matrixOf(name, "B"))];
      if (A === undefined || B === undefined) return undefined;
      const feeds = {
        W: { data: W, shape: [outputs, inputs] },
        A: { data: A, shape: [lora.rank, inputs] },
        B: { data: B, shape: [outputs, lora.rank] },
      };
      return (await session.run(feeds, ["merged"])).merged;
    },
    close: () => session.close(),
  };
}

interface LinearModule {
  /** Such as "model.layers.0.self_attn.q_proj". */
  readonly name: string;
  readonly outputs: number;
  readonly inputs: number;
}

/** The matrices of the layers: not the embedding, and not the output projection, as PEFT's "all-linear". */
export function linearModules(config: ModelConfig): LinearModule[] {
  return [...parameterShapes(config)].flatMap(([name, shape]) =>
    shape.length === 2 && name.startsWith("model.layers.")
      ? [{ name: name.slice(0, -ending.length), outputs: shape[0], inputs: shape[1] }]
      : [],
  );
}

/** @param module by its whole name */
export function isAdapted(config: ModelConfig, module: string): boolean {
  return config.lora?.targets.includes(lastPart(module)) === true && layerOf(module) >= firstAdapted(config);
}

function layerOf(module: string): number {
  return Number(/^model\.layers\.(\d+)\./.exec(module)?.[1] ?? Number.NaN);
}

export function lastPart(name: string): string {
  return name.slice(name.lastIndexOf(".") + 1);
}
