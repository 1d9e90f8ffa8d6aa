import type { Graph, Node, Tensor } from "./graph.ts";

export const scalesOf = (name: string) => `${name}/scales`;

/**
 * Replaces products x·Wᵀ with some of a graph's inputs W by products with 8-bit matrices, which become inputs in their place: W's integers
 * [K, N] by its own name, and their scales [N] by `scalesOf` it. An input that something else reads too, as a tied embedding's rows are, stays.
 * @param isQuantised by the input's name
 * @returns names of the inputs that now have integers; that of one which stays gets a suffix, see `integersOf`
 */
export function useInt8Products(g: Graph, isQuantised: (name: string) => boolean): string[] {
  const inputs = new Map(g.inputs.map((input) => [input.name, input]));
  const replaced = new Map<string, { readonly integers: Tensor; readonly scales: Tensor }>();
  const int8Of = ({ name, shape: [n, k] }: Tensor) => {
    const made = replaced.get(name) ?? {
      integers: g.input(integersOf(name), [k, n], "int8"),
      scales: g.input(scalesOf(name), [n]),
    };
    replaced.set(name, made);
    return made;
  };
  g.nodes.forEach((node, i) => {
    if (!isProduct(node)) return;
    const [x, w] = node.inputs;
    if (!inputs.has(w.name) || !isQuantised(w.name)) return;
    const { integers, scales } = int8Of(w);
    g.nodes[i] = { op: "int8Product", inputs: [x, integers, scales], outputs: node.outputs, attributes: {} };
  });
  const read = new Set(g.nodes.flatMap((node) => node.inputs.map(({ name }) => name)));
  for (const name of replaced.keys())
    if (!read.has(name))
      g.inputs.splice(
        g.inputs.findIndex((input) => input.name === name),
        1,
      );
  return [...replaced.keys()];
}

export const integersOf = (name: string) => `${name}/int8`;

/** x·Wᵀ */
function isProduct(node: Node): boolean {
  if (node.op !== "matmul") return false;
  const { transA, transB, alpha } = node.attributes as Node<"matmul">["attributes"];
  return !transA && transB && alpha === 1 && node.inputs[1].shape.length === 2;
}
