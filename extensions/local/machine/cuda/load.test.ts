import { expect, test } from "vitest";
import { type Loader, requireDriver } from "./load.ts";

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

test("no driver, an old one and none that finds a card are three errors, each with what to do", () => {
  const none: Loader = {
    load: () => {
      throw new Error("libcuda.so.1: cannot open shared object file");
    },
  };
  expect(() => requireDriver(none)).toThrow(/^libcuda\.so\.1 is missing; expected NVIDIA's driver from 580 on/);
  expect(() => requireDriver(driver(12080))).toThrow(/^the CUDA version of NVIDIA's driver is "12\.8"; expected .* from 580 on/);
  expect(() => requireDriver(driver(13000, 100))).toThrow(/cuInit: 100.*docker run --gpus all/);
});
