/** `retrograde-rl/engine`: a model that samples and trains on this machine, and the contract that every engine keeps. */
export { type Chat, type ChatContext, makeChat } from "../chat/chat.ts";
export type { Tokenizer } from "../chat/tokenizer.ts";
export { loadTokenizer } from "../chat/tokenizer-folder.ts";
export { Context, commonPrefix, type Tokens } from "../core/context.ts";
export { type Capability, capabilities, capabilityMeanings, type Decide, type Logprobs, type Weights } from "../core/policy.ts";
export type { ActionInContext, TokenId } from "../core/trajectory.ts";
export { CallOrder } from "../engines/call-order.ts";
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
  requireCapability,
  requireStepOptions,
  type SampledAction,
  type SampleRequest,
  type Sampler,
  type StepOptions,
} from "../engines/engine.ts";
export { createLocalEngine, type LocalEngine, type LocalEngineOptions, type LoraOptions } from "../engines/local/engine.ts";
export type { Runtime } from "../engines/local/machine/runtime.ts";
export { enginePolicy } from "../training/engine-policy.ts";
