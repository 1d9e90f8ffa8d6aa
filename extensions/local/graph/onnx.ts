import type { InferenceSession } from "onnxruntime-common";
import protobuf from "protobufjs/minimal.js";
import { EngineError, reasonOf } from "../../../src/core/errors.ts";
import {
  exhaustedMemory,
  fallbackError,
  hasKernel,
  isFallback,
  missingProvider,
  type Provider,
  prepareProvider,
  providerOptions,
  type SessionOptions,
} from "../machine/device.ts";
import { onDevice } from "../machine/device-memory.ts";
import { nodeRuntime, type Runtime, type RuntimeSession, type RuntimeTensor } from "../machine/runtime.ts";
import { fuse } from "./fusions.ts";
import { type Constant, Graph, type Node, typeOfArray } from "./graph.ts";
import type { Lowering, OnnxAttribute, OnnxNode } from "./operator.ts";
import { ops } from "./ops.ts";
import type { DType, Tensor } from "./tensor.ts";

/** Field numbers and enum values below are those of onnx.proto (IR version 9, opset 18). */
const elementTypes = { float32: 1, uint8: 2, int8: 3, int32: 6, int64: 7 } as const satisfies Record<DType, number>;
const attributeTypes = { float: 1, int: 2, string: 3, ints: 7 } as const;

/** The graph as an ONNX model for a provider, in protobuf. Nodes whose values nothing uses are left out. */
export function serialise(graph: Graph, provider: Provider = "cpu", fewNodes = false): Uint8Array {
  const lowered = lower(graph, provider);
  const nodes = fewNodes && provider === "cpu" ? fused(graph, lowered) : lowered.nodes;
  return writeModel(graph, { nodes, constants: lowered.constants }, graph.outputs, provider);
}

/**
 * Large matrices in 8 and 4 bits are beside the model: as part of it they would be held twice more while it is read. So are all on CUDA, where the
 * weights of a large model are constants, and a model has no more than 2 GiB.
 */
function isBeside({ tensor, data }: Constant, provider: Provider): boolean {
  return (tensor.type === "int8" || tensor.type === "uint8" || provider === "cuda") && data.byteLength >= 2 ** 16;
}

/** The constants that are beside a model, as a session takes them. */
function besideModel({ constants }: Graph, provider: Provider): { readonly path: string; readonly data: Uint8Array }[] {
  const beside = constants.filter((constant) => isBeside(constant, provider));
  return beside.map(({ tensor: { name }, data }) => ({ path: name, data: bytesOf(data) }));
}

function bytesOf({ buffer, byteOffset, byteLength }: Constant["data"]): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength);
}

function writeModel(
  graph: Graph,
  { nodes, constants }: Lowered,
  outputs: readonly (Tensor | UntypedOutput)[],
  provider: Provider,
): Uint8Array {
  const beside = new Set(besideModel(graph, provider).map(({ path }) => path));
  const model = protobuf.Writer.create();
  model.uint32(8).int64(9); // ir_version
  model.uint32(18).string("retrograde"); // producer_name
  model.uint32(58).fork(); // graph
  for (const node of nodes) writeNode(model.uint32(10).fork(), node);
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

export interface OpenOptions {
  /**
   * Whether nodes are fused on the CPU, which rounds differently; not if left out. For graphs with few rows. Passes of training are not
   * fused: the forward half that is scored and the one that is differentiated are then one arithmetic.
   */
  readonly fewNodes?: boolean;
}

/** A graph that ONNX Runtime has prepared to run. */
export class Session {
  readonly #session: RuntimeSession;
  readonly #provider: Provider;
  readonly #runtime: Runtime;

  private constructor(session: RuntimeSession, provider: Provider, runtime: Runtime) {
    this.#session = session;
    this.#provider = provider;
    this.#runtime = runtime;
  }

  /** @throws EngineError if there is no such provider here, or it lacks an operator of the graph (the first of which is named) */
  static async open(graph: Graph, options: SessionOptions & OpenOptions): Promise<Session> {
    const { threads, provider = "cpu", keepMemory = true, planMemory = true, fewNodes } = options;
    const runtime = options.runtime ?? (await nodeRuntime());
    try {
      const model = serialise(graph, provider, fewNodes);
      const session = await create(runtime, model, provider, {
        threads,
        enableCpuMemArena: keepMemory,
        enableMemPattern: planMemory,
        externalData: besideModel(graph, provider),
      });
      return new Session(session, provider, runtime);
    } catch (cause) {
      if (isFallback(cause)) throw fallbackError(provider, await firstFallback(runtime, graph, provider), cause);
      throw (
        missingProvider(provider, cause) ??
        exhaustedMemory(provider, cause) ??
        new EngineError("ONNX Runtime session", reasonOf(cause), {
          hint: "This is a fault of the graph, not of your settings: please report it with the model's config.json.",
          cause,
        })
      );
    }
  }

  /** Inputs are passed without a copy. @param fetch names of the outputs to compute */
  async run(feeds: Readonly<Record<string, Value>>, fetch: readonly string[]): Promise<Record<string, Float32Array>> {
    const results = await this.#run(feeds, fetch);
    return Object.fromEntries(fetch.map((name) => [name, numbersOf(results[name])]));
  }

  /** Writes outputs into arrays of the caller's, which must have the right sizes. */
  async runInto(feeds: Readonly<Record<string, Value>>, into: Readonly<Record<string, FloatValue>>): Promise<void> {
    const given = this.#runtime.fillsOutputs === true;
    const results = await this.#run(feeds, given ? tensorsOf(this.#runtime, into) : Object.keys(into));
    if (given) return;
    for (const [name, { data }] of Object.entries(into)) data.set(numbersOf(results[name]));
  }

  async #run(
    feeds: Readonly<Record<string, Value>>,
    fetch: readonly string[] | Record<string, RuntimeTensor>,
  ): Promise<Readonly<Record<string, RuntimeTensor>>> {
    try {
      const tensors = tensorsOf(this.#runtime, feeds);
      for (const [name, value] of Object.entries(feeds))
        if (value.constant && this.#provider === "webgpu")
          tensors[name] = await onDevice(value.data, () => upload(this.#runtime, value));
      return await this.#session.run(tensors, fetch);
    } catch (cause) {
      throw exhaustedMemory(this.#provider, cause) ?? new EngineError("ONNX Runtime", reasonOf(cause), { cause });
    }
  }

  async close(): Promise<void> {
    await this.#session.release();
  }
}

export interface Value {
  readonly data: Float32Array | Int32Array | BigInt64Array | Int8Array;
  readonly shape: readonly number[];
  /** Keeps its numbers until `forgetOnDevice`, so that a device may keep a copy. */
  readonly constant?: boolean;
}
export interface FloatValue extends Value {
  readonly data: Float32Array;
}

function tensorsOf({ Tensor }: Runtime, values: Readonly<Record<string, Value>>): Record<string, RuntimeTensor> {
  return Object.fromEntries(
    Object.entries(values).map(([name, { data, shape }]) => [name, new Tensor(typeOfArray(data), data, shape)]),
  );
}

/** @throws RangeError if a runtime gives another type than the graph's outputs have */
function numbersOf({ data }: RuntimeTensor): Float32Array {
  if (data instanceof Float32Array) return data;
  throw new RangeError("an output that is not float32");
}

/** By type and number of axes. Never closed: a tensor on the device that outlives its session takes the process down when it is freed. */
const uploaders = new Map<string, Promise<RuntimeSession>>();

/** The value on the WebGPU device: the output of a session that does nothing, since the binding has no call of its own for that. */
async function upload(runtime: Runtime, value: Value): Promise<RuntimeTensor> {
  const kind = `${typeOfArray(value.data)} ${value.shape.length}`;
  const session = uploaders.get(kind) ?? openUploader(runtime, value);
  uploaders.set(kind, session);
  return (await (await session).run(tensorsOf(runtime, { x: value }), ["y"])).y;
}

function openUploader(runtime: Runtime, value: Value): Promise<RuntimeSession> {
  const identity = new Graph();
  const sizes = value.shape.map((_, axis) => `D${axis}`);
  identity.output("y", identity.input("x", sizes, typeOfArray(value.data)));
  const options = { threads: 1, preferredOutputLocation: "gpu-buffer" } as const;
  return create(runtime, serialise(identity, "webgpu"), "webgpu", options);
}

interface CreateOptions
  extends Pick<
    InferenceSession.SessionOptions,
    "preferredOutputLocation" | "enableCpuMemArena" | "enableMemPattern" | "externalData"
  > {
  readonly threads: number;
}

function create(
  runtime: Runtime,
  model: Uint8Array,
  provider: Provider,
  { threads, ...options }: CreateOptions,
): Promise<RuntimeSession> {
  prepareProvider(provider);
  return runtime.InferenceSession.create(model, {
    ...options,
    intraOpNumThreads: threads,
    interOpNumThreads: 1,
    logSeverityLevel: 4,
    ...providerOptions(provider),
  });
}

/** An output whose shape and type ONNX Runtime works out. */
interface UntypedOutput {
  readonly name: string;
}

/**
 * The operator that a provider leaves to the CPU. ONNX Runtime says that there is one, but not which: a bisection over the
 * beginnings of the graph finds it, where everything that nothing reads is an output.
 */
async function firstFallback(runtime: Runtime, graph: Graph, provider: Provider): Promise<string> {
  const { nodes, constants } = lower(graph, provider);
  const fallsBack = async (count: number): Promise<boolean> => {
    const beginning = nodes.slice(0, count);
    const read = new Set(beginning.flatMap(({ inputs }) => inputs));
    const outputs = beginning.flatMap((node) => node.outputs.filter((name) => !read.has(name)).map((name) => ({ name })));
    try {
      const model = writeModel(graph, { nodes: beginning, constants }, outputs, provider);
      await (await create(runtime, model, provider, { threads: 1, externalData: besideModel(graph, provider) })).release();
      return false;
    } catch (cause) {
      if (isFallback(cause)) return true;
      throw cause;
    }
  };
  let [fits, tooFar] = [0, nodes.length];
  while (tooFar - fits > 1) {
    const middle = (fits + tooFar) >> 1;
    if (await fallsBack(middle)) tooFar = middle;
    else fits = middle;
  }
  return nodes[tooFar - 1].type;
}

interface Lowered {
  readonly nodes: readonly OnnxNode[];
  readonly constants: readonly Constant[];
}

/** From operators to ONNX nodes, with the constants and size look-ups that they share. */
function lower(graph: Graph, provider: Provider): Lowered {
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
    has: (kernel) => hasKernel(provider, kernel),
    like: (shape) => shaped.get(shape.join()),
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
  for (const { op, inputs, outputs, attributes } of inUse(graph)) {
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

/** The nodes of a lowered graph, fewer that compute the same up to rounding. */
function fused(graph: Graph, { nodes, constants }: Lowered): OnnxNode[] {
  const byName = new Map(constants.map((constant) => [constant.tensor.name, constant]));
  const values = [...graph.inputs, ...graph.nodes.flatMap(({ outputs }) => outputs), ...constants.map(({ tensor }) => tensor)];
  const shapes = new Map(values.map(({ name, shape }) => [name, shape]));
  return fuse(nodes, {
    outputs: new Set(graph.outputs.map(({ name }) => name)),
    shapeOf: (name) => shapes.get(name),
    isOnes: (name) => byName.get(name)?.data.every((x) => x === 1) ?? false,
  });
}

/** The nodes that some output depends on: a gradient rule also writes down gradients of operands that are not trained. */
function inUse({ nodes, outputs }: Graph): Node[] {
  const used = new Set(outputs.map(({ name }) => name));
  return nodes
    .toReversed()
    .filter((node) => {
      const needed = node.outputs.some(({ name }) => used.has(name));
      if (needed) for (const { name } of node.inputs) used.add(name);
      return needed;
    })
    .reverse();
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
