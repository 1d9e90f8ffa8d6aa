/** A client of Tinker servers, usable alone: `import { TinkerClient } from "retrograde-rl/tinker"`. */

export type { CallOptions } from "./call.ts";
export { type CreateModelOptions, type ServedModel, TinkerClient, type TinkerOptions, type WeightsInfo } from "./client.ts";
export type {
  AdamSettings,
  Datum,
  ForwardBackwardResult,
  OptimStepResult,
  SampleCall,
  SampledSequence,
  SampleResult,
  TopLogprobs,
} from "./data.ts";
export { TinkerError, type TinkerErrorKind, type TinkerRetry } from "./errors.ts";
export { TinkerModel } from "./model.ts";
export { TinkerSampler } from "./sampler.ts";
export type { TinkerLogEntry, TransportStats } from "./transport.ts";
