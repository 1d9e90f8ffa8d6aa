import { expect, test } from "vitest";
import { EngineError } from "../../../src/core/errors.ts";
import { deviceFailure, missingProvider } from "./device-errors.ts";

const gpu = (message: string) => deviceFailure(true, new Error(message))?.message;
/** As ONNX Runtime puts CUDA's own words. */
const cuda = (words: string) =>
  `Non-zero status code returned while running MatMul node. Name:'' Status Message: cuda_call.cc:154 CudaCall ${words} ; GPU=0 ; hostname=h ; file=f.cc ; line=9 ; expr=e`;

test.each([
  cuda("CUDA failure 2: out of memory"),
  cuda("CUBLAS failure 3: CUBLAS_STATUS_ALLOC_FAILED"),
  "bfc_arena.cc:360 Failed to allocate memory for requested buffer of size 8",
  "CUDA_ERROR_OUT_OF_MEMORY",
  "vkAllocateMemory failed with VK_ERROR_OUT_OF_DEVICE_MEMORY",
])("memory that ran out on a GPU says so, with the next step: %s", (message) => {
  expect(gpu(message)).toMatch(/^the GPU's memory is "used up"\. .*--resume\.$/);
});

test.each([
  [
    cuda("CUDA failure 700: an illegal memory access was encountered"),
    "CUDA failure 700: an illegal memory access was encountered",
  ],
  [cuda("CUDA failure 214: uncorrectable ECC error encountered"), "CUDA failure 214: uncorrectable ECC error encountered"],
  [cuda("CUBLAS failure 13: CUBLAS_STATUS_EXECUTION_FAILED"), "CUBLAS failure 13: CUBLAS_STATUS_EXECUTION_FAILED"],
  [
    "CUDA error cudaErrorLaunchFailure:unspecified launch failure",
    "CUDA error cudaErrorLaunchFailure:unspecified launch failure",
  ],
  ["webgpu_context.cc:9 Device was lost: VK_ERROR_DEVICE_LOST", "Device was lost: VK_ERROR_DEVICE_LOST"],
  ["buffer_manager.cc:9 Failed to download data from buffer: Aborted", "Failed to download data from buffer: Aborted"],
])("a device that computes no more ends the run, by its own words: %s", (message, words) => {
  expect(gpu(message)).toBe(
    `the GPU is "lost (${words})". Nothing of this step was kept. Start the program again with --resume: it continues from the last checkpoint; the system's log says why the card stopped.`,
  );
});

test("a tensor beyond WebGPU's limits is no lack of memory", () => {
  expect(gpu("Buffer size (5368709120) exceeds the max buffer size limit (4294967292)")).toMatch(
    /^a tensor is "larger than this GPU takes"/,
  );
});

test("faults of a graph and of the processor are none of a device", () => {
  expect(gpu("Node (x) Op (Add) [ShapeInferenceError] Incompatible dimensions")).toBeUndefined();
  expect(deviceFailure(false, new Error("Device was lost"))).toBeUndefined();
  expect(deviceFailure(false, new Error("std::bad_alloc"))?.message).toMatch(/^memory is "used up"\. .*engine\.memory/);
});

test("an error that was named keeps its name", () => {
  const named = new EngineError("libcuda.so.1", undefined, { expected: "out of memory" });
  expect(deviceFailure(true, named)).toBe(named);
});

test("a provider that is not there says what to install", () => {
  const message =
    "Failed to load library libonnxruntime_providers_cuda.so with error: libcublas.so.13: cannot open shared object file";
  expect(missingProvider("cuda", new Error(message))?.message).toMatch(/^CUDA provider is missing; .*retrograde-rl install cuda/);
});
