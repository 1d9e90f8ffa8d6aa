/** A size known when the graph is built, or the name of one that is known when it runs ("B" rows, "T" tokens …). */
export type Dim = number | string;
export type DType = "float32" | "int32" | "int64" | "int8" | "uint8";

/** A value in a graph: a name, a shape, and the node that makes it (none for inputs, parameters and constants). */
export interface Tensor {
  readonly name: string;
  readonly shape: readonly Dim[];
  readonly type: DType;
}
