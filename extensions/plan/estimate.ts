import { ConfigError } from "../../src/core/errors.ts";
import type { Hardware } from "./hardware.ts";
import { atRate, exactly, type Interval, larger, plus, times } from "./interval.ts";
import { type Memory, memoryOf } from "./memory.ts";
import { adapterParameters, cacheBytes, forwardFlops, type ModelShape, parameters } from "./model-shape.ts";
import {
  contextBefore,
  extendsItself,
  optimiserSteps,
  type Passes,
  passesOf,
  referencePasses,
  serverWaits,
  sharedPasses,
  trajectories,
  unsharedPasses,
  type Workload,
} from "./workload.ts";

/** Seconds of each part of a step, one after another. */
export interface StepTime {
  readonly sampling: Interval;
  /** Forward passes alone. */
  readonly forward: Interval;
  /** Forward and backward passes. */
  readonly backward: Interval;
  readonly optimiser: Interval;
  /** New weights to the samplers. */
  readonly transfer: Interval;
  /** Waits for the server's answers, beside its work. */
  readonly waits: Interval;
  readonly betweenPhases: Interval;
  readonly total: Interval;
}

export interface Plan {
  readonly gpus: number;
  readonly time: StepTime;
  readonly memory: Memory;
  readonly traffic: Traffic;
  /** Seconds of a step under another choice. */
  readonly alternatives: {
    /** Rollouts of the next step are sampled by other GPUs meanwhile; undefined with one GPU. */
    readonly asynchronous: { readonly samplingGpus: number; readonly total: Interval } | undefined;
    /** The tokens that rows share are computed once, or by each row for itself. Token-passes count a backward pass three times. */
    readonly shared: { readonly total: Interval; readonly tokenPasses: number };
    readonly unshared: { readonly total: Interval; readonly tokenPasses: number };
    /** One update of the whole batch instead of one for each turn. SeeUPO alone. */
    readonly withoutTurnUpdates: { readonly total: Interval } | undefined;
    /** SeeUPO with three forward passes and a backward one over whole trajectories for every turn. */
    readonly referenceProcedure: { readonly total: Interval } | undefined;
  };
}

/** The data that travels between the trainer's program and the server in a step. */
export interface Traffic {
  readonly requests: number;
  readonly sentBytes: number;
  readonly receivedBytes: number;
}

/**
 * Seconds of one acknowledged request and its result beside the work: 0.07 to 0.15 s on SkyRL 0.4.0, whose engine looks for requests every 0.1 s
 * (measured on a CPU with a model of two layers).
 */
const serverWait: Interval = { low: 0.07, high: 0.3 };

/**
 * Estimates a training step on a number of GPUs that sample first and train then.
 * @throws ConfigError if the sampler's copies do not fit the number of GPUs
 */
export function planStep(shape: ModelShape, hardware: Hardware, gpus: number, work: Workload): Plan {
  if (gpus % work.tensorParallel !== 0) {
    throw new ConfigError("--tensor-parallel", work.tensorParallel, { expected: `a divisor of the ${gpus} GPUs` });
  }
  const memory = memoryOf(shape, hardware, gpus, work);
  const time = stepTime(shape, hardware, gpus, work, passesOf(work));
  const withPasses = (passes: Passes) => ({
    total: stepTime(shape, hardware, gpus, work, passes).total,
    tokenPasses: passes.forward + 3 * passes.backward,
  });
  return {
    ...{ gpus, time, memory, traffic: traffic(work) },
    alternatives: {
      asynchronous: bestSplit(shape, hardware, gpus, work),
      shared: withPasses(sharedPasses(work)),
      unshared: withPasses(unsharedPasses(work)),
      withoutTurnUpdates:
        work.algorithm === "seeupo"
          ? { total: planStep(shape, hardware, gpus, { ...work, algorithm: "grpo" }).time.total }
          : undefined,
      referenceProcedure: work.algorithm === "seeupo" ? withPasses(referencePasses(work)) : undefined,
    },
  };
}

function stepTime(shape: ModelShape, hardware: Hardware, gpus: number, work: Workload, passes: Passes): StepTime {
  const parts = {
    sampling: samplingTime(shape, hardware, gpus, work),
    ...trainingTime(shape, hardware, gpus, work, passes),
    transfer: transferTime(shape, hardware, gpus, work),
    waits: times(serverWait, serverWaits(work)),
    betweenPhases: hardware.efficiency.betweenPhases,
  };
  return { ...parts, total: plus(...Object.values(parts)) };
}

/**
 * Sampling of all trajectories at once. A decoding step reads the weights and the cached tokens of all sequences, and computes one token for each. The
 * longest trajectory decides the number of steps; meanwhile the others end, so the mean number of sequences is the shared total over that length.
 */
function samplingTime(shape: ModelShape, hardware: Hardware, gpus: number, work: Workload): Interval {
  const { efficiency, bandwidth, flops } = hardware;
  const { turns, action, longest, tensorParallel, toolSeconds, prompt, observation, dropped } = work;
  const copies = gpus / tensorParallel;
  const [rows, mean] = [trajectories(work) / copies, turns * action];
  const context = (contextBefore(work, 1) + contextBefore(work, turns) + action) / 2;
  const fits = Math.max(
    1,
    (0.8 * hardware.memoryBytes * tensorParallel - hardware.weightBytes * parameters(shape)) / (cacheBytes(shape) * context),
  );
  const waves = Math.max(1, rows / fits);
  const at = (stretch: number, bound: "low" | "high") => {
    const atOnce = rows / waves / stretch;
    const best = bound === "low" ? "high" : "low";
    const bytes = hardware.weightBytes * parameters(shape) + atOnce * context * cacheBytes(shape);
    const reading = bytes / (tensorParallel * bandwidth * efficiency.decoding[best]);
    const computing = (atOnce * forwardFlops(shape, context)) / (tensorParallel * flops * efficiency.prefill[best]);
    const step = (bound === "low" ? Math.max(reading, computing) : reading + computing) + efficiency.stepOverhead[bound];
    return waves * (mean * stretch * step + turns * toolSeconds);
  };
  const again = dropped > 0 ? action - dropped : 0;
  const cached = work.tasks * prompt + trajectories(work) * (turns - 1) * (observation + again);
  const uncached = trajectories(work) * (prompt + (turns - 1) * (observation + again));
  const prefill: Interval = {
    low: (cached * forwardFlops(shape, context)) / (gpus * flops * efficiency.prefill.high),
    high: (uncached * forwardFlops(shape, context)) / (gpus * flops * efficiency.prefill.low),
  };
  return plus({ low: at(longest ?? 1.2, "low"), high: at(longest ?? 2, "high") }, prefill);
}

/** Passes and optimiser steps. Sharded weights are gathered for each micro-batch, beside the arithmetic where that is longer. */
function trainingTime(shape: ModelShape, hardware: Hardware, gpus: number, work: Workload, passes: Passes) {
  const { efficiency, flops, link, network, host, perMachine, bandwidth, weightBytes } = hardware;
  const perToken = forwardFlops(shape, passes.attended);
  const { low, high } = efficiency.training;
  const trainingShare = { low: low * Math.min(1, shape.hidden / efficiency.wideFrom), high };
  // The base of an adapter has no gradient of its own: its backward half is the activations' alone.
  const backwardFactor = (work.rank > 0 ? 2 : 3) + (work.recompute ? 1 : 0);
  const computing = (tokens: number, factor: number) => atRate(tokens * perToken * factor, times(trainingShare, gpus * flops));
  const [steps, size] = [optimiserSteps(work), parameters(shape)];
  const gathering = (tokens: number, rounds: number, collectives: number): Interval => {
    if (gpus === 1 || tokens === 0) return exactly(0);
    const microBatches = Math.max(rounds, tokens / (gpus * work.microBatch));
    const bytes = microBatches * collectives * weightBytes * size;
    return { low: bytes / link, high: bytes / (gpus > perMachine ? network : link) };
  };
  const trained = work.rank > 0 ? adapterParameters(shape, work.rank) : size;
  // Adam reads and writes weights, both moments and the gradient, in 32 bits.
  const adam = (steps * 28 * trained) / (gpus * bandwidth);
  const moving = work.offload ? (2 * 12 * trained + 2 * 2 * size) / (gpus * host) : 0;
  return {
    forward: larger(computing(passes.forward, 1), gathering(passes.forward, steps, 1)),
    backward: larger(computing(passes.backward, backwardFactor), gathering(passes.backward, steps, work.rank > 0 ? 2 : 3)),
    optimiser: { low: adam + moving, high: 2 * adam + 2 * moving },
  };
}

/** New weights to every sampler: gathered over the fastest link at best, and over the slowest at worst. */
function transferTime(shape: ModelShape, hardware: Hardware, gpus: number, work: Workload): Interval {
  const { link, network, host, perMachine, weightBytes } = hardware;
  const bytes = weightBytes * (work.rank > 0 ? adapterParameters(shape, work.rank) : parameters(shape));
  if (gpus === 1) return { low: 0, high: bytes / host };
  return { low: bytes / link, high: bytes / Math.min(host, gpus > perMachine ? network / 2 : link) };
}

/** Splits the GPUs so that sampling and training of neighbouring steps take about as long. */
function bestSplit(shape: ModelShape, hardware: Hardware, gpus: number, work: Workload): Plan["alternatives"]["asynchronous"] {
  let best: { samplingGpus: number; total: Interval } | undefined;
  for (let sampling = work.tensorParallel; sampling < gpus; sampling += work.tensorParallel) {
    const time = stepTime(shape, hardware, gpus - sampling, work, passesOf(work));
    const training = plus(time.forward, time.backward, time.optimiser, time.transfer, time.waits);
    const total = larger(samplingTime(shape, hardware, sampling, work), training);
    if (!fitsTraining(shape, hardware, gpus - sampling, work)) continue;
    if (best === undefined || total.low + total.high < best.total.low + best.total.high) best = { samplingGpus: sampling, total };
  }
  return best;
}

function fitsTraining(shape: ModelShape, hardware: Hardware, gpus: number, work: Workload): boolean {
  return memoryOf(shape, hardware, gpus, work).training.low <= hardware.memoryBytes;
}

/** Contexts travel as JSON when they are sampled (about 6 bytes a token), and as binary when they are trained. */
function traffic(work: Workload): Traffic {
  if (work.engine === "local") return { requests: 0, sentBytes: 0, receivedBytes: 0 };
  const rows = trajectories(work);
  let [sent, received] = [0, 0];
  for (let turn = 1; turn <= work.turns; turn++) {
    sent += rows * (6 * contextBefore(work, turn) + 300);
    received += rows * (8 * work.action + 200);
  }
  const { forward, backward } = passesOf(work);
  sent += 12 * forward + 16 * backward; // ids of 4 bytes, targets of 8, weights of 4
  received += 4 * (forward + backward);
  const passRequests = Math.ceil((12 * forward) / 5e6) + Math.ceil((16 * backward) / 5e6);
  const rowsSent = extendsItself(work) || work.algorithm === "seeupo" ? passRequests : passRequests + work.turns;
  return { requests: 2 * (rows * work.turns + rowsSent + optimiserSteps(work) + 1), sentBytes: sent, receivedBytes: received };
}
