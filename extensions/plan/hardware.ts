import { ConfigError } from "../../src/core/errors.ts";
import { didYouMean } from "../../src/core/settings.ts";
import type { Interval } from "./interval.ts";

/** A kind of processor, in units of one. */
export interface Hardware {
  readonly name: string;
  /** The operations of dense matrix products per second: bfloat16 on GPUs, float32 on CPUs. */
  readonly flops: number;
  readonly memoryBytes: number;
  /** Bytes a second of its own memory. */
  readonly bandwidth: number;
  /** Bytes a second to another one of the same machine, one way. */
  readonly link: number;
  /** Bytes a second to one of another machine. */
  readonly network: number;
  /** Bytes a second to the memory of the machine. */
  readonly host: number;
  readonly perMachine: number;
  /** Bytes of a weight in passes and samples. */
  readonly weightBytes: 2 | 4;
  readonly efficiency: Efficiency;
  readonly source: string;
}

/** Shares of the peak rates that real programs reach. */
export interface Efficiency {
  /** The share of `flops` in passes of training. */
  readonly training: Interval;
  /** The hidden size from which on the lower bound of `training` holds; narrower products reach less, in proportion. */
  readonly wideFrom: number;
  /** The share of `flops` while prompts are read. */
  readonly prefill: Interval;
  /** The share of `bandwidth` while tokens are sampled. */
  readonly decoding: Interval;
  /** Seconds of a decoding step that are neither memory nor arithmetic. */
  readonly stepOverhead: Interval;
  /** Seconds of a step in which neither half works: engines that wake up, batches that are dealt out. */
  readonly betweenPhases: Interval;
}

/**
 * Training: Llama 3 was trained at 0.38 to 0.43 (arXiv:2407.21783, table 4), and batches of rollouts, which are short and uneven, reach less.
 * The lower bounds and the constants are fitted to the measured steps of `calibration.ts`; `wideFrom` was chosen after a model of 0.5 billion parameters missed.
 */
const gpu: Efficiency = {
  training: { low: 0.2, high: 0.43 },
  wideFrom: 2048,
  prefill: { low: 0.3, high: 0.6 },
  decoding: { low: 0.4, high: 0.75 },
  stepOverhead: { low: 0.001, high: 0.006 },
  betweenPhases: { low: 2, high: 15 },
};

const GB = 1e9;
const TFLOPS = 1e12;

/** NVIDIA's data sheets; `network` is one 400 Gb/s adapter a GPU (200 Gb/s for A100). */
const gpus: readonly Hardware[] = [
  {
    ...{ name: "h100", flops: 989 * TFLOPS, memoryBytes: 80 * GB, bandwidth: 3350 * GB, link: 450 * GB, network: 50 * GB },
    ...{ host: 50 * GB, perMachine: 8, weightBytes: 2, efficiency: gpu, source: "NVIDIA H100 data sheet, SXM" },
  },
  {
    ...{ name: "h200", flops: 989 * TFLOPS, memoryBytes: 141 * GB, bandwidth: 4800 * GB, link: 450 * GB, network: 50 * GB },
    ...{ host: 50 * GB, perMachine: 8, weightBytes: 2, efficiency: gpu, source: "NVIDIA H200 data sheet, SXM" },
  },
  {
    ...{ name: "a100", flops: 312 * TFLOPS, memoryBytes: 80 * GB, bandwidth: 2039 * GB, link: 300 * GB, network: 25 * GB },
    ...{ host: 25 * GB, perMachine: 8, weightBytes: 2, efficiency: gpu, source: "NVIDIA A100 data sheet, 80 GB SXM" },
  },
  {
    ...{ name: "gb200", flops: 2500 * TFLOPS, memoryBytes: 186 * GB, bandwidth: 8000 * GB, link: 900 * GB, network: 50 * GB },
    ...{ host: 450 * GB, perMachine: 72, weightBytes: 2, efficiency: gpu, source: "NVIDIA GB200 NVL72 data sheet, a 72nd of it" },
  },
  {
    ...{ name: "l40s", flops: 362 * TFLOPS, memoryBytes: 48 * GB, bandwidth: 864 * GB, link: 25 * GB, network: 25 * GB },
    ...{ host: 25 * GB, perMachine: 8, weightBytes: 2, efficiency: gpu, source: "NVIDIA L40S data sheet" },
  },
];

/** The local engine on a CPU: shares measured on two cores (docs/performance.md, "share of the peak" and sampling). */
const cpuEfficiency: Efficiency = {
  training: { low: 0.45, high: 1 },
  wideFrom: 0,
  prefill: { low: 0.45, high: 1 },
  decoding: { low: 0.3, high: 0.9 },
  stepOverhead: { low: 0.0005, high: 0.002 },
  betweenPhases: { low: 0, high: 0.5 },
};

const hardwareNames: readonly string[] = [...gpus.map(({ name }) => name), "cpu"];

/**
 * Returns a kind of processor by its name.
 * @param gflops of matrix products of a "cpu", as `retrograde doctor` measures them
 * @throws ConfigError for a name that is not known
 */
export function hardwareOf(name: string, gflops: number): Hardware {
  const found = gpus.find((each) => each.name === name.toLowerCase());
  if (found !== undefined) return found;
  if (name === "cpu") {
    return {
      ...{ name, flops: gflops * 1e9, memoryBytes: 16 * GB, bandwidth: 20 * GB, link: 10 * GB, network: GB, host: 10 * GB },
      ...{ perMachine: 1, weightBytes: 4, efficiency: cpuEfficiency, source: `${gflops} GFLOP/s, as retrograde doctor measures` },
    };
  }
  throw new ConfigError("--gpu", name, { expected: hardwareNames, hint: didYouMean(name, hardwareNames) });
}
