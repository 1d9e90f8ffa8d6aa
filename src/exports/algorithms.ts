/** `retrograde-rl/algorithms`: updates as pure arithmetic on log-probs, for any policy that can score and back-propagate. */
export {
  type Advantages,
  type GroupRelativeOptions,
  groupRelativeAdvantages,
} from "../algorithms/advantages/group-relative.ts";
export { treeAdvantages } from "../algorithms/advantages/tree.ts";
export { type UpdateMetric, type UpdateMetrics, updateMetrics } from "../algorithms/metrics.ts";
export { type KlEstimator, type KlOptions, klPenalty, tokenKl } from "../algorithms/objectives/kl.ts";
export type { ClipRange, LossAndWeights, SurrogateBatch, TokenRows } from "../algorithms/objectives/objective.ts";
export { type PpuOptions, ppu } from "../algorithms/objectives/ppu.ts";
export { reinforce } from "../algorithms/objectives/reinforce.ts";
export { type SeeupoResult, seeupoAdvantages, seeupoUpdate } from "../algorithms/seeupo/seeupo.ts";
export {
  type AlgorithmConfig,
  type AlgorithmKind,
  resolveAlgorithm,
  rolloutAlgorithms,
  type SeeupoConfig,
} from "../algorithms/settings/config.ts";
export type { Correction } from "../algorithms/step/correction.ts";
export { runUpdate } from "../algorithms/update.ts";
export type { Tokens } from "../core/context.ts";
export type { Critic, Decide, Logprobs, Policy, StepReport, TurnReason, Values, Weights } from "../core/policy.ts";
export { type Random, randomStream } from "../core/random.ts";
export type { ActionInContext, Group, TokenId, Trajectory, TrajectoryId, Turn } from "../core/trajectory.ts";
