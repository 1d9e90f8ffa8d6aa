import { InferenceSession, Tensor as OrtTensor } from "onnxruntime-node";
import protobuf from "protobufjs/minimal.js";
import { EngineError } from "../../core/errors.ts";
import type { Constant, DType, Graph, Tensor } from "./graph.ts";
import { type Lowering, type OnnxAttribute, type OnnxNode, ops } from "./ops.ts";

/** Field numbers and enum values below are those of onnx.proto (IR version 9, opset 18). */
const elementTypes = { float32: 1, int32: 6, int64: 7 } as const satisfies Record<DType, number>;
const attributeTypes = { float: 1, int: 2, string: 3, ints: 7 } as const;

/** The graph as an ONNX model, in protobuf. Nodes whose values nothing uses are left out. */
export function serialise(graph: Graph): Uint8Array {
  const { nodes, constants } = lower(graph);
  const model = protobuf.Writer.create();
  model.uint32(8).int64(9); // ir_version
  for (const [domain, version] of [
    ["", 18],
    ["com.microsoft", 1],
  ] as const) {
    model.uint32(66).fork().uint32(10).string(domain).uint32(16).int64(version).ldelim(); // opset_import
  }
  model.uint32(58).fork(); // graph
  for (const node of nodes) writeNode(model.uint32(10).fork(), node);
  model.uint32(18).string("retrograde");
  for (const constant of constants) writeConstant(model.uint32(42).fork(), constant);
  for (const input of graph.inputs) writeValueInfo(model.uint32(90).fork(), input);
  for (const output of graph.outputs) writeValueInfo(model.uint32(98).fork(), output);
  model.ldelim();
  return model.finish();
}

/** A graph that ONNX Runtime has prepared to run. */
export class Session {
  readonly #session: InferenceSession;

  private constructor(session: InferenceSession) {
    this.#session = session;
  }

  static async open(graph: Graph, { threads }: { readonly threads: number }): Promise<Session> {
    try {
      const session = await InferenceSession.create(serialise(graph), {
        intraOpNumThreads: threads,
        interOpNumThreads: 1,
        executionProviders: ["cpu"],
        logSeverityLevel: 3,
      });
      return new Session(session);
    } catch (cause) {
      throw new EngineError("ONNX Runtime session", messageOf(cause), {
        hint: "This is a fault of the graph, not of your settings: please report it with the model's config.json.",
        cause,
      });
    }
  }

  /** Inputs are passed without a copy. @param fetch names of the outputs to compute */
  async run(feeds: Readonly<Record<string, Value>>, fetch: readonly string[]): Promise<Record<string, Float32Array>> {
    const tensors = Object.fromEntries(
      Object.entries(feeds).map(([name, { data, shape }]) => [name, new OrtTensor(typeOf(data), data, shape as number[])]),
    );
    try {
      const results = await this.#session.run(tensors, fetch as string[]);
      return Object.fromEntries(fetch.map((name) => [name, results[name].data as Float32Array]));
    } catch (cause) {
      throw new EngineError("ONNX Runtime", messageOf(cause), {
        hint: "If memory ran out, lower tokens per micro-batch.",
        cause,
      });
    }
  }

  async close(): Promise<void> {
    await this.#session.release();
  }
}

export interface Value {
  readonly data: Float32Array | Int32Array | BigInt64Array;
  readonly shape: readonly number[];
}

function typeOf(data: Value["data"]): DType {
  return data instanceof Float32Array ? "float32" : data instanceof Int32Array ? "int32" : "int64";
}

function messageOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}

/** From operators to ONNX nodes, with the constants and size look-ups that they share. */
function lower(graph: Graph): { nodes: OnnxNode[]; constants: Constant[] } {
  const nodes: OnnxNode[] = [];
  const prelude: OnnxNode[] = [];
  const constants = new Map<string, Constant>(graph.constants.map((c) => [c.tensor.name, c]));
  const sizes = new Map<string, string>();
  let count = 0;

  const lowering: Lowering = {
    emit: (node) => nodes.push(node),
    temporary: () => `t${count++}`,
    integers: (values) => {
      const name = `int64[${values.join(",")}]`;
      const tensor: Tensor = { name, shape: [values.length], type: "int64" };
      constants.set(name, { tensor, data: BigInt64Array.from(values, BigInt) });
      return name;
    },
    floats: (data, shape) => {
      const uniform = data.every((x) => x === data[0]);
      const name = uniform ? `float32[${data[0]};${shape.join(",")}]` : `t${count++}`;
      constants.set(name, { tensor: { name, shape, type: "float32" }, data });
      return name;
    },
    hasSize: (dim) => graph.inputs.some((input) => input.shape.includes(dim)),
    size: (dim) => {
      const known = sizes.get(dim);
      if (known) return known;
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
  for (const { op, inputs, outputs, attributes } of graph.nodes) {
    (ops[op].lower as (to: Lowering, i: readonly Tensor[], o: readonly Tensor[], a: object) => void)(
      lowering,
      inputs,
      outputs,
      attributes,
    );
  }
  return { nodes: [...prelude, ...nodes], constants: [...constants.values()] };
}

function writeNode(to: protobuf.Writer, { type, inputs, outputs, attributes = {}, domain }: OnnxNode): void {
  for (const name of inputs) to.uint32(10).string(name);
  for (const name of outputs) to.uint32(18).string(name);
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

function writeConstant(to: protobuf.Writer, { tensor, data }: Constant): void {
  for (const dim of tensor.shape) to.uint32(8).int64(Number(dim));
  to.uint32(16).int32(elementTypes[tensor.type]);
  to.uint32(66).string(tensor.name);
  to.uint32(74).bytes(new Uint8Array(data.buffer, data.byteOffset, data.byteLength));
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
