import { type Feed, type FloatValue, Session } from "../graph/session.ts";
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

export type LayerParts = ReturnType<typeof layerParts>;

/**
 * The sessions of a model's parts. All layers of a type have the same shapes and weights are inputs, so one session for each part and
 * direction serves all of them; it is opened when it is first used.
 */
export function layerParts(
  config: ModelConfig,
  head: Head,
  arrays: ScratchArrays,
  { trained: some, rounded = new Map(), ...sessionOptions }: LayerPartsOptions,
) {
  const shapes = head.parameterShapes(config);
  const trained: ReadonlySet<string> = new Set(some ?? shapes.keys());
  const parts = new Map<string, Promise<Part>>();
  /** Which layer's matrix an array of float32 holds, by the name inside of the layer. */
  const dequantised = new Map<string, string>();

  /** A part's parameters have the shapes of any layer that it serves. */
  const open = async (name: PartName, backward: boolean, served: number): Promise<Part> => {
    const whole = (parameter: string) => nameIn(name.part === "head" ? undefined : served, parameter);
    const context: PartContext = {
      config: configOfLayer(config, served),
      head,
      shapeOf: (parameter) => shapes.get(whole(parameter)) ?? [],
      isTrained: (parameter) => trained.has(whole(parameter)),
    };
    const { graph, trained: learned } = partGraph(context, name, backward);
    // A layer's memory is wanted again at once. The head's is as much, and serves a few runs of a pass.
    const memory = { keepMemory: name.part !== "head", planMemory: false };
    const session = await Session.open(graph, { ...sessionOptions, ...memory });
    return { session, inputs: graph.inputs.map((input) => input.name), trained: learned };
  };

  /** Returns the matrix in float32, which it is until another layer's is asked for. Returns undefined for what is not rounded. */
  const dequantisedOf = (name: string, whole: string): Float32Array | undefined => {
    const matrix = rounded.get(whole);
    if (matrix === undefined) return undefined;
    const into = arrays.get(`dequantised/${name}`, matrix.outputs * matrix.inputs);
    if (dequantised.get(name) !== whole) dequantise(matrix, into);
    dequantised.set(name, whole);
    return into;
  };

  return {
    /** Names of the parameters that get gradients. */
    trained,

    /** @param layer which one is served; left out for attention and the head */
    get(name: PartName, backward: boolean, layer = config.layers - 1): Promise<Part> {
      const key = JSON.stringify([name, backward, layer >= firstAdapted(config)]);
      const part = parts.get(key) ?? open(name, backward, layer);
      parts.set(key, part);
      return part;
    },

    /** Returns the parameters that a part takes. @param layer undefined for the head */
    parameterFeeds({ inputs }: Part, parameters: Placed, layer?: number): Record<string, Feed> {
      const feeds: Record<string, Feed> = {};
      for (const name of inputs) {
        const whole = nameIn(layer, name);
        const placed = parameters.get(whole) ?? dequantisedOf(name, whole);
        if (placed !== undefined) feeds[name] = shaped(placed, shapes.get(whole), !trained.has(whole));
      }
      return feeds;
    },

    /** Runs a backward half and adds the gradients of the part's parameters. @param layer undefined for the head */
    async runBackward(
      { session, trained: learned }: Part,
      layer: number | undefined,
      gradients: GradientSums,
      feeds: Readonly<Record<string, Feed>>,
      activations: Readonly<Record<string, FloatValue>>,
    ): Promise<void> {
      const into: Record<string, FloatValue | DeviceTensor> = { ...activations };
      for (const name of learned) {
        const target = gradients.target(nameIn(layer, name), (length) => arrays.get(gradientOf(name), length));
        into[gradientOf(name)] = shaped(target, shapes.get(nameIn(layer, name)));
      }
      await session.runInto(feeds, into);
      await gradients.add(learned.map((name) => nameIn(layer, name)));
    },

    async close(): Promise<void> {
      for (const part of parts.values()) await (await part).session.close();
      parts.clear();
      dequantised.clear();
    },
  };
}

/** The whole name of a parameter. @param layer undefined for the head, whose names are whole */
export function nameIn(layer: number | undefined, name: string): string {
  return layer === undefined ? name : `model.layers.${layer}.${name}`;
}
