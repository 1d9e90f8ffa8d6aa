import { join } from "node:path";
import { EngineError } from "../../../../src/core/errors.ts";
import { packagedRuntime } from "../native/packaged.ts";
import { installedCuda } from "./installed.ts";
import { cudaDriver, cudaWheels } from "./packages.ts";

/** The part of koffi that loads libraries. */
export interface Loader {
  load(path: string, options?: { readonly global?: boolean }): { func(signature: string): (...values: unknown[]) => unknown };
}

/** Kept: koffi closes a library whose handle nobody holds. */
const handles: unknown[] = [];

/**
 * Loads the libraries that the CUDA provider needs, once, so that it finds them wherever they lie. Where `install cuda` put none, the system's are left
 * to it.
 * @throws EngineError without a driver, or with one that is too old: the next call tries again
 */
export const loadCuda = loadingOnce(
  async () => (await import("koffi")).default,
  () => installedCuda(packagedRuntime()),
);

/** @param installed the folder of the libraries, if they were installed */
export function loadingOnce(open: () => Promise<Loader>, installed: () => string | undefined): () => Promise<void> {
  let loaded: Promise<void> | undefined;
  const load = async () => {
    const koffi = await open();
    requireDriver(koffi);
    const folder = installed();
    if (folder === undefined) return;
    const names = cudaWheels.filter(({ name }) => name !== "onnxruntime-gpu").flatMap(({ libraries }) => Object.keys(libraries));
    for (const name of names) handles.push(koffi.load(join(folder, name), { global: true }));
  };
  return () => {
    loaded ??= load();
    loaded.catch(() => {
      loaded = undefined;
    });
    return loaded;
  };
}

/** CUresult, as far as each says what to do. */
const refusals: Readonly<Record<number, string>> = {
  100: "it finds no card: CUDA_VISIBLE_DEVICES hides it, or the container was started without it (docker run --gpus all)",
  802: "the card is not ready yet",
  803: "the driver's library is of another version than its kernel module: restart the machine",
};

/** @throws EngineError where NVIDIA's driver is not there, too old, or finds no card */
export function requireDriver(koffi: Loader): void {
  const expected = `NVIDIA's driver from ${cudaDriver.driver} on, which CUDA 13 needs`;
  const hint = 'Install or update the driver; nvidia-smi shows its version. device: "webgpu" and "cpu" need no CUDA.';
  let driver: ReturnType<Loader["load"]>;
  try {
    driver = koffi.load("libcuda.so.1", { global: true });
  } catch (cause) {
    throw new EngineError("libcuda.so.1", undefined, { expected, hint, cause });
  }
  handles.push(driver);
  const version: [number] = [0];
  driver.func("int cuDriverGetVersion(_Out_ int *version)")(version);
  if (version[0] < cudaDriver.cuda)
    throw new EngineError("the CUDA version of NVIDIA's driver", shown(version[0]), { expected, hint });
  const status = Number(driver.func("int cuInit(unsigned int flags)")(0));
  if (status === 0) return;
  throw new EngineError("NVIDIA's driver", `not ready (cuInit: ${status})`, {
    expected: "a card that it can use",
    hint: `${refusals[status] ?? "See what nvidia-smi says"}.`,
  });
}

/** 12080 as "12.8". */
function shown(version: number): string {
  return `${Math.floor(version / 1000)}.${Math.floor((version % 1000) / 10)}`;
}
