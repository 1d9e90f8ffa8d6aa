import { planStep, type StepTime } from "./estimate.ts";
import { hardwareOf } from "./hardware.ts";
import type { Interval } from "./interval.ts";
import { type ModelShape, modelShape } from "./model-shape.ts";
import { workloadSchema } from "./workload.ts";

/** A step that somebody measured. */
interface Measured {
  readonly name: string;
  /** Whether the shares of peak rates were chosen with the step in view, or the step was found after they were chosen. */
  readonly use: "fitted" | "check";
  /** The part of the step that was measured. Default "total". */
  readonly part?: keyof StepTime;
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

const llama = "meta-llama/Llama-3.1-8B-Instruct";
const h100 = { use: "fitted", source: nemo, gpu: "h100" } as const;
const cpu = { use: "fitted", model: five, gpu: "cpu", gpus: 1, work: localWork } as const;
const nemo5 = "NVIDIA NeMo RL v0.5, docs/about/performance-summary.md: GRPO, bfloat16, Megatron";
const newer = { use: "check", source: nemo5 } as const;

/** A user's log of verl 0.3.0: 1,024 prompts of GSM8K × 5 answers, four mini-batches of 256, log-probs of the policy and of the reference. */
const verl = {
  use: "check",
  source: "verl issue 1208, the log of step 2",
  model: "Qwen/Qwen2.5-0.5B-Instruct",
  gpu: "h100",
  gpus: 4,
  work: {
    ...{ algorithm: "grpo", tasks: 1024, group: 5, turns: 1, prompt: 103, action: 325, longest: 1024 / 325, observation: 0 },
    ...{ toolSeconds: 0, kl: true, miniBatches: 4 },
  },
} as const;

const measuredSteps: readonly Measured[] = [
  {
    ...{ ...h100, name: "Llama-3.1-8B, 16 H100, GRPO", model: llama, gpus: 16 },
    ...{ work: { ...nemoWork, ...answers(1060), recompute: false }, seconds: 97.7 },
  },
  {
    ...{ ...h100, name: "Llama-3.1-8B, 16 H100, GRPO, one step behind", model: llama, gpus: 16 },
    ...{ work: { ...nemoWork, ...answers(1129), recompute: false }, seconds: 74.6, asynchronous: true },
  },
  {
    ...{ ...h100, name: "Qwen3-32B, 32 H100, GRPO", model: "Qwen/Qwen3-32B", gpus: 32 },
    ...{ work: { ...nemoWork, ...answers(3206), tensorParallel: 4 }, seconds: 393 },
  },
  {
    ...{ ...h100, name: "Qwen3-32B, 64 H100, GRPO, one step behind", model: "Qwen/Qwen3-32B", gpus: 64 },
    ...{ work: { ...nemoWork, ...answers(3207), tensorParallel: 4 }, seconds: 215, asynchronous: true },
  },
  {
    ...{
      ...cpu,
      name: "Local engine, 2 CPU cores of 138 GFLOP/s, GRPO",
      source: "docs/performance.md, step-trl: 10.3 rollouts/s",
    },
    ...{ gflops: 138, seconds: 64 / 10.3 },
  },
  {
    ...{
      ...cpu,
      name: "Local engine, 2 CPU cores of 481 GFLOP/s, GRPO",
      source: "docs/performance.md, step-trl: 17.3 rollouts/s",
    },
    ...{ gflops: 481, seconds: 64 / 17.3 },
  },
  {
    ...{ ...newer, name: "Llama-3.1-8B, 8 GB200, GRPO", model: llama, gpu: "gb200", gpus: 8 },
    ...{ work: { ...nemoWork, ...answers(1066), recompute: false }, seconds: 91 },
  },
  {
    ...{ ...newer, name: "Llama-3.1-8B, 8 GB200, GRPO, one step behind", model: llama, gpu: "gb200", gpus: 8 },
    ...{ work: { ...nemoWork, ...answers(1107), recompute: false }, seconds: 71.1, asynchronous: true },
  },
  {
    ...{ ...newer, name: "Qwen3-32B, 16 GB200, GRPO", model: "Qwen/Qwen3-32B", gpu: "gb200", gpus: 16 },
    ...{ work: { ...nemoWork, ...answers(3253) }, seconds: 381 },
  },
  {
    ...{ ...newer, name: "Qwen3-32B, 32 GB200, GRPO, one step behind", model: "Qwen/Qwen3-32B", gpu: "gb200", gpus: 32 },
    ...{ work: { ...nemoWork, ...answers(3258) }, seconds: 210, asynchronous: true },
  },
  {
    ...{ ...newer, name: "Qwen3-32B, 32 H100, GRPO", model: "Qwen/Qwen3-32B", gpu: "h100", gpus: 32 },
    ...{ work: { ...nemoWork, ...answers(3251), tensorParallel: 4 }, seconds: 376 },
  },
  { ...verl, name: "Qwen2.5-0.5B, 4 GH200, log-probs", part: "forward", seconds: 3.566 + 3.42 },
  { ...verl, name: "Qwen2.5-0.5B, 4 GH200, updates", part: "backward", seconds: 14.302 },
];

export interface Calibration {
  readonly name: string;
  readonly use: Measured["use"];
  readonly source: string;
  readonly measured: number;
  readonly estimated: Interval;
}

/** Every measured step beside its estimate. */
export function calibrations(): Calibration[] {
  return measuredSteps.map(({ name, use, source, model, gpu, gflops = 0, gpus, work, seconds, asynchronous, part = "total" }) => {
    const shape = typeof model === "string" ? modelShape(model) : model;
    const { time, alternatives } = planStep(shape, hardwareOf(gpu, gflops), gpus, workloadSchema.parse(work));
    const estimated = asynchronous && alternatives.asynchronous ? alternatives.asynchronous.total : time[part];
    return { name, use, source, measured: seconds, estimated };
  });
}
