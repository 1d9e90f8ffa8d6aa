import { attentionGradients, differentiate } from "../graph/gradients.ts";
import { Graph } from "../graph/graph.ts";
import type { Tensor } from "../graph/tensor.ts";
import type { LayerType } from "../model/architectures.ts";
import type { Head } from "../model/heads.ts";
import type { ModelConfig } from "../model/model-config.ts";
import type { GraphModel } from "../model/parameters.ts";
import { rotations } from "../model/rotation.ts";
import {
  afterAttention,
  afterMixing,
  attentionScale,
  gatesAndValues,
  type Projection,
  projections,
} from "../model/transformer.ts";
import { gradientOf, numbersOf, weightsOf } from "./training-graph.ts";

/** The parts that a layer is computed in, and the head. Heads are token by token here: [1, T, H, size]. */
export type PartName =
  | { readonly part: "projections"; readonly names: readonly Projection[]; readonly type: LayerType }
  | { readonly part: "after"; readonly type: LayerType }
  | { readonly part: "attention" | "head" };

/** A part's graph. Parameters are inputs, by their name inside of the layer; the head's by their whole name. */
export interface PartGraph {
  readonly graph: Graph;
  /** Parameters that get gradients, by the names of the graph's inputs. */
  readonly trained: readonly string[];
}

export interface PartContext {
  readonly config: ModelConfig;
  readonly head: Head;
  /** Returns the shape of a parameter by the name that the part uses. */
  shapeOf(name: string): readonly number[];
  isTrained(name: string): boolean;
}

export const upstreamOf = (name: string) => `upstream/${name}`;

/** @param backward whether the graph gives gradients instead of values */
export function partGraph(context: PartContext, name: PartName, backward: boolean): PartGraph {
  switch (name.part) {
    case "projections":
      return projectionsGraph(context, name, backward);
    case "attention":
      return attentionGraph(context.config, backward);
    case "after":
      return afterGraph(context, name.type, backward);
    case "head":
      return headGraph(context, backward);
  }
}

/** x [1, T, D] and positions [1, T] → queries, keys or values [1, T, H, size]. */
function projectionsGraph(
  context: PartContext,
  { names, type }: Extract<PartName, { part: "projections" }>,
  backward: boolean,
): PartGraph {
  const { config } = context;
  const g = new Graph();
  const x = g.input("x", [1, "T", config.hiddenSize]);
  const positions = g.input("positions", [1, "T"], "int64");
  const model = lazyModel(g, context);
  const made =
    type === "conv"
      ? convolutionInputs(model, x, names)
      : projections(model, { x, positions }, rotations(g, config)(type), names).map((t) => g.transpose(t, [0, 2, 1, 3]));
  if (!backward) return withOutputs(g, Object.fromEntries(names.map((name, i) => [name, made[i]])));
  const seeds = names.map((name, i) => g.input(upstreamOf(name), made[i].shape));
  return withGradients(context, model, made, seeds, { x });
}

/** The gates take the place of queries, and the values that are added up that of keys, as heads [1, T, 1, D]. */
function convolutionInputs(model: GraphModel, x: Tensor, names: readonly Projection[]): readonly Tensor[] {
  const { c, u } = gatesAndValues(model, x);
  return names.map((name) => model.g.reshape(name === "q" ? c : u, [1, "T", 1, model.config.hiddenSize]));
}

/** Attention of one block: q [1, Q, H, size], k and v [1, S, Hk, size], mask [1, 1, Q, S] → o; backward, o and upstream/o → gradients of q, k, v. */
function attentionGraph(config: ModelConfig, backward: boolean): PartGraph {
  const { heads, kvHeads, headDim } = config;
  const g = new Graph();
  const scale = attentionScale(config);
  const input = (name: string, tokens: string, count: number) =>
    g.transpose(g.input(name, [1, tokens, count, headDim]), [0, 2, 1, 3]);
  const [q, k, v] = [input("q", "Q", heads), input("k", "S", kvHeads), input("v", "S", kvHeads)];
  const mask = g.input("mask", [1, 1, "Q", "S"]);
  const byToken = (t: Tensor) => g.transpose(t, [0, 2, 1, 3]);
  if (!backward) return withOutputs(g, { o: byToken(g.attention(q, k, v, mask, scale)) });
  const [o, dy] = [input("o", "Q", heads), input(upstreamOf("o"), "Q", heads)];
  const p = g.attentionProbabilities(q, k, mask, scale);
  const [dq, dk, dv] = attentionGradients(g, { q, k, v, o, p, scale }, dy).map(byToken);
  return withOutputs(g, { [gradientOf("q")]: dq, [gradientOf("k")]: dk, [gradientOf("v")]: dv });
}

/** A layer's input x [1, T, D] and what attention, or a convolution, made of it, [1, T, H, size] → y [1, T, D]. */
function afterGraph(context: PartContext, type: LayerType, backward: boolean): PartGraph {
  const { config } = context;
  const g = new Graph();
  const x = g.input("x", [1, "T", config.hiddenSize]);
  const convolves = type === "conv";
  const mixed = g.input("o", [1, "T", ...(convolves ? [1, config.hiddenSize] : [config.heads, config.headDim])]);
  const model = lazyModel(g, context);
  const y = convolves
    ? afterMixing(model, "conv.out_proj", x, g.reshape(mixed, [1, "T", config.hiddenSize]))
    : afterAttention(model, x, mixed);
  if (!backward) return withOutputs(g, { y });
  return withGradients(context, model, [y], [g.input(upstreamOf("y"), y.shape)], { x, o: mixed });
}

/** Hidden states x [M, D] of the last layer → the head's numbers. Also those come with the gradients. */
function headGraph(context: PartContext, backward: boolean): PartGraph {
  const { config, head } = context;
  const g = new Graph();
  const x = g.input("x", ["M", config.hiddenSize]);
  const model = lazyModel(g, context);
  const numbers = head.read(model, g.rmsNormalise(x, config.rmsNormEps));
  g.output(numbersOf(0), numbers[0]);
  if (!backward) return { graph: g, trained: [] };
  const weights = numbers.map((_, output) => g.input(weightsOf(output), ["M", 1]));
  return withGradients(context, model, numbers, weights, { x });
}

interface LazyModel extends GraphModel {
  /** The parameters that were asked for. */
  readonly used: ReadonlyMap<string, Tensor>;
}

/** Parameters become inputs when they are first asked for. */
function lazyModel(g: Graph, { config, shapeOf }: PartContext): LazyModel {
  const used = new Map<string, Tensor>();
  const weight = (name: string) => {
    const tensor = used.get(name) ?? g.input(name, shapeOf(name));
    used.set(name, tensor);
    return tensor;
  };
  return { g, config, weight, used };
}

function withOutputs(g: Graph, outputs: Readonly<Record<string, Tensor>>): PartGraph {
  for (const [name, tensor] of Object.entries(outputs)) g.output(name, tensor);
  return { graph: g, trained: [] };
}

/** Adds the gradients of activations and of those parameters that are trained. */
function withGradients(
  { isTrained }: PartContext,
  { g, used }: LazyModel,
  of: readonly Tensor[],
  seeds: readonly Tensor[],
  activations: Readonly<Record<string, Tensor>>,
): PartGraph {
  const trained = [...used].filter(([name]) => isTrained(name));
  const wanted = [...Object.entries(activations), ...trained];
  const gradients = differentiate(
    g,
    of,
    seeds,
    wanted.map(([, tensor]) => tensor),
  );
  wanted.forEach(([name], i) => {
    g.output(gradientOf(name), gradients[i]);
  });
  return { graph: g, trained: trained.map(([name]) => name) };
}
