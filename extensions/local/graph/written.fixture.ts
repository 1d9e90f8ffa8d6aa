import type { Graph, Node } from "./graph.ts";

/** A graph as text: its inputs, its nodes and its outputs, without the name of layer 0. A product says what is transposed, and scaled. */
export function written({ inputs, nodes, outputs }: Graph) {
  const shaped = ({ name, shape, type }: Graph["inputs"][number]) =>
    `${short(name)}[${shape.join(", ")}]${type === "float32" ? "" : ` ${type}`}`;
  return { inputs: inputs.map(shaped), nodes: nodes.map(nodeText), outputs: outputs.map(shaped) };
}

const short = (name: string) => name.replace("model.layers.0.", "").replace(/(\w)_(\d+)_0$/, "$1$2");

function nodeText({ op, inputs, outputs, attributes }: Node): string {
  const names = (tensors: typeof inputs) => tensors.map(({ name }) => short(name)).join(", ");
  const said = Object.entries(attributes).filter(([, value]) => value !== false && value !== undefined);
  const options = said.filter(([name, value]) => name !== "alpha" || value !== 1);
  return `${names(outputs)} = ${op}(${names(inputs)})${options.map(([name, value]) => ` ${name}=${JSON.stringify(value)}`).join("")}`;
}
