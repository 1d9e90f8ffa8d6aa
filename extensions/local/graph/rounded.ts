import type { Graph, Node } from "./graph.ts";
import { int4Block } from "./products.ts";
import type { Tensor } from "./tensor.ts";

export const scalesOf = (name: string) => `${name}/scales`;

/**
 * A matrix W [outputs, inputs] in 8 bits: W[o, i] ≈ integers[i, o] · scales[o]. Each output has a scale of its own, the largest of its
 * magnitudes over 127. Transposed, as integer products take it.
 */
export interface Int8Matrix {
  readonly bits: 8;
  readonly outputs: number;
  readonly inputs: number;
  /** [inputs, outputs], −127 to 127. */
  readonly integers: Int8Array;
  /** [outputs] */
  readonly scales: Float32Array;
}

/**
 * A matrix W [outputs, inputs] in 4 bits: W[o, i] ≈ (q − 8)·scale with q from 0 to 15, and a scale for every 32 inputs of an output. In the
 * layout of ONNX Runtime's `MatMulNBits`.
 */
export interface Int4Matrix {
  readonly bits: 4;
  readonly outputs: number;
  readonly inputs: number;
  /** [outputs, blocks, 16]: two inputs a byte, the first in its lower half. */
  readonly packed: Uint8Array;
  /** [outputs, blocks] */
  readonly scales: Float32Array;
}

/** A matrix in fewer bits than float32 has. */
export type RoundedMatrix = Int8Matrix | Int4Matrix;

/**
 * Replaces products x·Wᵀ with some of a graph's inputs W by products with matrices of 8 or 4 bits, which are constants: ONNX Runtime packs them
 * once, where an input is packed in every run. An input that nothing else reads is left out; a tied embedding's rows are read too.
 * @param roundedOf by the input's name; undefined for one that stays float32
 */
export function useRoundedProducts(g: Graph, roundedOf: (name: string) => RoundedMatrix | undefined): void {
  const inputs = new Set(g.inputs.map(({ name }) => name));
  const replaced = new Map<string, readonly Tensor[]>();
  const constantsOf = (name: string, { scales, outputs, inputs, ...matrix }: RoundedMatrix) => {
    const integers =
      matrix.bits === 8
        ? g.constant(matrix.integers, [inputs, outputs], integersOf(name))
        : g.constant(matrix.packed, [outputs, scales.length / outputs, int4Block / 2], integersOf(name));
    return [integers, g.constant(scales, [scales.length], scalesOf(name))];
  };
  g.nodes.forEach((node, i) => {
    if (!isProduct(node)) return;
    const [x, w] = node.inputs;
    const matrix = inputs.has(w.name) ? roundedOf(w.name) : undefined;
    if (matrix === undefined) return;
    const constants = replaced.get(w.name) ?? constantsOf(w.name, matrix);
    replaced.set(w.name, constants);
    const given = { inputs: [x, ...constants], outputs: node.outputs };
    g.nodes[i] =
      matrix.bits === 8
        ? { op: "int8Product", ...given, attributes: {} }
        : { op: "int4Product", ...given, attributes: { outputs: matrix.outputs } };
  });
  const read = new Set(g.nodes.flatMap((node) => node.inputs.map(({ name }) => name)));
  for (const name of replaced.keys()) if (!read.has(name)) g.dropInput(name);
}

/** The name of a matrix's integers, in either form. */
export const integersOf = (name: string) => `${name}/integers`;

/** x·Wᵀ */
function isProduct(node: Node): boolean {
  if (node.op !== "matmul") return false;
  const { transA, transB, alpha } = node.attributes as Node<"matmul">["attributes"];
  return !transA && transB && alpha === 1 && node.inputs[1].shape.length === 2;
}
