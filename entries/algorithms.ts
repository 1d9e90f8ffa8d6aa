/** `retrograde-rl/algorithms`: updates as pure arithmetic on log-probs, for any policy that can score and back-propagate. */
export type { Advantages } from "../src/algorithms/advantages/by-group.ts";
export { type GroupRelativeOptions, groupRelativeAdvantages } from "../src/algorithms/advantages/group-relative.ts";
export { treeAdvantages } from "../src/algorithms/advantages/tree.ts";
export {
  type AlgorithmConfig,
  type AlgorithmKind,
  resolveAlgorithm,
  rolloutAlgorithms,
  runUpdate,
} from "../src/algorithms/algorithms.ts";
export { type UpdateMetric, type UpdateMetrics, updateMetrics } from "../src/algorithms/glossary.ts";
export { type KlEstimator, type KlOptions, klPenalty, tokenKl } from "../src/algorithms/objectives/kl.ts";
export type { ClipRange, LossAndWeights, SurrogateBatch, TokenRows } from "../src/algorithms/objectives/objective.ts";
export { type PpuOptions, ppu } from "../src/algorithms/objectives/ppu.ts";
export { reinforce } from "../src/algorithms/objectives/reinforce.ts";
export { type SeeupoResult, seeupoAdvantages, seeupoUpdate } from "../src/algorithms/seeupo/seeupo.ts";
export type { SeeupoConfig } from "../src/algorithms/seeupo/settings.ts";
export type { Correction } from "../src/algorithms/step/correction.ts";
export type { Tokens } from "../src/core/context.ts";
export type { Critic, Decide, Logprobs, Policy, StepReport, TurnReason, Values, Weights } from "../src/core/policy.ts";
export { type Random, randomStream } from "../src/core/random.ts";
export type { ActionInContext, Group, TokenId, Trajectory, TrajectoryId, Turn } from "../src/core/trajectory.ts";
