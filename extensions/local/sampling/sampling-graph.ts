import { requireExactInt8 } from "../graph/exact-int8.ts";
import { Graph } from "../graph/graph.ts";
import { unseen } from "../graph/operator.ts";
import { useRoundedProducts } from "../graph/rounded.ts";
import { type Feed, type FloatValue, Session, type Value } from "../graph/session.ts";
import type { Tensor } from "../graph/tensor.ts";
import { isGpu, type SessionOptions } from "../machine/device.ts";
import { count, DeviceTensor } from "../machine/native/tensor.ts";
import type { Arrays } from "../model/arrays.ts";
import { adapterShapes, mergedParameters } from "../model/lora.ts";
import { type ModelConfig, parameterCount, parameterShapes } from "../model/model-config.ts";
import { rotationFeeds } from "../model/rotation.ts";
import { type RoundedMatrices, roundedOf } from "../model/rounded.ts";
import { type Attend, attentionScale, decoder, type LookBack, parametersOf, typeOf, unembed } from "../model/transformer.ts";
import { ScratchArrays } from "../training/scratch.ts";
import type { Chosen } from "./choose.ts";
import type { DeviceSlotMemory } from "./device-slots.ts";
import type { DeviceWeights } from "./device-weights.ts";
import type { Entries, NewEntries } from "./entries.ts";

/**
 * One step of sampling: R rows take C new tokens each, attend to S cached ones, and give the distributions of what follows D of the
 * new tokens. Serves prompts (C large) and decoding (C = 1) alike. Weights are constants here: ONNX Runtime folds and
 * pre-packs them, which makes products of few rows about twice as fast, and the session is recreated after an update. The weights
 * of a large model are inputs: constants would be held three times over, and a session cannot have more than 2 GiB of them. Matrices in 8 or 4
 * bits are constants again, held once more as ONNX Runtime packs them.
 */
export interface StepInputs {
  readonly rows: number;
  readonly chunk: number;
  readonly cached: number;
  /** [R, C] */
  readonly tokens: Int32Array;
  /** [R, C] */
  readonly positions: BigInt64Array;
  /** [R, 1, 1, C, S + C] */
  readonly mask: Float32Array;
  /** Per layer [R, Hk, 1, S, size]. */
  readonly keys: Entries["keys"];
  readonly values: Entries["values"];
  /** [D]: flat indices (row · C + position) of the new tokens whose distributions are read, one row's behind another's. */
  readonly read: Int32Array;
  /** [D, 1] */
  readonly inverseTemperatures: Float32Array;
}

export interface StepOutputs {
  /** [D, V]: softmax(logits / temperature). Where lines are drawn already, of those that are not. */
  readonly probabilities: Float32Array;
  /** [D, V]; only where asked for. */
  readonly logits: Float32Array | undefined;
  /** [D]: entropy of `probabilities` in nats. */
  readonly entropies: Float32Array;
  /** Per layer [R, Hk, C, size]; undefined where the step has put them into the slots itself. */
  readonly made: NewEntries | undefined;
  /** Where the step has drawn itself. */
  readonly drawn?: {
    /** Its token of each line; undefined for one that is to be drawn of its probabilities. */
    readonly chosen: readonly (Chosen | undefined)[];
    /** Where a line's probabilities and logits are. */
    readonly lineOf: ReadonlyMap<number, number>;
  };
}

/** Products, parameters times tokens, of a step that the event loop waits for: another thread costs as much as a tenth of a millisecond. */
const shortProducts = 1e8;

/** Weights of this many bytes are inputs, smaller ones constants. */
const largeBytes = 512 * 2 ** 20;

/** Whether the weights of a sampler are inputs. @param set as somebody has set it */
export function areInputs(weightBytes: number, set?: boolean): boolean {
  return set ?? weightBytes >= largeBytes;
}

export interface SamplingOptions extends SessionOptions {
  /** Whether weights are inputs; decided by their size if left out. Those beside rounded matrices always are. */
  readonly weightsAsInputs?: boolean;
  /** The precision that the matrices are rounded to. Default "float32". */
  readonly weights?: SamplerWeights;
  /** Matrices that are in 8 or 4 bits already, by name; "int8" rounds all others. */
  readonly rounded?: RoundedMatrices;
  /** Weights and memory on the provider's device: what a step over prompts reads and makes stays there. */
  readonly device?: {
    readonly weights: DeviceWeights;
    readonly memory: DeviceSlotMemory;
  };
}

export type SamplerWeights = "float32" | "int8";

export class SamplingGraph {
  readonly #session: Session;
  readonly #config: ModelConfig;
  readonly #parameters: number;
  readonly #isOnGpu: boolean;
  /** Those that are inputs. */
  readonly #weights: Readonly<Record<string, Value>>;
  readonly #device: SamplingOptions["device"];
  readonly #kept = new ScratchArrays<string>();

  private constructor(
    session: Session,
    config: ModelConfig,
    weights: Readonly<Record<string, Value>>,
    { device, provider = "cpu" }: SamplingOptions,
  ) {
    this.#session = session;
    this.#config = config;
    this.#parameters = parameterCount(config);
    this.#weights = weights;
    this.#device = device;
    this.#isOnGpu = isGpu(provider);
  }

  static async open(config: ModelConfig, parameters: Arrays, options: SamplingOptions): Promise<SamplingGraph> {
    if (options.device !== undefined) return SamplingGraph.#onDevice(config, options);
    const bytes = [...parameters.values()].reduce((sum, { byteLength }) => sum + byteLength, 0);
    if (options.weights === "int8") await requireExactInt8(options);
    const rounded = options.weights === "int8" ? roundedOf(config, parameters, options.rounded) : undefined;
    const weightsAsInputs = rounded !== undefined || areInputs(bytes, options.weightsAsInputs);
    const weights = new Map<string, Value>();
    for (const [name, shape] of [...parameterShapes(config), ...adapterShapes(config)]) {
      const data = parameters.get(name);
      // A rounded matrix has no other form, unless its rows are read too.
      if (data !== undefined) weights.set(name, { data, shape, constant: true });
      else if (!rounded?.has(name)) throw new RangeError(`no parameter ${name}`);
      else weights.set(name, { data: new Float32Array(0), shape });
    }
    const graph = samplingGraph(config, weights, { weightsAsInputs });
    const feeds = weightsAsInputs ? Object.fromEntries(weights) : {};
    if (rounded !== undefined) {
      useRoundedProducts(graph, (name) => rounded.get(name));
      const taken = new Set(graph.inputs.map((input) => input.name));
      for (const name of Object.keys(feeds)) if (!taken.has(name)) delete feeds[name];
    }
    const session = await Session.open(graph, { ...options, fewNodes: true });
    return new SamplingGraph(session, config, feeds, options);
  }

  /** Opens the steps over prompts of a model on a device, with its adapter merged. */
  static async #onDevice(config: ModelConfig, options: SamplingOptions): Promise<SamplingGraph> {
    const merged = { ...config, lora: undefined };
    const none = new Float32Array(0);
    const weights = new Map([...parameterShapes(merged)].map(([name, shape]): [string, Value] => [name, { data: none, shape }]));
    const session = await Session.open(samplingGraph(merged, weights, { weightsAsInputs: true }), { ...options, fewNodes: true });
    return new SamplingGraph(session, merged, {}, options);
  }

  /**
   * @param options.logits whether raw logits are asked for
   * @param options.place of a step over one token a row: its outputs are valid until the next such step of the same place
   */
  async step(
    inputs: StepInputs,
    { logits, place = 0 }: { readonly logits: boolean; readonly place?: number },
  ): Promise<StepOutputs> {
    const { rows, chunk, cached, read } = inputs;
    const { layers, kvHeads, headDim, hiddenSize, vocabSize, window } = this.#config;
    const maskShape = [rows, 1, 1, chunk, cached + chunk];
    const cacheShape = [rows, kvHeads, 1, cached, headDim];
    const allLayers = Array.from({ length: layers }, (_, layer) => layer);
    const attending = allLayers.filter((layer) => typeOf(this.#config, layer) !== "conv");
    const cache = (name: string, all: Entries["keys"]) =>
      attending.map((layer) => {
        const data = all[layer];
        return [`${name}${layer}`, data instanceof Float32Array ? { data, shape: cacheShape } : data];
      });
    const feeds = {
      ...this.#weights,
      ...this.#device?.weights.tensors,
      tokens: { data: inputs.tokens, shape: [rows, chunk] },
      positions: { data: inputs.positions, shape: [rows, chunk] },
      mask: { data: inputs.mask, shape: maskShape },
      ...(window !== undefined && { windowMask: { data: windowMask(inputs, window), shape: maskShape } }),
      read: { data: read, shape: [read.length] },
      inverseTemperatures: { data: inputs.inverseTemperatures, shape: [read.length, 1] },
      ...rotationFeeds(this.#config, cached + chunk),
      ...lookBackFeeds(this.#config, inputs),
      ...Object.fromEntries([...cache("keys", inputs.keys), ...cache("values", inputs.values)]),
    };
    const entry = (size: number) => [rows, kvHeads, chunk, size];
    const shapes: Record<string, readonly number[]> = {
      probabilities: [read.length, vocabSize],
      entropies: [read.length],
      ...Object.fromEntries(
        allLayers.map((layer) => [`newKeys${layer}`, entry(attending.includes(layer) ? headDim : hiddenSize / kvHeads)]),
      ),
      ...Object.fromEntries(attending.map((layer) => [`newValues${layer}`, entry(headDim)])),
      ...(logits && { logits: [read.length, vocabSize] }),
    };
    const made = this.#device?.memory.scratch("new", entry(headDim));
    const outputs = await this.#run(feeds, shapes, made, { isDecoding: chunk === 1, place, short: this.#isShort(inputs) });
    return {
      probabilities: outputs.probabilities,
      logits: logits ? outputs.logits : undefined,
      entropies: outputs.entropies,
      made: {
        chunk,
        ...(made ?? {
          keys: allLayers.map((layer) => outputs[`newKeys${layer}`]),
          values: allLayers.map((layer) => outputs[`newValues${layer}`] ?? new Float32Array()),
        }),
      },
    };
  }

  /**
   * A decoding step is written into arrays that are kept from step to step: new ones for each would wait for the garbage collector.
   * @param made where keys and values stay on the device
   */
  async #run(
    feeds: Readonly<Record<string, Feed>>,
    shapes: Readonly<Record<string, readonly number[]>>,
    made: Entries | undefined,
    { isDecoding, place, short }: { readonly isDecoding: boolean; readonly place: number; readonly short: boolean },
  ): Promise<Record<string, Float32Array>> {
    if (made === undefined && !isDecoding) return this.#session.run(feeds, Object.keys(shapes), { short });
    const named = (prefix: string, entries: Entries["keys"]) =>
      entries.map((entry, layer): [string, typeof entry] => [`${prefix}${layer}`, entry]);
    const there = new Map(made && [...named("newKeys", made.keys), ...named("newValues", made.values)]);
    const into: Record<string, FloatValue | DeviceTensor> = {};
    for (const [name, shape] of Object.entries(shapes)) {
      const tensor = there.get(name);
      const array = () => (made ? new Float32Array(count(shape)) : this.#kept.get(`${name} ${place}`, count(shape)));
      into[name] = tensor instanceof DeviceTensor ? tensor : { data: array(), shape };
    }
    await this.#session.runInto(feeds, into, { short });
    return Object.fromEntries(
      Object.entries(into).flatMap(([name, value]) => (value instanceof DeviceTensor ? [] : [[name, value.data]])),
    );
  }

  /** Whether a step takes a few milliseconds of a core. */
  #isShort({ rows, chunk }: StepInputs): boolean {
    return !this.#isOnGpu && rows * chunk * this.#parameters < shortProducts;
  }

  async close(): Promise<void> {
    await this.#session.forget(this.#weights);
    await this.#session.close();
  }
}

/**
 * The mask of layers whose queries see no more than a window: cached tokens are stored in the order of their positions, and a new one's is given.
 * @returns the same array where nothing is out of any window
 */
function windowMask({ rows, chunk, cached, positions, mask }: StepInputs, window: number): Float32Array {
  if (positions.every((position) => position < window)) return mask;
  const narrow = mask.slice();
  const width = cached + chunk;
  for (let line = 0; line < rows * chunk; line++) {
    const first = Number(positions[line]) - window + 1;
    if (first <= 0) continue;
    narrow.fill(unseen, line * width, line * width + Math.min(first, cached));
    const row = line - (line % chunk);
    for (let c = 0; c < chunk; c++) if (Number(positions[row + c]) < first) narrow[line * width + cached + c] = unseen;
  }
  return narrow;
}

/** Looks back from new tokens to the ones before them, and behind the first to what was added up last: `state` [R, L − 1, D] of each layer. */
function lookBackInputs(g: Graph, { convKernel = 1, kvHeads, hiddenSize }: ModelConfig): LookBack {
  const before = convKernel - 1;
  const indices = Array.from({ length: before }, (_, d) => g.input(`back${d + 1}`, ["R", "C"], "int32"));
  return (layer, u) => {
    const heads = g.reshape(u, ["R", "C", kvHeads, hiddenSize / kvHeads]);
    g.output(`newKeys${layer}`, g.transpose(heads, [0, 2, 1, 3]));
    const state = g.input(`state${layer}`, ["R", before, hiddenSize]);
    const flat = g.reshape(g.concat([state, u], 1), ["R*(L+C)", hiddenSize]);
    return indices.map((index) => g.gather(flat, index));
  };
}

function lookBackFeeds(config: ModelConfig, { rows, chunk, cached, positions, keys }: StepInputs): Record<string, Value> {
  const { convKernel, kvHeads, hiddenSize } = config;
  const feeds: Record<string, Value> = {};
  if (convKernel === undefined) return feeds;
  const before = convKernel - 1;
  for (let distance = 1; distance <= before; distance++) {
    const indices = Int32Array.from({ length: rows * chunk }, (_, index) => {
      const [row, token] = [Math.floor(index / chunk), index % chunk];
      return row * (before + chunk) + before + token - distance;
    });
    feeds[`back${distance}`] = { data: indices, shape: [rows, chunk] };
  }
  const size = hiddenSize / kvHeads;
  keys.forEach((layerKeys, layer) => {
    if (typeOf(config, layer) !== "conv" || !(layerKeys instanceof Float32Array)) return;
    const state = new Float32Array(rows * before * hiddenSize);
    for (let row = 0; row < rows; row++)
      for (let d = 0; d < before; d++) {
        const token = Number(positions[row * chunk]) - before + d; // cached tokens are stored in the order of their positions
        if (token < 0) continue;
        for (let head = 0; head < kvHeads; head++) {
          const from = ((row * kvHeads + head) * cached + token) * size;
          state.set(layerKeys.subarray(from, from + size), (row * before + d) * hiddenSize + head * size);
        }
      }
    feeds[`state${layer}`] = { data: state, shape: [rows, before, hiddenSize] };
  });
  return feeds;
}

export function samplingGraph(
  model: ModelConfig,
  parameters: ReadonlyMap<string, Value>,
  { weightsAsInputs }: { readonly weightsAsInputs: boolean },
): Graph {
  const g = new Graph();
  const weights = new Map<string, Tensor>();
  for (const [name, { data, shape }] of parameters)
    weights.set(name, weightsAsInputs ? g.input(name, shape) : g.constant(data, shape, name));
  // Arithmetic of constants is done once, when the session is made: then an adapter costs nothing for a token. Of inputs it is not.
  const found = parametersOf(weights);
  const weight = weightsAsInputs ? found : mergedParameters({ g, config: model, weight: found });
  const config = weightsAsInputs ? model : { ...model, lora: undefined };
  const built = { g, config, weight, foldNorms: !weightsAsInputs };
  const { kvHeads, headDim, hiddenSize } = config;
  const tokens = g.input("tokens", ["R", "C"], "int32");
  const positions = g.input("positions", ["R", "C"], "int64");
  const mask = g.input("mask", ["R", 1, 1, "C", "S+C"]);
  const windowed = config.window === undefined ? mask : g.input("windowMask", mask.shape);
  const read = g.input("read", ["D"], "int32");
  const inverseTemperatures = g.input("inverseTemperatures", ["D", 1]);

  const scale = attentionScale(config);
  const attend: Attend = (layer, q, k, v) => {
    const cachedKeys = g.input(`keys${layer}`, ["R", kvHeads, 1, "S", headDim]);
    const cachedValues = g.input(`values${layer}`, ["R", kvHeads, 1, "S", headDim]);
    g.output(`newKeys${layer}`, k);
    g.output(`newValues${layer}`, v);
    const seen = typeOf(config, layer) === "sliding" ? windowed : mask;
    return g.apply("cachedAttention", [q, k, v, cachedKeys, cachedValues, seen], { scale })[0];
  };
  const hidden = decoder(built, { tokens, positions }, attend, { lookBack: lookBackInputs(g, config) });
  const logits = unembed(built, g.gather(g.reshape(hidden, ["R*C", hiddenSize]), read));
  g.output("logits", logits);
  const tempered = g.mul(logits, inverseTemperatures);
  const probabilities = g.softmax(tempered);
  g.output("probabilities", probabilities);
  // H = −Σ p·log p, by the log softmax so that p = 0 adds 0 and not NaN.
  g.output("entropies", g.neg(g.sum(g.mul(probabilities, g.apply("logSoftmax", [tempered], {})[0]), [1], false)));
  return g;
}
