import { expect, test } from "vitest";
import { type Loader, loadingOnce, requireDriver } from "./load.ts";
import { cudaWheels } from "./packages.ts";

/** A driver whose functions answer this. */
const driver = (version: number, status = 0): Loader => ({
  load: () => ({
    func: (signature) =>
      signature.includes("cuDriverGetVersion")
        ? (into) => {
            (into as number[])[0] = version;
          }
        : () => status,
  }),
});

test("a driver of CUDA 13 with a card is enough", () => {
  expect(() => requireDriver(driver(13000))).not.toThrow();
});

test("no driver, an old one and none that finds a card are errors, each with what to do", () => {
  const none: Loader = {
    load: () => {
      throw new Error("libcuda.so.1: cannot open shared object file");
    },
  };
  const loaders = [none, driver(12080), driver(12990), ...[100, 802, 803, 999].map((status) => driver(13000, status))];
  const said = loaders.map((loader) => {
    try {
      return requireDriver(loader);
    } catch (error) {
      return String(error);
    }
  });
  const install = 'Install or update the driver; nvidia-smi shows its version. device: "webgpu" and "cpu" need no CUDA.';
  const expected = "expected NVIDIA's driver from 580 on, which CUDA 13 needs";
  const unready = (status: number) =>
    `EngineError: NVIDIA's driver is "not ready (cuInit: ${status})"; expected a card that it can use.`;
  expect(said).toEqual([
    `EngineError: libcuda.so.1 is missing; ${expected}. ${install}`,
    `EngineError: the CUDA version of NVIDIA's driver is "12.8"; ${expected}. ${install}`,
    `EngineError: the CUDA version of NVIDIA's driver is "12.99"; ${expected}. ${install}`,
    `${unready(100)} it finds no card: CUDA_VISIBLE_DEVICES hides it, or the container was started without it (docker run --gpus all).`,
    `${unready(802)} the card is not ready yet.`,
    `${unready(803)} the driver's library is of another version than its kernel module: restart the machine.`,
    `${unready(999)} See what nvidia-smi says.`,
  ]);
});

test("libraries are loaded once, after the driver, in an order in which each finds those it needs; a failure is tried again", async () => {
  const asked: unknown[] = [];
  const noting = (inner: Loader): Loader => ({
    load: (path, options) => {
      asked.push([path, options]);
      return inner.load(path, options);
    },
  });
  const loaders = [driver(12080), driver(13000), driver(12080)].map(noting);
  const load = loadingOnce(
    async () => loaders.shift() ?? expect.unreachable(),
    () => "/cuda",
  );
  await expect(load()).rejects.toThrow("12.8");
  await load();
  await load();
  const driven = ["libcuda.so.1", { global: true }];
  const names = cudaWheels.slice(0, -1).flatMap(({ libraries }) => Object.keys(libraries));
  expect(asked).toEqual([driven, driven, ...names.map((name) => [`/cuda/${name}`, { global: true }])]);
  // cuBLAS's own library before the one that calls it, cuDNN's parts before cuDNN.
  expect([names[0], names[1], names.at(-1)]).toEqual(["libcudart.so.13", "libcublasLt.so.13", "libcudnn.so.9"]);
});

test("where none are installed, the system's are left to the provider", async () => {
  const asked: string[] = [];
  const loader: Loader = {
    load: (path) => {
      asked.push(path);
      return driver(13000).load(path);
    },
  };
  await loadingOnce(
    async () => loader,
    () => undefined,
  )();
  expect(asked).toEqual(["libcuda.so.1"]);
});
