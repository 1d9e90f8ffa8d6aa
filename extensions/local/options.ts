import { EngineError } from "../../src/core/errors.ts";
import { requireAll } from "../../src/core/settings.ts";
import type { TokenId } from "../../src/core/trajectory.ts";
import type { Precision, Provider } from "./machine/device.ts";
import type { Runtime } from "./machine/runtime.ts";
import type { LoraSettings } from "./model/lora.ts";
import type { BasePrecision, RoundedPrecision } from "./model/rounded.ts";
import type { SamplerWeights } from "./sampling/sampling-graph.ts";
import { isRounded, localChecks } from "./settings.ts";

export interface LocalEngineOptions {
  /** A Hugging Face-format folder. */
  readonly model: string;
  /** Threads that compute; all cores if left out. */
  readonly threads?: number;
  /** The provider that computes; the CPU if left out. `chooseProvider` finds one that works. */
  readonly provider?: Provider;
  /** The precision of products in samples and passes, on CUDA. Default "float32". */
  readonly precision?: Precision;
  /** The library that runs ONNX models; ONNX Runtime's binding for Node if left out. */
  readonly runtime?: Runtime;
  /** Actions sampled side by side; 128 if left out. */
  readonly slots?: number;
  /** Longest sequence, context and action together; the model's own limit if left out. */
  readonly maxLength?: number;
  /** Text of an action so far; needed for stop strings only. */
  readonly decode?: (tokens: readonly TokenId[]) => string;
  /** Trains an adapter on the frozen model; the model itself if left out. */
  readonly lora?: LoraOptions;
  /** Whether layers compute their activations again in the backward half; where these would fill the memory if left out. */
  readonly recompute?: boolean;
  /** The bytes that a pass of training may hold at once. Default 2 GiB. */
  readonly passBytes?: number;
  /** The bytes that a pass may hold whose session stays open while actions are sampled. Default 320 MiB. */
  readonly restBytes?: number;
  /** The settings that the sampler computes with. */
  readonly sampling?: {
    /** Default "float32", and "int8" where the base of an adapter is in fewer bits: its layers are multiplied by as they are held. */
    readonly weights?: SamplerWeights;
    /** For keys and values of rollouts that wait for their next turn. Default 512 MiB. */
    readonly cacheBytes?: number;
    /** Whether weights are inputs of its session: slower with few rows, and not held again. Default: from 512 MiB on. */
    readonly weightsAsInputs?: boolean;
  };
}

export interface LoraOptions extends LoraSettings {
  /** Decides the adapter's first values. */
  readonly seed: number;
  /** A folder in PEFT format: the adapter to go on with, made with the same settings. A new one if left out. */
  readonly from?: string;
  /** The precision that the matrices of the frozen layers are held in. Default "float32". */
  readonly base?: BasePrecision;
}

/** The precision of an adapter's base, if it is held in fewer bits. */
export function roundedBase({ base }: Pick<LoraOptions, "base"> = {}): RoundedPrecision | undefined {
  return isRounded(base) ? base : undefined;
}

/** The precision that the sampler's products compute with. */
export function samplerWeights({ lora, sampling }: Pick<LocalEngineOptions, "lora" | "sampling">): SamplerWeights {
  return sampling?.weights ?? (roundedBase(lora) === undefined ? "float32" : "int8");
}

/** @throws EngineError for options that exclude each other, before anything is loaded */
export function requireConsistent({ provider = "cpu", ...options }: LocalEngineOptions): void {
  requireAll(localChecks, { ...options, device: provider }, EngineError);
}
