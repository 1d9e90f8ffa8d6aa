import { EngineError, reasonOf } from "../../../src/core/errors.ts";
import { isGpu, type Provider, type SessionOptions } from "../machine/device.ts";
import { deviceFailure, fallbackError, isFallback, missingProvider } from "../machine/device-errors.ts";
import { type Binding, NativeSession } from "../machine/native/session.ts";
import { DeviceTensor } from "../machine/native/tensor.ts";
import { defaultRuntime, nativeRuntime } from "../machine/native.ts";
import type { RunOptions, Runtime, RuntimeSession, RuntimeTensor } from "../machine/runtime.ts";
import { create } from "./create.ts";
import { DeviceMemory } from "./device-memory.ts";
import type { Graph } from "./graph.ts";
import { besideModel, lower, serialise, writeModel } from "./onnx.ts";
import { type FloatValue, tensorsOf, type Value } from "./value.ts";

export type { FloatValue, Value };

export interface OpenOptions {
  /**
   * Whether nodes are fused, which rounds differently; not if left out. For graphs with few rows. Passes of training are not
   * fused: the forward half that is scored and the one that is differentiated are then one arithmetic.
   */
  readonly fewNodes?: boolean;
  /** Whether runs of one binding are recorded on the device and replayed. Default false. */
  readonly captured?: boolean;
}

/** An input of a run: numbers in the processor's memory, or those that are on the session's device. */
export type Feed = Value | DeviceTensor;

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
    const { threads, provider = "cpu", keepMemory = true, planMemory = true, fewNodes, precision } = options;
    const runtime = options.runtime ?? (await (isGpu(provider) ? nativeRuntime() : defaultRuntime()));
    try {
      const model = await serialise(graph, provider, fewNodes, precision);
      const session = await create(runtime, model, provider, {
        threads,
        enableCpuMemArena: keepMemory,
        enableMemPattern: planMemory,
        externalData: besideModel(graph),
        ...{ captured: options.captured, precision },
      });
      return new Session(session, provider, runtime);
    } catch (cause) {
      if (isFallback(cause)) throw fallbackError(provider, await firstFallback(runtime, graph, provider), cause);
      throw (
        deviceFailure(isGpu(provider), cause) ??
        missingProvider(provider, cause) ??
        new EngineError("ONNX Runtime session", reasonOf(cause), {
          hint: "This is a fault of the graph, not of your settings: please report it with the model's config.json.",
          cause,
        })
      );
    }
  }

  /** Inputs are passed without a copy. @param fetch names of the outputs to compute */
  async run(
    feeds: Readonly<Record<string, Feed>>,
    fetch: readonly string[],
    options?: RunOptions,
  ): Promise<Record<string, Float32Array>> {
    const results = await this.#run(feeds, fetch, options);
    return Object.fromEntries(fetch.map((name) => [name, numbersOf(results[name])]));
  }

  /** Writes outputs into arrays of the caller's, or tensors of the device, which must have the right sizes. */
  async runInto(
    feeds: Readonly<Record<string, Feed>>,
    into: Readonly<Record<string, FloatValue | DeviceTensor>>,
    options?: RunOptions,
  ): Promise<void> {
    const given = this.#runtime.fillsOutputs === true;
    const results = await this.#run(feeds, given ? tensorsOf(this.#runtime, into) : Object.keys(into), options);
    if (given) return;
    for (const [name, value] of Object.entries(into))
      if (!(value instanceof DeviceTensor)) value.data.set(numbersOf(results[name]));
  }

  /**
   * Prepares a run over tensors that stay where they are, to be made many times. Arrays are read again by each run on the CPU alone: on a device an input's
   * numbers cross when it is bound.
   * @param captured a number for these tensors, of a session that is opened with `captured`
   */
  bind(
    feeds: Readonly<Record<string, Feed>>,
    into: Readonly<Record<string, FloatValue | DeviceTensor>>,
    captured?: number,
  ): Binding {
    if (!(this.#session instanceof NativeSession)) throw new RangeError("a binding of another runtime than the C API");
    return this.#session.bind(tensorsOf(this.#runtime, feeds), tensorsOf(this.#runtime, into), captured);
  }

  async #run(
    feeds: Readonly<Record<string, Feed>>,
    fetch: readonly string[] | Record<string, RuntimeTensor>,
    options?: RunOptions,
  ): Promise<Readonly<Record<string, RuntimeTensor>>> {
    try {
      const inputs = tensorsOf(this.#runtime, await this.#placed(feeds));
      return await this.#session.run(inputs, fetch, options);
    } catch (cause) {
      throw deviceFailure(isGpu(this.#provider), cause) ?? new EngineError("ONNX Runtime", reasonOf(cause), { cause });
    }
  }

  /** With constants on the device, where there is one: they cross once. */
  async #placed(feeds: Readonly<Record<string, Feed>>): Promise<Readonly<Record<string, Feed>>> {
    if (!this.#isOnDevice()) return feeds;
    const memory = await DeviceMemory.of(this.#provider);
    const placed: Record<string, Feed> = { ...feeds };
    for (const [name, value] of Object.entries(feeds))
      if (!(value instanceof DeviceTensor) && value.constant) placed[name] = await memory.constant(value);
    return placed;
  }

  /** Drops a device's copies of constants that are no longer fed. */
  async forget(values: Readonly<Record<string, Value>>): Promise<void> {
    if (!this.#isOnDevice()) return;
    const memory = await DeviceMemory.of(this.#provider);
    for (const { data } of Object.values(values)) await memory.forget(data);
  }

  #isOnDevice(): boolean {
    return this.#session instanceof NativeSession && this.#session.provider !== "cpu";
  }

  async close(): Promise<void> {
    await this.#session.release();
  }
}

/** @throws RangeError if a runtime gives another type than the graph's outputs have */
function numbersOf({ data }: RuntimeTensor): Float32Array {
  if (data instanceof Float32Array) return data;
  throw new RangeError("an output that is not float32");
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
      const model = writeModel(graph, { nodes: beginning, constants }, outputs);
      await (await create(runtime, model, provider, { threads: 1, externalData: besideModel(graph) })).release();
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
