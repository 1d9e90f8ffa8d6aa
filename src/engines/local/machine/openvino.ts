import { z } from "zod";
import { EngineError } from "../../../core/errors.ts";
import type { Runtime } from "./runtime.ts";

/** The part of `openvino-node` 2026.4 that is used. */
interface Binding {
  readonly Core: new () => {
    readModel(model: Uint8Array): Promise<object>;
    compileModel(model: object, device: string, config: Record<string, string>): Promise<Compiled>;
  };
  readonly Tensor: new (type: string, shape: number[], data: Data) => OvTensor;
}
interface Compiled {
  createInferRequest(): { inferAsync(inputs: Record<string, OvTensor>): Promise<Record<string, OvTensor>> };
}
interface OvTensor {
  readonly data: Data;
}
type Data = Float32Array | Int8Array | Int32Array | BigInt64Array;

/** Only that they are functions is checked here: the native classes do not show what they take. */
const bindingSchema = z.object({ Core: z.custom<Binding["Core"]>(isFunction), Tensor: z.custom<Binding["Tensor"]>(isFunction) });
const moduleSchema = z.object({ addon: bindingSchema });
const elementTypes: Readonly<Record<string, string>> = { float32: "f32", int8: "i8", int32: "i32", int64: "i64" };

/** Loads the package where the user has installed it. It is no dependency: its binaries are fetched from the vendor after installing. */
const load = (name = "openvino-node"): Promise<unknown> => import(name);

const opened = new Map<typeof load, Promise<Runtime>>();

/**
 * OpenVINO behind the interface of ONNX Runtime's sessions, on the processor. Products are made in bfloat16 where the processor has units for it; weights,
 * inputs and outputs are float32.
 * @param from loads the binding
 * @throws EngineError with the command that installs it
 */
export function openvinoRuntime(from = load): Promise<Runtime> {
  const runtime = opened.get(from) ?? from().then(bindingOf).then(runtimeOf, missing);
  opened.set(from, runtime);
  return runtime;
}

function bindingOf(module: unknown): Binding {
  return moduleSchema.parse(module).addon;
}

function missing(cause: unknown): never {
  throw new EngineError("OpenVINO", undefined, {
    expected: "the package openvino-node, 2026.4 or later, with its binaries",
    hint: 'Run `npm install openvino-node@2026.4.0 --ignore-scripts=false`, which downloads them from storage.openvinotoolkit.org. device: "cpu" needs nothing.',
    cause,
  });
}

function runtimeOf({ Core, Tensor }: Binding): Runtime {
  const core = new Core();
  class Session {
    readonly #compiled: Compiled;
    /** Requests that are not running: each has memory of its own. */
    readonly #idle: ReturnType<Compiled["createInferRequest"]>[] = [];

    constructor(compiled: Compiled) {
      this.#compiled = compiled;
    }

    /** @param fetch names alone: OpenVINO writes into no tensor of the caller's, as `fillsOutputs` says */
    async run(feeds: Readonly<Record<string, Feed>>, fetch: readonly string[]): Promise<Record<string, { data: Data }>> {
      const request = this.#idle.pop() ?? this.#compiled.createInferRequest();
      const inputs = Object.entries(feeds).map(([name, { type, data, dims }]) => {
        const wrapped = new Tensor(elementTypes[type] ?? type, [...dims], data);
        return [name, wrapped] as const;
      });
      const outputs = await request.inferAsync(Object.fromEntries(inputs));
      const results = Object.fromEntries(fetch.map((name) => [name, { data: outputs[name].data }]));
      this.#idle.push(request);
      return results;
    }

    async release(): Promise<void> {
      this.#idle.length = 0;
    }
  }
  const InferenceSession = {
    create: async (model: Uint8Array, { intraOpNumThreads = 1 }: { intraOpNumThreads?: number } = {}): Promise<Session> => {
      const config = {
        INFERENCE_NUM_THREADS: String(intraOpNumThreads),
        INFERENCE_PRECISION_HINT: "bf16",
        PERFORMANCE_HINT: "LATENCY",
      };
      return new Session(await core.compileModel(await core.readModel(model), "CPU", config));
    },
  };
  return { InferenceSession, Tensor: Feed };
}

/** ONNX Runtime's tensor, as far as feeds need it. */
class Feed {
  readonly type: string;
  readonly data: Data;
  readonly dims: readonly number[];
  constructor(type: string, data: Data, dims: readonly number[]) {
    this.type = type;
    this.data = data;
    this.dims = dims;
  }
}

function isFunction(value: unknown): boolean {
  return typeof value === "function";
}

/** Why a graph was not taken, where the version is the cause. */
export function outdatedOpenvino(message: string, cause: unknown): EngineError | undefined {
  const operators = /does not support the following ONNX operations: (.*)/.exec(message)?.[1];
  if (operators === undefined) return undefined;
  return new EngineError("OpenVINO's operators", operators, {
    expected: "OpenVINO 2026.4 or later, which has them",
    hint: "Run `npm install openvino-node@2026.4.0 --ignore-scripts=false`.",
    cause,
  });
}
