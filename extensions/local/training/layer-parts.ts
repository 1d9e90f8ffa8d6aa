import { type Feed, type FloatValue, Session } from "../graph/session.ts";
import type { SessionOptions } from "../machine/device.ts";
import type { DeviceTensor } from "../machine/native/tensor.ts";
import type { Head } from "../model/heads.ts";
import { configOfLayer, firstAdapted } from "../model/lora.ts";
import type { ModelConfig } from "../model/model-config.ts";
import { dequantise, type RoundedMatrices } from "../model/rounded.ts";
import type { GradientSums } from "./gradient-sums.ts";
import { type PartContext, type PartName, partGraph } from "./layer-graphs.ts";
import type { Placed } from "./parameter-store.ts";
import type { ScratchArrays } from "./scratch.ts";
import { gradientOf, shaped, type TrainingGraphOptions } from "./training-graph.ts";

/** A part of a layer, or the head, that is ready to run in one direction. */
export interface Part {
  readonly session: Session;
  readonly inputs: readonly string[];
  readonly trained: readonly string[];
}

export interface LayerPartsOptions extends TrainingGraphOptions {
  /** Frozen matrices of the layers in fewer bits: one layer's at a time are float32. */
  readonly rounded?: RoundedMatrices;
}

/**
 * The sessions of a model's parts. All layers of a type have the same shapes and weights are inputs, so one session for each part and
 * direction serves all of them; it is opened when it is first used.
 */
export class LayerParts {
  /** Names of the parameters that get gradients. */
  readonly trained: ReadonlySet<string>;
  readonly #config: ModelConfig;
  readonly #head: Head;
  readonly #arrays: ScratchArrays;
  readonly #shapes: ReadonlyMap<string, readonly number[]>;
  readonly #sessionOptions: SessionOptions;
  readonly #rounded: RoundedMatrices;
  /** Which layer's matrix an array of float32 holds, by the name inside of the layer. */
  readonly #dequantised = new Map<string, string>();
  readonly #parts = new Map<string, Promise<Part>>();

  constructor(
    config: ModelConfig,
    head: Head,
    arrays: ScratchArrays,
    { trained, rounded = new Map(), ...sessionOptions }: LayerPartsOptions,
  ) {
    this.#config = config;
    this.#head = head;
    this.#arrays = arrays;
    this.#shapes = head.parameterShapes(config);
    this.trained = new Set(trained ?? this.#shapes.keys());
    this.#sessionOptions = sessionOptions;
    this.#rounded = rounded;
  }

  /** @param layer which one is served; left out for attention and the head */
  get(name: PartName, backward: boolean, layer = this.#config.layers - 1): Promise<Part> {
    const adapted = layer >= firstAdapted(this.#config);
    const of = [name.part, "type" in name ? name.type : "", "names" in name ? name.names.join() : "", backward ? "backward" : ""];
    const key = [...of, adapted].join(" ");
    const open = async () => {
      const { graph, trained } = partGraph(this.#context(name, layer), name, backward);
      // A layer's memory is wanted again at once. The head's is as much, and serves a few runs of a pass.
      const memory = { keepMemory: name.part !== "head", planMemory: false };
      const session = await Session.open(graph, { ...this.#sessionOptions, ...memory });
      return { session, inputs: graph.inputs.map((input) => input.name), trained };
    };
    const part = this.#parts.get(key) ?? open();
    this.#parts.set(key, part);
    return part;
  }

  /** Returns the parameters that a part takes. @param layer undefined for the head */
  parameterFeeds({ inputs }: Part, parameters: Placed, layer?: number): Record<string, Feed> {
    const feeds: Record<string, Feed> = {};
    for (const name of inputs) {
      const whole = nameIn(layer, name);
      const placed = parameters.get(whole) ?? this.#dequantise(name, whole);
      if (placed !== undefined) feeds[name] = shaped(placed, this.#shapes.get(whole), !this.trained.has(whole));
    }
    return feeds;
  }

  /** Runs a backward half and adds the gradients of the part's parameters. @param layer undefined for the head */
  async runBackward(
    { session, trained }: Part,
    layer: number | undefined,
    gradients: GradientSums,
    feeds: Readonly<Record<string, Feed>>,
    activations: Readonly<Record<string, FloatValue>>,
  ): Promise<void> {
    const into: Record<string, FloatValue | DeviceTensor> = { ...activations };
    for (const name of trained) {
      const target = gradients.target(nameIn(layer, name), (length) => this.#arrays.get(gradientOf(name), length));
      into[gradientOf(name)] = shaped(target, this.#shapes.get(nameIn(layer, name)));
    }
    await session.runInto(feeds, into);
    await gradients.add(trained.map((name) => nameIn(layer, name)));
  }

  async close(): Promise<void> {
    for (const part of this.#parts.values()) await (await part).session.close();
    this.#parts.clear();
    this.#dequantised.clear();
  }

  /** Returns the matrix in float32, which it is until another layer's is asked for. Returns undefined for what is not rounded. */
  #dequantise(name: string, whole: string): Float32Array | undefined {
    const matrix = this.#rounded.get(whole);
    if (matrix === undefined) return undefined;
    const into = this.#arrays.get(`dequantised/${name}`, matrix.outputs * matrix.inputs);
    if (this.#dequantised.get(name) !== whole) dequantise(matrix, into);
    this.#dequantised.set(name, whole);
    return into;
  }

  /** A part's parameters have the shapes of any layer that it serves. */
  #context(name: PartName, served: number): PartContext {
    const layer = name.part === "head" ? undefined : served;
    return {
      config: configOfLayer(this.#config, served),
      head: this.#head,
      shapeOf: (parameter) => this.#shapes.get(nameIn(layer, parameter)) ?? [],
      isTrained: (parameter) => this.trained.has(nameIn(layer, parameter)),
    };
  }
}

/** The whole name of a parameter. @param layer undefined for the head, whose names are whole */
export function nameIn(layer: number | undefined, name: string): string {
  return layer === undefined ? name : `model.layers.${layer}.${name}`;
}
