import type { OnnxNode } from "./operator.ts";

/** Operators that multiply matrices of floats. */
const products: ReadonlySet<string> = new Set(["MatMul", "Gemm", "FusedMatMul"]);
/** Numbers of element types in onnx.proto. */
const [float32, bfloat16] = [1, 16];

/** Has products computed in bfloat16: their factors are rounded, each once, and what comes out is float32 again for all that follows. */
export function roundProducts(nodes: readonly OnnxNode[]): OnnxNode[] {
  const rounded = new Map<string, string>();
  const made: OnnxNode[] = [];
  const cast = (name: string): string => {
    const known = rounded.get(name);
    if (known !== undefined) return known;
    const output = `${name}/bfloat16`;
    made.push({ type: "Cast", inputs: [name], outputs: [output], attributes: { to: { int: bfloat16 } } });
    rounded.set(name, output);
    return output;
  };
  for (const node of nodes) {
    if (!products.has(node.type) || node.exact) {
      made.push(node);
      continue;
    }
    const [output] = node.outputs;
    const product = `${output}/product`;
    made.push({ ...node, inputs: node.inputs.map(cast), outputs: [product] });
    made.push({ type: "Cast", inputs: [product], outputs: [output], attributes: { to: { int: float32 } } });
  }
  return made;
}
