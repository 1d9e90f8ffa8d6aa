import protobuf from "protobufjs/minimal.js";
import { EngineError } from "../../../src/core/errors.ts";
import { host } from "../../../src/core/host.ts";
import { hasKernel, type Precision, type Provider } from "../machine/device.ts";
import { fuse, inUse } from "./fusions.ts";
import type { Constant, Graph } from "./graph.ts";
import type { Lowering, OnnxAttribute, OnnxNode } from "./operator.ts";
import { ops } from "./ops.ts";
import { roundProducts } from "./precision.ts";
import type { DType, Tensor } from "./tensor.ts";

/** Field numbers and enum values below are those of onnx.proto (IR version 9, opset 18). */
const elementTypes = { float32: 1, uint8: 2, int8: 3, int32: 6, int64: 7 } as const satisfies Record<DType, number>;
const attributeTypes = { float: 1, int: 2, string: 3, ints: 7 } as const;

/**
 * The graph as an ONNX model for a provider, in protobuf. Nodes whose values nothing uses are left out. The event loop turns between what is done to all
 * nodes: thousands, where a model has 30 layers.
 */
export async function serialise(
  graph: Graph,
  provider: Provider = "cpu",
  fewNodes = false,
  precision: Precision = "float32",
): Promise<Uint8Array> {
  await host.nextTurn();
  const lowered = lower(graph, provider);
  await host.nextTurn();
  const plain = fewNodes ? fused(graph, lowered) : lowered.nodes;
  const nodes = precision === "bfloat16" ? roundProducts(plain) : plain;
  await host.nextTurn();
  return writeModel(graph, { nodes, constants: lowered.constants }, graph.outputs);
}

/** The graph as one file, with all of its constants. */
export function serialiseWhole(graph: Graph): Uint8Array {
  return writeModel(graph, lower(graph, "cpu"), graph.outputs, new Set());
}

/** Large constants are beside the model: as part of it they would be copied here, and held twice more while it is read. */
function isBeside({ data }: Constant): boolean {
  return data.byteLength >= 2 ** 16;
}

/** The constants that are beside a model, as a session takes them. */
export function besideModel({ constants }: Graph): { readonly path: string; readonly data: Uint8Array }[] {
  return constants.filter(isBeside).map(({ tensor: { name }, data }) => ({ path: name, data: bytesOf(data) }));
}

function bytesOf({ buffer, byteOffset, byteLength }: Constant["data"]): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength);
}

/** @param outputs ONNX Runtime works out the shape and type of those that have a name alone */
export function writeModel(
  graph: Graph,
  { nodes, constants }: Lowered,
  outputs: readonly (Tensor | Pick<Tensor, "name">)[],
  beside: ReadonlySet<string> = new Set(besideModel(graph).map(({ path }) => path)),
): Uint8Array {
  const model = protobuf.Writer.create();
  model.uint32(8).int64(9); // ir_version
  model.uint32(18).string("retrograde"); // producer_name
  model.uint32(58).fork(); // graph
  for (const [i, node] of nodes.entries()) writeNode(model.uint32(10).fork(), node, i);
  model.uint32(18).string("retrograde");
  for (const constant of constants) writeConstant(model.uint32(42).fork(), constant, beside.has(constant.tensor.name));
  for (const input of graph.inputs) writeValueInfo(model.uint32(90).fork(), input);
  for (const output of outputs) {
    const info = model.uint32(98).fork();
    if ("type" in output) writeValueInfo(info, output);
    else info.uint32(10).string(output.name).ldelim();
  }
  model.ldelim();
  for (const [domain, version] of [
    ["", 18],
    ["com.microsoft", 1],
  ] as const) {
    model.uint32(66).fork().uint32(10).string(domain).uint32(16).int64(version).ldelim(); // opset_import
  }
  return model.finish();
}

export interface Lowered {
  readonly nodes: readonly OnnxNode[];
  readonly constants: readonly Constant[];
}

/** From operators to ONNX nodes, with the constants and size look-ups that they share. */
export function lower(graph: Graph, provider: Provider): Lowered {
  const nodes: OnnxNode[] = [];
  const prelude: OnnxNode[] = [];
  const constants = new Map<string, Constant>(graph.constants.map((c) => [c.tensor.name, c]));
  const sizes = new Map<string, string>();
  /** The first value of each shape. */
  const shaped = new Map<string, string>();
  const remember = ({ shape, name }: Tensor) => {
    if (!shaped.has(shape.join())) shaped.set(shape.join(), name);
  };
  graph.inputs.forEach(remember);
  const known = new Set(graph.inputs.flatMap(({ shape }) => shape));
  let count = 0;
  let of = "";

  const floats: Lowering["floats"] = (data, shape) => {
    const uniform = data.every((x) => x === data[0]);
    const name = uniform ? `float32[${data[0]};${shape.join(",")}]` : `t${count++}`;
    constants.set(name, { tensor: { name, shape, type: "float32" }, data });
    return name;
  };
  const lowering: Lowering = {
    emit: (node) => nodes.push({ ...node, of }),
    node: (type, inputs, attributes, out = `t${count++}`) => {
      nodes.push({ type, inputs, outputs: [out], attributes, of });
      return out;
    },
    temporary: () => `t${count++}`,
    integers: (values) => {
      const name = `int64[${values.join(",")}]`;
      const tensor: Tensor = { name, shape: [values.length], type: "int64" };
      if (!constants.has(name)) constants.set(name, { tensor, data: BigInt64Array.from(values, BigInt) });
      return name;
    },
    floats,
    number: (value) => floats(Float32Array.of(value), [1]),
    has: (kernel) => hasKernel(provider, kernel),
    like: (shape) => shaped.get(shape.join()),
    hasSize: (dim) => known.has(dim),
    size: (dim) => {
      const made = sizes.get(dim);
      if (made) return made;
      const source = graph.inputs.find((input) => input.shape.includes(dim));
      if (!source) throw new EngineError("symbolic size", dim, { expected: "a size of one of the graph's inputs" });
      const axis = source.shape.indexOf(dim);
      const name = `size_${dim}`;
      const attributes = { start: { int: axis }, end: { int: axis + 1 } };
      prelude.push({ type: "Shape", inputs: [source.name], outputs: [name], attributes });
      sizes.set(dim, name);
      return name;
    },
  };
  // A gradient rule also writes down gradients of operands that are not trained.
  const used = inUse(graph.nodes, namesOf(graph.outputs), (node) => ({
    inputs: namesOf(node.inputs),
    outputs: namesOf(node.outputs),
  }));
  for (const { op, inputs, outputs, attributes } of used) {
    of = [op, ...inputs.flatMap(({ name }) => moduleOf(name))].join(" ");
    (ops[op].lower as (to: Lowering, i: readonly Tensor[], o: readonly Tensor[], a: object) => void)(
      lowering,
      inputs,
      outputs,
      attributes,
    );
    outputs.forEach(remember);
  }
  return { nodes: [...prelude, ...nodes], constants: [...constants.values()] };
}

function namesOf(tensors: readonly Tensor[]): string[] {
  return tensors.map(({ name }) => name);
}

/** "q_proj" of "model.layers.3.self_attn.q_proj.weight". */
function moduleOf(name: string): string[] {
  return /^model\.(?:.*\.)?(\w+)\.weight$|^(lm_head)\.weight$/.exec(name)?.slice(1).filter(Boolean) ?? [];
}

/** The nodes of a lowered graph, fewer that compute the same up to rounding. */
function fused(graph: Graph, { nodes, constants }: Lowered): OnnxNode[] {
  const byName = new Map(constants.map((constant) => [constant.tensor.name, constant]));
  const values = [...graph.inputs, ...graph.nodes.flatMap(({ outputs }) => outputs), ...constants.map(({ tensor }) => tensor)];
  const shapes = new Map(values.map(({ name, shape }) => [name, shape]));
  const outputs = new Set(namesOf(graph.outputs));
  // Such as the inverse deviations of norms that are spelled out.
  const read = inUse(nodes, outputs, (node) => node);
  return fuse(read, {
    outputs,
    shapeOf: (name) => shapes.get(name),
    isOnes: (name) => byName.get(name)?.data.every((x) => x === 1) ?? false,
  });
}

/** @param index of the node: names of two must differ */
function writeNode(to: protobuf.Writer, { type, inputs, outputs, attributes = {}, domain, of }: OnnxNode, index: number): void {
  for (const name of inputs) to.uint32(10).string(name);
  for (const name of outputs) to.uint32(18).string(name);
  if (of) to.uint32(26).string(`${of} #${index}`);
  to.uint32(34).string(type);
  for (const [name, value] of Object.entries(attributes)) writeAttribute(to.uint32(42).fork(), name, value);
  to.uint32(58).string(domain ?? "");
  to.ldelim();
}

function writeAttribute(to: protobuf.Writer, name: string, value: OnnxAttribute): void {
  to.uint32(10).string(name);
  if ("float" in value) to.uint32(21).float(value.float).uint32(160).int32(attributeTypes.float);
  else if ("int" in value) to.uint32(24).int64(value.int).uint32(160).int32(attributeTypes.int);
  else if ("string" in value) to.uint32(34).string(value.string).uint32(160).int32(attributeTypes.string);
  else {
    for (const int of value.ints) to.uint32(64).int64(int);
    to.uint32(160).int32(attributeTypes.ints);
  }
  to.ldelim();
}

function writeConstant(to: protobuf.Writer, { tensor, data }: Constant, beside: boolean): void {
  for (const dim of tensor.shape) to.uint32(8).int64(Number(dim));
  to.uint32(16).int32(elementTypes[tensor.type]);
  to.uint32(66).string(tensor.name);
  if (beside) {
    for (const [key, value] of Object.entries({ location: tensor.name, offset: "0", length: String(data.byteLength) }))
      to.uint32(106).fork().uint32(10).string(key).uint32(18).string(value).ldelim(); // external_data
    to.uint32(112).int32(1); // data_location
  } else to.uint32(74).bytes(bytesOf(data));
  to.ldelim();
}

function writeValueInfo(to: protobuf.Writer, { name, shape, type }: Tensor): void {
  to.uint32(10).string(name);
  to.uint32(18).fork().uint32(10).fork(); // type, tensor_type
  to.uint32(8).int32(elementTypes[type]);
  to.uint32(18).fork(); // shape
  for (const dim of shape) {
    to.uint32(10).fork();
    if (typeof dim === "number") to.uint32(8).int64(dim);
    else to.uint32(18).string(dim);
    to.ldelim();
  }
  to.ldelim().ldelim().ldelim();
  to.ldelim();
}
