/** `retrograde-rl/engine`: a model that samples and trains on this machine, and the contract that every engine keeps. */

export { createLocalEngine, type LocalEngine } from "../extensions/local/engine.ts";
export type { Runtime } from "../extensions/local/machine/runtime.ts";
export type { LocalEngineOptions, LoraOptions } from "../extensions/local/options.ts";
export { type Chat, type ChatContext, makeChat } from "../src/chat/chat.ts";
export type { Tokenizer } from "../src/chat/tokenizer.ts";
export { loadTokenizer } from "../src/chat/tokenizer-folder.ts";
export { Context, commonPrefix, type Tokens } from "../src/core/context.ts";
export {
  type Capability,
  capabilities,
  capabilityMeanings,
  type Decide,
  type Logprobs,
  type Weights,
} from "../src/core/policy.ts";
export type { ActionInContext, TokenId } from "../src/core/trajectory.ts";
export { CallOrder } from "../src/engines/call-order.ts";
export {
  type AdamSettings,
  type BackwardOptions,
  type Engine,
  type EngineCritic,
  type EngineInfo,
  type EngineStats,
  type ForwardOptions,
  type FrozenPolicy,
  missingCapability,
  type RestorePoint,
  requireCapability,
  requireStepOptions,
  type SampledAction,
  type SampleRequest,
  type Sampler,
  type StepOptions,
} from "../src/engines/engine.ts";
export { enginePolicy } from "../src/training/update/engine-policy.ts";
