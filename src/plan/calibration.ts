import { planStep } from "./estimate.ts";
import { hardwareOf } from "./hardware.ts";
import type { Interval } from "./interval.ts";
import { type ModelShape, modelShape } from "./model-shape.ts";
import { workloadSchema } from "./workload.ts";

/** A step that somebody measured. */
interface Measured {
  readonly name: string;
  readonly source: string;
  readonly model: string | ModelShape;
  readonly gpu: string;
  /** The rate of a CPU's matrix products, measured right before. */
  readonly gflops?: number;
  readonly gpus: number;
  readonly work: Parameters<typeof workloadSchema.parse>[0];
  readonly seconds: number;
  readonly asynchronous?: boolean;
}

const nemo = "NVIDIA NeMo RL v0.4, docs/about/performance-summary.md: GRPO, DGX-H100, bfloat16, Megatron";
/** 2,048 samples, four mini-batches of 512, log-probs of the policy and of the reference in passes of their own, sequences up to 4,096. */
const nemoWork = { algorithm: "grpo", tasks: 64, group: 32, turns: 1, observation: 0, toolSeconds: 0, kl: true, miniBatches: 4 };

/** A prompt of that data set is taken as 150 tokens; the answers' mean length is the reported mean less the prompt. */
const prompt = 150;
const answers = (mean: number) => ({ prompt, action: mean - prompt, longest: (4096 - prompt) / (mean - prompt) });

/** The benchmark's model of 5 million parameters (bench/model.ts). */
const five: ModelShape = {
  ...{ name: "5 million parameters", layers: 6, hidden: 256, intermediate: 768, heads: 4, kvHeads: 2, headDim: 64 },
  ...{ vocabulary: 1024, tied: true },
};
/** `npm run bench -- --only step-trl`: 8 tasks of 256 words, 8 rollouts of 128 tokens each, the local engine on two threads. */
const localWork = {
  ...{ algorithm: "grpo", engine: "local", tasks: 8, group: 8, turns: 1, prompt: 256, action: 128, longest: 1, observation: 0 },
  ...{ toolSeconds: 0, recompute: false, microBatch: 2000 },
};

export const measuredSteps: readonly Measured[] = [
  {
    ...{ name: "Llama-3.1-8B, 16 H100, GRPO", source: nemo, model: "meta-llama/Llama-3.1-8B-Instruct", gpu: "h100", gpus: 16 },
    ...{ work: { ...nemoWork, ...answers(1060), recompute: false }, seconds: 97.7 },
  },
  {
    ...{ name: "Llama-3.1-8B, 16 H100, GRPO, one step behind", source: nemo, model: "meta-llama/Llama-3.1-8B-Instruct" },
    ...{ gpu: "h100", gpus: 16, work: { ...nemoWork, ...answers(1129), recompute: false }, seconds: 74.6, asynchronous: true },
  },
  {
    ...{ name: "Qwen3-32B, 32 H100, GRPO", source: nemo, model: "Qwen/Qwen3-32B", gpu: "h100", gpus: 32 },
    ...{ work: { ...nemoWork, ...answers(3206), tensorParallel: 4 }, seconds: 393 },
  },
  {
    ...{ name: "Qwen3-32B, 64 H100, GRPO, one step behind", source: nemo, model: "Qwen/Qwen3-32B", gpu: "h100", gpus: 64 },
    ...{ work: { ...nemoWork, ...answers(3207), tensorParallel: 4 }, seconds: 215, asynchronous: true },
  },
  {
    ...{ name: "Local engine, 2 CPU cores of 138 GFLOP/s, GRPO", source: "docs/performance.md, step-trl: 10.3 rollouts/s" },
    ...{ model: five, gpu: "cpu", gflops: 138, gpus: 1, work: localWork, seconds: 64 / 10.3 },
  },
  {
    ...{ name: "Local engine, 2 CPU cores of 481 GFLOP/s, GRPO", source: "docs/performance.md, step-trl: 17.3 rollouts/s" },
    ...{ model: five, gpu: "cpu", gflops: 481, gpus: 1, work: localWork, seconds: 64 / 17.3 },
  },
];

export interface Calibration {
  readonly name: string;
  readonly source: string;
  readonly measured: number;
  readonly estimated: Interval;
}

/** Every measured step beside its estimate. */
export function calibrations(): Calibration[] {
  return measuredSteps.map(({ name, source, model, gpu, gflops = 0, gpus, work, seconds, asynchronous }) => {
    const shape = typeof model === "string" ? modelShape(model) : model;
    const { time, alternatives } = planStep(shape, hardwareOf(gpu, gflops), gpus, workloadSchema.parse(work));
    const estimated = asynchronous && alternatives.asynchronous ? alternatives.asynchronous.total : time.total;
    return { name, source, measured: seconds, estimated };
  });
}
