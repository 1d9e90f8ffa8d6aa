export const benchmarkDevices = ["cpu", "openvino", "webgpu", "cuda"] as const;
export type BenchmarkDevice = (typeof benchmarkDevices)[number];

/** Read by peers in Python too (peers/device.py). */
const variable = "RETROGRADE_BENCH_DEVICE";

/** For this process and those that it starts. */
export function chooseDevice(device: BenchmarkDevice): void {
  process.env[variable] = device;
}

/** Whether the peers are on a GPU too. */
export function onGpu(device = chosenDevice()): boolean {
  return device === "webgpu" || device === "cuda";
}

export function chosenDevice(): BenchmarkDevice {
  const named = process.env[variable];
  return benchmarkDevices.find((device) => device === named) ?? "cpu";
}
