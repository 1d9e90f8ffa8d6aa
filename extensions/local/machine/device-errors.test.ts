import { expect, test } from "vitest";
import { EngineError } from "../../../src/core/errors.ts";
import type { Provider } from "./device.ts";
import { deviceFailure, isFallback, missingProvider } from "./device-errors.ts";

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

const said = (provider: Provider, message: string) => missingProvider(provider, new Error(message))?.message;

test("a provider that is not there says what to install", () => {
  const webgpu = [
    "Failed to get a WebGPU adapter",
    "WebGPU backend not found",
    "no available backend found. ERR: [webgpu] backend not found",
    "webgpu is not supported",
    "Unsupported: WEBGPU unsupported here",
  ];
  const drivers = "expected a graphics driver for Vulkan (Linux), Metal (macOS) or Direct3D 12 (Windows)";
  const next =
    process.platform === "linux"
      ? "Install the Vulkan loader and your card's driver, on Debian or Ubuntu: apt-get install libvulkan1 mesa-vulkan-drivers, or NVIDIA's own driver."
      : 'Update the graphics driver, or set device: "cpu".';
  for (const message of webgpu) expect(said("webgpu", message)).toBe(`WebGPU adapter is missing; ${drivers}. ${next}`);
  const cuda = [
    "Failed to load library libonnxruntime_providers_cuda.so with error: libcublas.so.13: cannot open shared object file",
    "Failed to load shared library",
    "backend not found",
    "CUDA is unsupported",
    "CUDA execution provider is not enabled in this build.",
  ];
  for (const message of cuda)
    expect(said("cuda", message)).toBe(
      'CUDA provider is missing; expected ONNX Runtime\'s CUDA libraries, CUDA 13 and cuDNN 9; Linux on x64 only. Install them with: npx retrograde-rl install cuda. device: "webgpu" needs a graphics driver alone.',
    );
  expect([said("cpu", "backend not found"), said("webgpu", "load library"), said("cuda", "no adapter")]).toEqual([
    ...[undefined, undefined, undefined],
  ]);
});

test("each fault of memory and of a GPU's limits has its own advice", () => {
  const memory = (onGpu: boolean) => deviceFailure(onGpu, new Error("bad allocation; bad_alloc"))?.message;
  expect(memory(true)).toBe(
    'the GPU\'s memory is "used up". End other programs on the GPU. One run has room beside none: it plans by what is free when it begins. Then continue with --resume.',
  );
  expect(memory(false)).toBe(
    'memory is "used up". End other programs, or set engine.memory, in GiB: passes are then planned smaller.',
  );
  for (const message of [
    "badalloc",
    "bad alloc",
    "out of memory",
    "CUDA failure 2",
    "cudaErrorMemoryAllocation",
    "STATUS_ALLOC_FAILED",
  ])
    expect(gpu(message)).toContain('"used up"');
  expect(gpu("CUDA failure 21: x")).toContain("lost (CUDA failure 21: x)");
  const limits = [
    "exceeds the maximum storage buffer binding size",
    "exceeds the max buffer size",
    "larger than the maximum buffer binding size",
    "larger than the maximum storage buffer binding size",
  ];
  for (const message of limits)
    expect(gpu(message)).toBe(
      'a tensor is "larger than this GPU takes"; expected the limits of its WebGPU driver. Set engine.maxLength or rollout.concurrency lower, or device: "cuda" or "cpu".',
    );
  expect(deviceFailure(false, new Error(limits[0]))).toBeUndefined();
  for (const message of [
    "device lost",
    "device_removed",
    "Device has been lost",
    "device is hung",
    "GPU has fallen off the bus",
    "CUDNN failure 8",
  ])
    expect(gpu(message)).toMatch(/^the GPU is "lost \(/);
  expect(gpu(`device lost ${"x".repeat(200)}`)).toContain(`lost (device lost ${"x".repeat(108)})"`);
});

test("what a provider lacks is the graph's own", () => {
  expect([
    isFallback(new Error("fallback to CPU EP has been explicitly disabled by the user")),
    isFallback(new Error("no")),
  ]).toEqual([true, false]);
});
