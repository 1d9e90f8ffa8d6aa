import type { Provider } from "../../extensions/local/machine/device.ts";

export const benchmarkDevices: readonly Provider[] = ["cpu", "webgpu", "cuda"];

/** Read by peers in Python too (peers/device.py). */
const variable = "RETROGRADE_BENCH_DEVICE";

/** For this process and those that it starts. */
export function chooseDevice(device: Provider): void {
  process.env[variable] = device;
}

export function chosenDevice(): Provider {
  const named = process.env[variable];
  return benchmarkDevices.find((device) => device === named) ?? "cpu";
}
