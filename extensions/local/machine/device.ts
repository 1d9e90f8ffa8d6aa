import type { Runtime } from "./runtime.ts";

/** An execution provider of ONNX Runtime. */
export type Provider = "cpu" | "webgpu" | "cuda";

/** Whether a provider computes beside the processor, in memory of its own. */
export function isGpu(provider: Provider): boolean {
  return provider === "webgpu" || provider === "cuda";
}

/** Precisions of matrix products. All else is float32, as are weights, gradients and moments. */
export const precisions = ["float32", "tf32", "bfloat16"] as const;
export type Precision = (typeof precisions)[number];

export interface SessionOptions {
  /** The library that runs ONNX models. Default: ONNX Runtime's binding for Node. */
  readonly runtime?: Runtime;
  readonly threads: number;
  /** The CPU if left out. */
  readonly provider?: Provider;
  /** The precision of products, on CUDA. Default "float32". */
  readonly precision?: Precision;
  /** Whether memory that a run took on the CPU is kept for the next one, as it is if left out. Fetching and clearing it takes time. */
  readonly keepMemory?: boolean;
  /**
   * Whether the second run of the same sizes takes its memory as one block, as it does if left out. What the first one took is kept beside it,
   * so where sizes differ from run to run that is memory for nothing.
   */
  readonly planMemory?: boolean;
}

/** A kernel that operators are lowered to where a provider has it; otherwise they are spelled out. */
export type Kernel = "FusedMatMul" | "LogSoftmax" | "ConstantOfShape" | "InverseDeviation" | "SizeVector";

/**
 * Kernels that a provider of ONNX Runtime 1.30 lacks, as measured (research/notes/gpu.md). "SizeVector" is an integer vector put together when the
 * graph runs: providers of GPUs leave that to the CPU. "InverseDeviation" is the second output of SimplifiedLayerNormalization: WebGPU's
 * kernel writes the mean there.
 */
const lacking: { readonly [P in Provider]: readonly Kernel[] } = {
  cpu: [],
  webgpu: ["FusedMatMul", "LogSoftmax", "ConstantOfShape", "InverseDeviation", "SizeVector"],
  cuda: ["SizeVector"],
};

export function hasKernel(provider: Provider, kernel: Kernel): boolean {
  return !lacking[provider].includes(kernel);
}

/**
 * Threads sleep between the nodes that they share. Each session has threads of its own, and those that wait by spinning take the processor from the
 * session that has work, and from other programs.
 */
const sleeping = { intra_op: { allow_spinning: "0" }, inter_op: { allow_spinning: "0" } };

/**
 * Returns the options of ONNX Runtime for the provider. Away from the CPU, no operator may fall back to it in silence.
 * @param captured whether runs of one binding are recorded on the device and replayed
 */
export function providerOptions(provider: Provider, captured = false, precision: Precision = "float32") {
  if (!isGpu(provider)) return { executionProviders: ["cpu"], extra: { session: sleeping } };
  const session = { ...sleeping, disable_cpu_ep_fallback: "1" };
  if (provider === "webgpu")
    return {
      executionProviders: ["webgpu"],
      extra: { session, ep: { webgpuexecutionprovider: { enableGraphCapture: captured ? "1" : "0" } } },
    };
  const cuda = { ...cudaSettings, use_tf32: precision === "float32" ? "0" : "1", enable_cuda_graph: captured ? "1" : "0" };
  return { executionProviders: [{ name: "cuda", ...cuda }], extra: { session } };
}

/** Memory is taken as it is needed, and not in powers of two. By default cuBLAS would round factors of float32 to 10 bits, too (TF32). */
const cudaSettings = { arena_extend_strategy: "kSameAsRequested" };
