import type { InferenceSession } from "onnxruntime-common";
import { withPackage } from "../../../src/core/optional-package.ts";

/** A tensor of a runtime. */
export interface RuntimeTensor {
  /** Float32Array for numbers. */
  readonly data: unknown;
  /** Frees its memory on a device. */
  dispose?(): void;
}

/** A model that is ready to run. */
export interface RuntimeSession {
  /** @param fetch names of the outputs to compute, or the tensors that they are written into */
  run(
    feeds: Readonly<Record<string, RuntimeTensor>>,
    fetch: readonly string[] | Readonly<Record<string, RuntimeTensor | null>>,
  ): Promise<Readonly<Record<string, RuntimeTensor>>>;
  release(): Promise<void>;
}

/**
 * The library that runs ONNX models, an argument of every session: `onnxruntime-node`, or `onnxruntime-web` where there is no Node. It lists the part
 * of their interface that the engine uses.
 */
export interface Runtime {
  readonly InferenceSession: { create(model: Uint8Array, options: InferenceSession.SessionOptions): Promise<RuntimeSession> };
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

let node: Promise<Runtime> | undefined;

/** Of all that is missing: named, it would become a dependency of the user's own, whose script runs in the next clean install. */
const install = "--ignore-scripts";

/**
 * ONNX Runtime's binding for Node, loaded when a session is opened without another one. It is an optional dependency: where a proxy
 * blocks what its install script downloads, npm would install nothing at all.
 * @throws ConfigError with the command that installs it, if it is absent
 */
export function nodeRuntime(): Promise<Runtime> {
  node ??= withPackage("onnxruntime-node", "models on this machine", () => import("onnxruntime-node"), install).then(
    (binding) => {
      binding.env.logLevel = "fatal"; // what goes wrong comes as an exception; read once, when the first session is made
      return { InferenceSession: binding.InferenceSession, Tensor: binding.Tensor, fillsOutputs: true };
    },
  );
  return node;
}
