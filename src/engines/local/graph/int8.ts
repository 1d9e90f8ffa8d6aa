import type { Graph, Node, Tensor } from "./graph.ts";

export const scalesOf = (name: string) => `${name}/scales`;

/** The numbers of a matrix in 8 bits: integers [K, N] and a scale [N] for each column. */
export interface Int8Numbers {
  readonly integers: Int8Array;
  readonly scales: Float32Array;
}

/**
 * Replaces products x·Wᵀ with some of a graph's inputs W by products with 8-bit matrices, which are constants: ONNX Runtime packs them once, where
 * an input is packed in every run. An input that nothing else reads is left out; a tied embedding's rows are read too.
 * @param int8Of by the input's name; undefined for one that is not in 8 bits
 */
export function useInt8Products(g: Graph, int8Of: (name: string) => Int8Numbers | undefined): void {
  const inputs = new Set(g.inputs.map(({ name }) => name));
  const replaced = new Map<string, readonly Tensor[]>();
  const constantsOf = ({ name, shape }: Tensor, { integers, scales }: Int8Numbers) => {
    const [n, k] = shape.map(Number);
    const made = replaced.get(name) ?? [g.constant(integers, [k, n], integersOf(name)), g.constant(scales, [n], scalesOf(name))];
    replaced.set(name, made);
    return made;
  };
  g.nodes.forEach((node, i) => {
    if (!isProduct(node)) return;
    const [x, w] = node.inputs;
    const matrix = inputs.has(w.name) ? int8Of(w.name) : undefined;
    if (matrix === undefined) return;
    g.nodes[i] = { op: "int8Product", inputs: [x, ...constantsOf(w, matrix)], outputs: node.outputs, attributes: {} };
  });
  const read = new Set(g.nodes.flatMap((node) => node.inputs.map(({ name }) => name)));
  for (const name of replaced.keys())
    if (!read.has(name))
      g.inputs.splice(
        g.inputs.findIndex((input) => input.name === name),
        1,
      );
}

export const integersOf = (name: string) => `${name}/int8`;

/** x·Wᵀ */
function isProduct(node: Node): boolean {
  if (node.op !== "matmul") return false;
  const { transA, transB, alpha } = node.attributes as Node<"matmul">["attributes"];
  return !transA && transB && alpha === 1 && node.inputs[1].shape.length === 2;
}
