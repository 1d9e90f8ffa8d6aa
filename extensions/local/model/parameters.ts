import type { Graph } from "../graph/graph.ts";
import type { Tensor } from "../graph/tensor.ts";
import type { ModelConfig } from "./model-config.ts";

/** A parameter by its Hugging Face name. */
export type Parameters = (name: string) => Tensor;

/** A model, or one layer of it, in a graph that computes it. */
export interface GraphModel {
  readonly g: Graph;
  readonly config: ModelConfig;
  /** Weights by name: of a layer, by the name inside of it. */
  readonly weight: Parameters;
  /**
   * Whether the weights of norms go into the matrices that follow, and matrices with the same input are joined. Free where weights are
   * constants; where they are inputs, it pays if a matrix has fewer rows than there are tokens.
   */
  readonly foldNorms?: boolean;
}
