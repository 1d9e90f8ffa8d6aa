import type { OnnxNode } from "./operator.ts";
import type { Dim } from "./tensor.ts";

/** The facts that the passes have to know of a graph beside its nodes. */
export interface GraphContext {
  /** Names of the outputs. */
  readonly outputs: ReadonlySet<string>;
  /** Returns the shape of a value that the graph knows; what an operator makes inside of itself has none. */
  shapeOf(name: string): readonly Dim[] | undefined;
  /** Whether a value is a constant whose numbers are all 1. */
  isOnes(name: string): boolean;
}

type Pass = (nodes: readonly OnnxNode[], graph: GraphContext) => OnnxNode[];

/** Rewrites nodes into fewer that compute the same up to rounding. With few rows, a node's dispatch takes longer than its arithmetic (research/notes/engine.md). */
export function fuse(nodes: readonly OnnxNode[], graph: GraphContext): OnnxNode[] {
  const passes: readonly Pass[] = [nameOutputs, dropInverses, weighNorms, addInNorms];
  return passes.reduce<OnnxNode[]>((fused, pass) => pass(fused, graph), [...nodes]);
}

/** The nodes that some output depends on, in their order. @param named names of what a node reads and makes */
export function inUse<N>(
  nodes: readonly N[],
  outputs: Iterable<string>,
  named: (node: N) => Pick<OnnxNode, "inputs" | "outputs">,
): N[] {
  const used = new Set(outputs);
  return nodes
    .toReversed()
    .filter((node) => {
      const { inputs, outputs: made } = named(node);
      const needed = made.some((name) => used.has(name));
      if (needed) for (const name of inputs) used.add(name);
      return needed;
    })
    .reverse();
}

/** y = Identity(x), which only gives an output its name: the node that makes x makes y. */
function nameOutputs(nodes: readonly OnnxNode[], { outputs }: GraphContext): OnnxNode[] {
  const made = new Set(nodes.flatMap((node) => node.outputs));
  const names = new Map<string, string>();
  for (const { type, inputs, outputs: named } of nodes)
    if (type === "Identity" && made.has(inputs[0]) && !outputs.has(inputs[0]) && !names.has(inputs[0]))
      names.set(inputs[0], named[0]);
  const rename = (name: string) => names.get(name) ?? name;
  return nodes
    .filter(({ type, inputs, outputs: named }) => type !== "Identity" || names.get(inputs[0]) !== named[0])
    .map((node) => ({ ...node, inputs: node.inputs.map(rename), outputs: node.outputs.map(rename) }));
}

const norm = "SimplifiedLayerNormalization";

/** The deviations that a norm also gives are not made where nothing reads them. */
function dropInverses(nodes: readonly OnnxNode[], graph: GraphContext): OnnxNode[] {
  const uses = countUses(nodes, graph);
  return nodes.map((node) =>
    node.type === norm && uses(node.outputs[1]) === 0 ? { ...node, outputs: node.outputs.slice(0, 1) } : node,
  );
}

/** norm(x)·w with a vector w: the norm takes w itself. */
function weighNorms(nodes: readonly OnnxNode[], graph: GraphContext): OnnxNode[] {
  const uses = countUses(nodes, graph);
  const norms = new Map(nodes.filter(isPlainNorm).map((node) => [node.outputs[0], node]));
  const weighed = new Set<OnnxNode>();
  const fused = nodes.map((node) => {
    if (node.type !== "Mul") return node;
    const [value, weight] = norms.has(node.inputs[0]) ? node.inputs : node.inputs.toReversed();
    const plain = norms.get(value);
    if (plain === undefined || uses(value) !== 1 || !graph.isOnes(plain.inputs[1])) return node;
    if (graph.shapeOf(weight)?.join() !== graph.shapeOf(plain.inputs[1])?.join()) return node;
    weighed.add(plain);
    return { ...plain, inputs: [plain.inputs[0], weight], outputs: node.outputs };
  });
  return fused.filter((node) => !weighed.has(node));
}

/** Fuses norm(a + b), where the sum [rows, tokens, size] is used later too: one kernel for both. */
function addInNorms(nodes: readonly OnnxNode[], graph: GraphContext): OnnxNode[] {
  const sums = new Map(nodes.filter(({ type }) => type === "Add").map((node) => [node.outputs[0], node]));
  const shapeOf = (name: string) => graph.shapeOf(name)?.join();
  const joined = new Set<OnnxNode>();
  const firstRead = new Map<string, number>();
  for (const [index, { inputs }] of nodes.entries())
    for (const name of inputs) if (!firstRead.has(name)) firstRead.set(name, index);
  const fused = nodes.map((node, index) => {
    const sum = isPlainNorm(node) ? sums.get(node.inputs[0]) : undefined;
    if (sum === undefined || joined.has(sum) || graph.outputs.has(sum.outputs[0])) return node;
    const [a, b, total] = [...sum.inputs, ...sum.outputs];
    const whole = graph.shapeOf(total)?.length === 3 && [a, b].every((part) => shapeOf(part) === shapeOf(total));
    if (!whole || (firstRead.get(total) ?? index) < index) return node;
    joined.add(sum);
    return {
      type: "SkipSimplifiedLayerNormalization",
      domain: "com.microsoft" as const,
      inputs: [a, b, node.inputs[1]],
      outputs: [node.outputs[0], "", "", total],
      attributes: { epsilon: node.attributes?.epsilon ?? { float: 0 } },
    };
  });
  return fused.filter((node) => !joined.has(node));
}

function isPlainNorm({ type, outputs }: OnnxNode): boolean {
  return type === norm && outputs.length === 1;
}

/** How often a value is read; being an output counts too. */
function countUses(nodes: readonly OnnxNode[], { outputs }: GraphContext): (name: string) => number {
  const counts = new Map<string, number>();
  for (const name of [...nodes.flatMap(({ inputs }) => inputs), ...outputs]) counts.set(name, (counts.get(name) ?? 0) + 1);
  return (name) => counts.get(name) ?? 0;
}
