import type { InferenceSession } from "onnxruntime-common";
import { withPackage } from "../../../src/core/optional-package.ts";

export interface RuntimeTensor {
  /** Float32Array for numbers. */
  readonly data: unknown;
  /** Frees its memory on a device. */
  dispose?(): void;
}

export interface RunOptions {
  /** Whether the run takes a few milliseconds: it is then made in this thread, which another would cost a tenth of one. Default false. */
  readonly short?: boolean;
}

/** A model that is ready to run. */
export interface RuntimeSession {
  /** @param fetch names of the outputs to compute, or the tensors that they are written into */
  run(
    feeds: Readonly<Record<string, RuntimeTensor>>,
    fetch: readonly string[] | Readonly<Record<string, RuntimeTensor | null>>,
    options?: RunOptions,
  ): Promise<Readonly<Record<string, RuntimeTensor>>>;
  release(): Promise<void>;
}

/**
 * The library that runs ONNX models, an argument of every session: `onnxruntime-node`, or `onnxruntime-web` where there is no Node. It lists the part
 * of their interface that the engine uses.
 */
export interface Runtime<S extends RuntimeSession = RuntimeSession> {
  readonly InferenceSession: { create(model: Uint8Array, options: InferenceSession.SessionOptions): Promise<S> };
  readonly Tensor: new (
    type: "float32" | "int8" | "uint8" | "int32" | "int64",
    data: Float32Array | Int8Array | Int32Array | BigInt64Array,
    dims: readonly number[],
  ) => RuntimeTensor;
  /**
   * Whether a run writes into output tensors that are given to it, as onnxruntime-node does. onnxruntime-web returns them as they were. Default
   * false: outputs are then fetched and copied.
   */
  readonly fillsOutputs?: boolean;
}

/** Installs all that is missing: with its name it would become a dependency of the user's own, whose script runs in the next clean install. */
const install = "--ignore-scripts";

/**
 * ONNX Runtime's binding for Node. It is an optional dependency: where a proxy blocks what its install script downloads, npm would install nothing
 * at all.
 * @throws ConfigError with the command that installs it, if it is absent
 */
export async function nodeBinding(): Promise<Runtime> {
  const binding = await withPackage("onnxruntime-node", "models on this machine", () => import("onnxruntime-node"), install);
  binding.env.logLevel = "fatal"; // what goes wrong comes as an exception; read once, when the first session is made
  const { InferenceSession, Tensor } = binding;
  const create: Runtime["InferenceSession"]["create"] = async (model, options) => {
    const session = await InferenceSession.create(model, options);
    // Feeds are this binding's own tensors: the engine makes them by `Tensor` below.
    const run = session.run.bind(session) as unknown as RuntimeSession["run"];
    return { run: (feeds, fetch) => run(feeds, fetch), release: () => session.release() };
  };
  return { InferenceSession: { create }, Tensor, fillsOutputs: true };
}
