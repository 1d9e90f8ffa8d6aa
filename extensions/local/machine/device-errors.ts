import { EngineError, reasonOf } from "../../../src/core/errors.ts";
import { host } from "../../../src/core/host.ts";
import type { Provider } from "./device.ts";

/** Whether a session could not be opened because the provider lacks an operator of its graph. */
export function isFallback(cause: unknown): boolean {
  return reasonOf(cause).includes("fallback to CPU EP has been explicitly disabled");
}

/** @param operator the first that the provider lacks */
export function fallbackError(provider: Provider, operator: string, cause: unknown): EngineError {
  return new EngineError(`operator ${operator} on ${provider}`, "not there", {
    expected: "one that this provider of ONNX Runtime has: on the CPU it would make every run copy its values there and back",
    hint: 'Please report this with the model\'s config.json. device: "cpu" runs every graph.',
    cause,
  });
}

/** Why a provider did not start, and what to install. */
export function missingProvider(provider: Provider, cause: unknown): EngineError | undefined {
  const message = reasonOf(cause);
  if (provider === "webgpu" && /adapter|webgpu.*(not found|not supported|unsupported)|backend not found/i.test(message)) {
    return new EngineError("WebGPU adapter", undefined, {
      expected: "a graphics driver for Vulkan (Linux), Metal (macOS) or Direct3D 12 (Windows)",
      hint:
        host.platform === "linux"
          ? "Install the Vulkan loader and your card's driver, on Debian or Ubuntu: apt-get install libvulkan1 mesa-vulkan-drivers, or NVIDIA's own driver."
          : 'Update the graphics driver, or set device: "cpu".',
      cause,
    });
  }
  if (provider === "cuda" && /load (shared )?library|backend not found|is unsupported|not enabled in this build/i.test(message)) {
    return new EngineError("CUDA provider", undefined, {
      expected: "ONNX Runtime's CUDA libraries, CUDA 13 and cuDNN 9; Linux on x64 only",
      hint: 'Install them with: npx retrograde-rl install cuda. device: "webgpu" needs a graphics driver alone.',
      cause,
    });
  }
  return undefined;
}

/** Memory that ran out, as ONNX Runtime, CUDA, its libraries, Dawn and the C++ library say it. */
const exhausted =
  /failed to allocate|bad[_ ]?alloc|out[ _]of[ _](\w+_)?memory|CUDA failure 2\b|STATUS_ALLOC_FAILED|cudaErrorMemoryAllocation/i;
/** Sizes that a device of WebGPU refuses, whatever memory is free. */
const tooLarge =
  /exceeds the max(imum)? (buffer|storage buffer binding) size|larger than the maximum (storage )?buffer binding size/i;
/** A device that computes no more, or wrong: a reset or removed card, a kernel that broke off. It stays so for this process. */
const lost =
  /device[ _]?(was |is |has been )?(lost|removed|hung)|DeviceLost|fallen off the bus|CUDA (failure|error)|cudaError|(CUBLAS|CUDNN)(_| failure)|illegal memory access|unspecified launch failure|uncorrectable ECC|Failed to download data from buffer/i;

/**
 * The fault of a device that a session met while it was opened or ran, with the next step; undefined for what is no fault of the device's. Errors that have
 * been named are returned as they are.
 */
export function deviceFailure(onGpu: boolean, cause: unknown): EngineError | undefined {
  if (cause instanceof EngineError) return cause;
  const message = reasonOf(cause);
  if (exhausted.test(message))
    return new EngineError(onGpu ? "the GPU's memory" : "memory", "used up", {
      hint: onGpu
        ? "End other programs on the GPU. One run has room beside none: it plans by what is free when it begins. Then continue with --resume."
        : "End other programs, or set engine.memory, in GiB: passes are then planned smaller.",
      cause,
    });
  if (!onGpu) return undefined;
  if (tooLarge.test(message))
    return new EngineError("a tensor", "larger than this GPU takes", {
      expected: "the limits of its WebGPU driver",
      hint: 'Set engine.maxLength or rollout.concurrency lower, or device: "cuda" or "cpu".',
      cause,
    });
  if (lost.test(message))
    return new EngineError("the GPU", `lost (${shortened(message)})`, {
      hint: "Nothing of this step was kept. Start the program again with --resume: it continues from the last checkpoint; the system's log says why the card stopped.",
      cause,
    });
  return undefined;
}

/** The library's words without where in its sources they stand. */
function shortened(message: string): string {
  const from = message.search(lost);
  return (
    message
      .slice(from, from + 120)
      .split(/ ?; ?/)[0]
      ?.trim() ?? ""
  );
}
