import type { Graph, Node } from "./graph.ts";
import type { Tensor } from "./tensor.ts";

/**
 * A graph as text: its inputs that are no weights, its nodes and its outputs. Names are without the layer 0, a constant of one number is that number, and
 * attributes are those that say something.
 */
export function written({ inputs, nodes, outputs, constants }: Graph) {
  const numbers = new Map(constants.flatMap(({ tensor, data }) => (data.length === 1 ? [[tensor.name, String(data[0])]] : [])));
  const name = (tensor: Tensor) =>
    numbers.get(tensor.name) ?? tensor.name.replace("model.layers.0.", "").replace(/(\w)_(\d+)_0$/, "$1$2");
  const shaped = (tensor: Tensor) =>
    `${name(tensor)}[${tensor.shape.join(", ")}]${tensor.type === "float32" ? "" : ` ${tensor.type}`}`;
  const line = ({ op, inputs, outputs, attributes }: Node) => {
    const said = Object.entries(attributes).filter(
      ([key, value]) => value !== false && value !== undefined && !(key === "alpha" && value === 1),
    );
    const options = said.map(([key, value]) => ` ${key}=${JSON.stringify(value).replaceAll('"', "")}`);
    return `${outputs.map(name).join(", ")} = ${op}(${inputs.map(name).join(", ")})${options.join("")}`;
  };
  return {
    inputs: inputs.filter((input) => !/\.(weight|bias)$/.test(input.name)).map(shaped),
    nodes: nodes.map(line),
    outputs: outputs.map(shaped),
  };
}
