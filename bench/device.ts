export const benchmarkDevices = ["cpu", "webgpu", "cuda"] as const;
export type BenchmarkDevice = (typeof benchmarkDevices)[number];

/** Read by peers in Python too (peers/device.py). */
const variable = "RETROGRADE_BENCH_DEVICE";

/** For this process and those that it starts. */
export function chooseDevice(device: BenchmarkDevice): void {
  process.env[variable] = device;
}

export function chosenDevice(): BenchmarkDevice {
  const named = process.env[variable];
  return benchmarkDevices.find((device) => device === named) ?? "cpu";
}
