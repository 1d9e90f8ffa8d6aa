import type { Graph, Node } from "./graph.ts";
import type { Tensor } from "./tensor.ts";

export const scalesOf = (name: string) => `${name}/scales`;

/** The numbers of a matrix W [N, K] in 8 bits: integers [K, N] and a scale [N] for each column; or in 4, as `MatMulNBits` takes them. */
export type RoundedNumbers =
  | { readonly bits: 8; readonly integers: Int8Array; readonly scales: Float32Array }
  | { readonly bits: 4; readonly packed: Uint8Array; readonly scales: Float32Array };

/**
 * Replaces products x·Wᵀ with some of a graph's inputs W by products with matrices of 8 or 4 bits, which are constants: ONNX Runtime packs them
 * once, where an input is packed in every run. An input that nothing else reads is left out; a tied embedding's rows are read too.
 * @param roundedOf by the input's name; undefined for one that stays float32
 */
export function useRoundedProducts(g: Graph, roundedOf: (name: string) => RoundedNumbers | undefined): void {
  const inputs = new Set(g.inputs.map(({ name }) => name));
  const replaced = new Map<string, readonly Tensor[]>();
  const constantsOf = ({ name, shape }: Tensor, matrix: RoundedNumbers) => {
    const [n, k] = shape.map(Number);
    const { scales } = matrix;
    const made =
      replaced.get(name) ??
      (matrix.bits === 8
        ? [g.constant(matrix.integers, [k, n], integersOf(name)), g.constant(scales, [n], scalesOf(name))]
        : [
            g.constant(matrix.packed, [n, scales.length / n, matrix.packed.length / scales.length], integersOf(name)),
            g.constant(scales, [scales.length], scalesOf(name)),
          ]);
    replaced.set(name, made);
    return made;
  };
  g.nodes.forEach((node, i) => {
    if (!isProduct(node)) return;
    const [x, w] = node.inputs;
    const matrix = inputs.has(w.name) ? roundedOf(w.name) : undefined;
    if (matrix === undefined) return;
    const [outputs] = w.shape.map(Number);
    const given = { inputs: [x, ...constantsOf(w, matrix)], outputs: node.outputs };
    g.nodes[i] =
      matrix.bits === 8
        ? { op: "int8Product", ...given, attributes: {} }
        : { op: "int4Product", ...given, attributes: { outputs } };
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
