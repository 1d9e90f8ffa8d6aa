import type { InferenceSession } from "onnxruntime-common";
import { deviceFailure } from "../device-errors.ts";
import type { RunOptions, Runtime, RuntimeSession, RuntimeTensor } from "../runtime.ts";
import { Turns } from "../turns.ts";
import type { Library, Pointer } from "./library.ts";
import type { NativeRunThread } from "./run-thread.ts";
import { count, DeviceTensor, type ElementType, elements, HostTensor } from "./tensor.ts";

/** A device beside the processor: the thread that makes its runs, and the bytes that crossed the bus since the program began. */
interface DeviceSide {
  readonly thread: Pick<NativeRunThread, "run">;
  readonly crossed: { up: number; down: number };
}

/** Inputs and outputs of a run, prepared once for many runs. To be released. */
export class Binding {
  readonly #library: Library;
  readonly #session: Pointer;
  readonly #binding: Pointer;
  readonly #cpu: Pointer;
  readonly #options: Pointer;
  readonly #device: DeviceSide | undefined;
  #out = 0;
  /** Values of host tensors by name, and the arrays that the library has the addresses of. */
  readonly #values = new Map<string, { readonly value: Pointer; readonly kept: unknown }>();

  /**
   * @param cpu the kind of memory that host tensors are in
   * @param device of a session whose memory is not the processor's
   */
  constructor(library: Library, session: Pointer, cpu: Pointer, device?: DeviceSide, options: Pointer = 0n) {
    this.#library = library;
    this.#cpu = cpu;
    this.#session = session;
    this.#device = device;
    this.#options = options;
    this.#binding = library.make("CreateIoBinding", session);
  }

  /** In place of what was bound by this name. */
  input(name: string, tensor: RuntimeTensor): void {
    const before = this.#values.get(name);
    this.#values.delete(name);
    try {
      this.#library.call("BindInput", this.#binding, name, this.#valueOf(name, tensor));
    } finally {
      if (before !== undefined) this.#library.call("ReleaseValue", before.value);
    }
    if (tensor instanceof HostTensor && this.#device) this.#device.crossed.up += tensor.data.byteLength; // where it is bound
  }

  output(name: string, tensor: RuntimeTensor): void {
    this.#library.call("BindOutput", this.#binding, name, this.#valueOf(name, tensor));
    if (tensor instanceof HostTensor) this.#out += tensor.data.byteLength;
  }

  /** An output of whatever size turns out, in a memory. */
  outputTo(name: string, memory: Pointer): void {
    this.#library.call("BindOutputToDevice", this.#binding, name, memory);
  }

  /** In another thread, so that the event loop does not wait: a device's own, or on the processor one of the process's. */
  async run(): Promise<void> {
    try {
      if (this.#device !== undefined) await this.#device.thread.run(this.#session, this.#options, this.#binding);
      else await this.#library.callAside("RunWithBinding", this.#session, this.#options || null, this.#binding);
      if (this.#device !== undefined) this.#device.crossed.down += this.#out;
    } catch (cause) {
      throw this.#failure(cause);
    }
  }

  /** In this thread: for runs of a few milliseconds, and those that are captured, since a captured run belongs to its thread. */
  runHere(): void {
    try {
      this.#library.call("RunWithBinding", this.#session, this.#options || null, this.#binding);
      if (this.#device === undefined) return;
      this.#library.call("SynchronizeBoundOutputs", this.#binding);
      this.#device.crossed.down += this.#out;
    } catch (cause) {
      throw this.#failure(cause);
    }
  }

  #failure(cause: unknown): unknown {
    return deviceFailure(this.#device !== undefined, cause) ?? cause;
  }

  /** Values of all outputs, in the order in which they were bound. They are the caller's to release. */
  outputs(allocator: Pointer): Pointer[] {
    const [values, length]: [[Pointer], [number | bigint]] = [[0n], [0]];
    this.#library.call("GetBoundOutputValues", this.#binding, allocator, values, length);
    const found = this.#library.pointers(values[0], Number(length[0]));
    this.#library.call("AllocatorFree", allocator, values[0]);
    return found;
  }

  release(): void {
    this.#library.call("ReleaseIoBinding", this.#binding);
    for (const { value } of this.#values.values()) this.#library.call("ReleaseValue", value);
    if (this.#options) this.#library.call("ReleaseRunOptions", this.#options);
    this.#values.clear();
  }

  #valueOf(name: string, tensor: RuntimeTensor): Pointer {
    if (tensor instanceof DeviceTensor) return tensor.value;
    if (!(tensor instanceof HostTensor)) throw new RangeError("a tensor of another runtime");
    const { type, data, dims } = tensor;
    const there = data.length === 0 ? new Float64Array(1) : data; // an address, of nothing
    const shape = shapeOf(dims);
    const { number } = elements[type];
    const value = this.#library.make(
      "CreateTensorWithDataAsOrtValue",
      this.#cpu,
      there,
      data.byteLength,
      shape,
      dims.length,
      number,
    );
    this.#values.set(name, { value, kept: there });
    return value;
  }
}

export type SessionOptions = Pick<
  InferenceSession.SessionOptions,
  "intraOpNumThreads" | "enableCpuMemArena" | "enableMemPattern" | "externalData" | "executionProviders" | "extra"
>;

/** A session of the C API. */
export class NativeSession implements RuntimeSession {
  readonly #native: Native;
  readonly #session: Pointer;
  /** Allocates all tensors of the session: each is given back there. */
  #allocator: Pointer | undefined;
  /** The execution provider, by its short name. */
  readonly provider: string;

  constructor(native: Native, session: Pointer, provider: string) {
    this.#native = native;
    this.#session = session;
    this.provider = provider;
  }

  /** The provider's own memory. */
  get memory(): Pointer {
    return this.#native.memoryOf(this.provider);
  }

  /** Numbers in the provider's memory, undefined at first. The session must outlive them. */
  allocate(type: ElementType, dims: readonly number[]): DeviceTensor {
    const { library } = this.#native;
    this.#allocator ??= library.make("CreateAllocator", this.#session, this.memory);
    try {
      const made = ["CreateTensorAsOrtValue", this.#allocator, shapeOf(dims), dims.length, elements[type].number] as const;
      return new DeviceTensor(library, library.make(...made), this.memory, type, dims);
    } catch (cause) {
      throw deviceFailure(this.provider !== "cpu", cause) ?? cause;
    }
  }

  /** @param captured a number for these tensors: the second run is recorded on the device, later ones are replayed */
  bind(
    inputs: Readonly<Record<string, RuntimeTensor>>,
    outputs: Readonly<Record<string, RuntimeTensor>>,
    captured?: number,
  ): Binding {
    const { library, cpu, device } = this.#native;
    const side = this.provider === "cpu" ? undefined : device;
    const options = captured === undefined ? undefined : runOptions(library, captured);
    const binding = new Binding(library, this.#session, cpu, side, options);
    try {
      for (const [name, tensor] of Object.entries(inputs)) binding.input(name, tensor);
      for (const [name, tensor] of Object.entries(outputs)) binding.output(name, tensor);
      return binding;
    } catch (error) {
      binding.release();
      throw error;
    }
  }

  async run(
    feeds: Readonly<Record<string, RuntimeTensor>>,
    fetch: readonly string[] | Readonly<Record<string, RuntimeTensor | null>>,
    { short = false }: RunOptions = {},
  ): Promise<Readonly<Record<string, RuntimeTensor>>> {
    const { library, cpu, allocator } = this.#native;
    const binding = this.bind(feeds, {});
    try {
      const wanted: [string, RuntimeTensor | null][] = Array.isArray(fetch)
        ? fetch.map((name: string) => [name, null])
        : Object.entries(fetch);
      for (const [name, tensor] of wanted)
        if (tensor === null) binding.outputTo(name, cpu);
        else binding.output(name, tensor);
      if (short) binding.runHere();
      else await binding.run();
      const values = binding.outputs(allocator);
      try {
        const found: Record<string, RuntimeTensor> = {};
        const turns = Turns.ofCopies();
        for (const [i, [name, tensor]] of wanted.entries()) {
          if (tensor !== null) found[name] = tensor;
          else {
            const fetched = copied(library, values[i]);
            found[name] = fetched;
            if (this.provider !== "cpu") this.#native.device.crossed.down += fetched.data.byteLength;
            await turns.passed(fetched.data.length);
          }
        }
        return found;
      } finally {
        for (const value of values) library.call("ReleaseValue", value);
      }
    } finally {
      binding.release();
    }
  }

  async release(): Promise<void> {
    const { library } = this.#native;
    if (this.#allocator !== undefined) library.call("ReleaseAllocator", this.#allocator);
    if (this.provider === "cpu")
      await library.callAside("ReleaseSession", this.#session); // hundreds of MB go back to the system
    else library.call("ReleaseSession", this.#session);
    await library.giveBack();
  }
}

/** The C API as a runtime of the engine: the same library and options as ONNX Runtime's binding for Node, and runs that the event loop does not wait for. */
export class Native implements Runtime<NativeSession> {
  readonly library: Library;
  /** Memory of the processor. */
  readonly cpu: Pointer;
  readonly allocator: Pointer;
  readonly device: DeviceSide;
  readonly Tensor = HostTensor;
  readonly fillsOutputs = true;
  readonly InferenceSession = {
    create: (model: Uint8Array, options: SessionOptions): Promise<NativeSession> => this.#create(model, options),
  };
  readonly #environment: Pointer;
  readonly #memories = new Map<string, Pointer>();
  readonly #loadCuda: () => Promise<void>;

  /** @param cuda loads the libraries of CUDA's provider */
  constructor(library: Library, thread: Pick<NativeRunThread, "run">, environment: Pointer, cuda = loadCuda) {
    this.library = library;
    this.#loadCuda = cuda;
    this.device = { thread, crossed: { up: 0, down: 0 } };
    this.#environment = environment;
    this.cpu = library.make("CreateMemoryInfo", "Cpu", 0, 0, 0);
    this.allocator = library.make("GetAllocatorWithDefaultOptions");
  }

  memoryOf(provider: string): Pointer {
    const known = this.#memories.get(provider);
    if (known !== undefined) return known;
    const memory = this.library.make("CreateMemoryInfo", memoryNames[provider] ?? "Cpu", 0, 0, 0);
    this.#memories.set(provider, memory);
    return memory;
  }

  async #create(model: Uint8Array, options: SessionOptions): Promise<NativeSession> {
    const { library } = this;
    const [first = "cpu"] = options.executionProviders ?? [];
    const provider = typeof first === "string" ? first : first.name;
    if (provider === "cuda") await this.#loadCuda();
    const made = library.make("CreateSessionOptions");
    try {
      library.call("SetIntraOpNumThreads", made, options.intraOpNumThreads ?? 0);
      library.call("SetInterOpNumThreads", made, 1);
      library.call("SetSessionLogSeverityLevel", made, 4);
      if (options.enableCpuMemArena === false) library.call("DisableCpuMemArena", made);
      if (options.enableMemPattern === false) library.call("DisableMemPattern", made);
      for (const [key, value] of entriesOf(options.extra)) library.call("AddSessionConfigEntry", made, key, value);
      append(library, made, provider, typeof first === "string" ? {} : { ...first, name: undefined });
      const kept = addExternal(library, made, options.externalData);
      const bytes = model.byteLength;
      const session = await library.makeAside("CreateSessionFromArray", this.#environment, model, bytes, made);
      kept.length = 0; // the library has read it
      await library.giveBack();
      return new NativeSession(this, session, provider);
    } finally {
      library.call("ReleaseSessionOptions", made);
    }
  }
}

const loadCuda = async () => (await import("../cuda/load.ts")).loadCuda();

/** Names of the providers' memories in ONNX Runtime 1.30. */
const memoryNames: Readonly<Record<string, string>> = { cuda: "Cuda", webgpu: "WebGPU_Buf" };

function append(library: Library, options: Pointer, provider: string, settings: Readonly<Record<string, unknown>>): void {
  const entries = Object.entries(settings).filter(([, value]) => value !== undefined);
  const [keys, values] = [entries.map(([key]) => key), entries.map(([, value]) => String(value))];
  if (provider === "cuda") {
    const cuda = library.make("CreateCUDAProviderOptions");
    try {
      library.call("UpdateCUDAProviderOptions", cuda, keys, values, keys.length);
      library.call("AppendCuda", options, cuda);
    } finally {
      library.call("ReleaseCUDAProviderOptions", cuda);
    }
  } else if (provider === "webgpu") library.call("AppendProvider", options, "WebGPU", keys, values, keys.length);
}

/** Adds what is beside the model. @returns what must be kept until the session is made */
function addExternal(library: Library, options: Pointer, data: SessionOptions["externalData"] = []): unknown[] {
  const files = data.flatMap((file) => (typeof file === "object" && "data" in file ? [file] : []));
  if (files.length === 0) return [];
  const names = files.map(({ path }) => path);
  const arrays = files.map(({ data: bytes }) => {
    if (bytes instanceof Uint8Array) return bytes;
    throw new RangeError("external data that is no bytes");
  });
  const sizes = BigUint64Array.from(arrays, ({ byteLength }) => BigInt(byteLength));
  library.call("AddExternalInitializersFromFilesInMemory", options, names, arrays, sizes, files.length);
  return [arrays];
}

/** { session: { intra_op: { allow_spinning: "0" } } } as "session.intra_op.allow_spinning" and "0". */
function entriesOf(extra: object = {}, prefix = ""): [string, string][] {
  return Object.entries(extra).flatMap(([key, value]) =>
    typeof value === "object" ? entriesOf(value, `${prefix}${key}.`) : [[`${prefix}${key}`, String(value)] as [string, string]],
  );
}

function runOptions(library: Library, captured: number): Pointer {
  const options = library.make("CreateRunOptions");
  library.call("AddRunConfigEntry", options, "gpu_graph_id", String(captured));
  return options;
}

/** A copy of an output's numbers, whose memory is the library's. */
function copied(library: Library, value: Pointer): HostTensor {
  const info = library.make("GetTensorTypeAndShape", value);
  try {
    const [axes, number]: [[number | bigint], [number]] = [[0], [0]];
    library.call("GetDimensionsCount", info, axes);
    const shape = new BigInt64Array(Number(axes[0]));
    if (shape.length > 0) library.call("GetDimensions", info, shape, shape.length);
    library.call("GetTensorElementType", info, number);
    const type = (Object.keys(elements) as ElementType[]).find((name) => elements[name].number === number[0]);
    if (type === undefined) throw new RangeError(`an output of element type ${number[0]}`);
    const dims = Array.from(shape, Number);
    const { array, bytes } = elements[type];
    const length = count(dims);
    if (length === 0) return new HostTensor(type, new array(0), dims);
    const at = library.make("GetTensorMutableData", value);
    return new HostTensor(type, new array(library.view(at, length * bytes).slice(0)), dims);
  } finally {
    library.call("ReleaseTensorTypeAndShapeInfo", info);
  }
}

function shapeOf(dims: readonly number[]): BigInt64Array {
  return BigInt64Array.from(dims, BigInt);
}
