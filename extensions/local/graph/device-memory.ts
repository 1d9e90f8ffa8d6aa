import type { Provider } from "../machine/device.ts";
import type { NativeSession } from "../machine/native/session.ts";
import { type DeviceTensor, type ElementType, HostTensor, type NumberArray } from "../machine/native/tensor.ts";
import { nativeRuntime } from "../machine/native.ts";
import { create } from "./create.ts";
import { Graph, typeOfArray } from "./graph.ts";
import { serialise } from "./onnx.ts";
import type { Value } from "./value.ts";

/** A copy between the device and an array, to be made many times. */
export interface Prepared {
  run(): void;
  release(): void;
}

const opened = new Map<Provider, Promise<DeviceMemory>>();

/**
 * The memory of a GPU: numbers that stay there from run to run. They cross by sessions that copy, since ONNX Runtime's own call for that
 * (`CopyTensors`) knows none of its built-in providers.
 */
export class DeviceMemory {
  readonly #provider: Provider;
  /** By type and number of axes. Never closed: tensors must not outlive the session that they were allocated by. */
  readonly #copies = new Map<string, Promise<NativeSession>>();
  #gather: Promise<NativeSession> | undefined;
  readonly #constants = new WeakMap<object, Promise<DeviceTensor>>();
  /** That tensors are allocated by. */
  readonly #allocator: NativeSession;

  private constructor(provider: Provider, allocator: NativeSession) {
    this.#provider = provider;
    this.#allocator = allocator;
  }

  /** Opened once. @throws EngineError as `Session.open` */
  static of(provider: Provider): Promise<DeviceMemory> {
    const known =
      opened.get(provider) ?? copySession(provider, "float32", 1).then((session) => new DeviceMemory(provider, session));
    opened.set(provider, known);
    known.catch(() => opened.delete(provider));
    return known;
  }

  /** Undefined numbers. To be disposed of. */
  allocate(shape: readonly number[], type: ElementType = "float32"): DeviceTensor {
    return this.#allocator.allocate(type, shape);
  }

  /** A copy on the device. To be disposed of. */
  async upload(value: Value): Promise<DeviceTensor> {
    const tensor = this.allocate(value.shape, typeOfArray(value.data));
    await this.write(tensor, value.data);
    return tensor;
  }

  async write(tensor: DeviceTensor, data: NumberArray): Promise<void> {
    const session = await this.#copySession(tensor);
    await session.run({ x: new HostTensor(tensor.type, data, tensor.dims) }, { y: tensor });
  }

  /** Copies a tensor's numbers to an array of its length. */
  async read<A extends NumberArray>(tensor: DeviceTensor, into: A): Promise<A> {
    const session = await this.#copySession(tensor);
    await session.run({ x: tensor }, { y: new HostTensor(tensor.type, into, tensor.dims) });
    return into;
  }

  /** Copies numbers from one tensor to another of its shape. */
  async copy(from: DeviceTensor, to: DeviceTensor): Promise<void> {
    await (await this.#copySession(from)).run({ x: from }, { y: to });
  }

  /** Copies rows of a matrix, those that `ids` name, to an array. */
  async rows(matrix: DeviceTensor, ids: Int32Array, into: Float32Array): Promise<Float32Array> {
    this.#gather ??= gatherSession(this.#provider);
    const feeds = { matrix, ids: new HostTensor("int32", ids, [ids.length]) };
    await (await this.#gather).run(feeds, { rows: new HostTensor("float32", into, [ids.length, matrix.dims[1]]) });
    return into;
  }

  /** A write of an array's numbers to a tensor, prepared once, made in this thread each time that it is called. Both sizes are small. */
  async writer(tensor: DeviceTensor, data: NumberArray): Promise<Prepared> {
    const from = new HostTensor(tensor.type, data, tensor.dims);
    const binding = (await this.#copySession(tensor)).bind({ x: from }, { y: tensor });
    const run = () => {
      binding.input("x", from); // numbers cross where they are bound
      binding.runHere();
    };
    return { run, release: () => binding.release() };
  }

  /** The same for a read. */
  async reader(tensor: DeviceTensor, into: NumberArray): Promise<Prepared> {
    const to = new HostTensor(tensor.type, into, tensor.dims);
    const binding = (await this.#copySession(tensor)).bind({ x: tensor }, { y: to });
    return { run: () => binding.runHere(), release: () => binding.release() };
  }

  /** The copy of an array that keeps its numbers, made where there is none yet. */
  constant(value: Value): Promise<DeviceTensor> {
    const copy = this.#constants.get(value.data) ?? this.upload(value);
    this.#constants.set(value.data, copy);
    return copy;
  }

  /** Before a constant changes, or when it is no longer fed. */
  async forget(data: object): Promise<void> {
    const copy = this.#constants.get(data);
    this.#constants.delete(data);
    (await copy)?.dispose();
  }

  #copySession({ type, dims }: DeviceTensor): Promise<NativeSession> {
    const kind = `${type} ${dims.length}`;
    const session = this.#copies.get(kind) ?? copySession(this.#provider, type, dims.length);
    this.#copies.set(kind, session);
    return session;
  }
}

async function copySession(provider: Provider, type: ElementType, axes: number): Promise<NativeSession> {
  const graph = new Graph();
  const sizes = Array.from({ length: axes }, (_, axis) => `D${axis}`);
  graph.output("y", graph.input("x", sizes, type));
  return create(await nativeRuntime(), await serialise(graph, provider), provider, { threads: 1 });
}

async function gatherSession(provider: Provider): Promise<NativeSession> {
  const graph = new Graph();
  graph.output("rows", graph.gather(graph.input("matrix", ["V", "D"]), graph.input("ids", ["N"], "int32")));
  return create(await nativeRuntime(), await serialise(graph, provider), provider, { threads: 1 });
}
