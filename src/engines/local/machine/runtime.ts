import type { InferenceSessionFactory, TensorConstructor } from "onnxruntime-common";

/**
 * The library that runs ONNX models, an argument of every session: `onnxruntime-node`, or `onnxruntime-web` where there is no Node.
 */
export interface Runtime {
  readonly InferenceSession: InferenceSessionFactory;
  readonly Tensor: TensorConstructor;
  /**
   * Whether a run writes into output tensors that are given to it, as onnxruntime-node does. onnxruntime-web returns them as they were. Default
   * false: outputs are then fetched and copied.
   */
  readonly fillsOutputs?: boolean;
}

let node: Promise<Runtime> | undefined;

/** ONNX Runtime's binding for Node, loaded when a session is opened without another one. */
export function nodeRuntime(): Promise<Runtime> {
  node ??= import("onnxruntime-node").then((binding) => {
    binding.env.logLevel = "fatal"; // what goes wrong comes as an exception; read once, when the first session is made
    return { InferenceSession: binding.InferenceSession, Tensor: binding.Tensor, fillsOutputs: true };
  });
  return node;
}
