import type { Policy } from "../../core/policy.ts";
import type { Random } from "../../core/random.ts";
import type { ActionInContext, Group, TrajectoryId } from "../../core/trajectory.ts";
import { groupsWithoutSignal } from "../advantages/by-group.ts";
import { MetricTally, type UpdateMetrics } from "../glossary.ts";
import { type Correction, importanceOf } from "../step/correction.ts";
import { checkedLogprobs, fixedLogprobs } from "../step/minimise.ts";
import { CarriedRatios } from "./carried-ratios.ts";
import { fused } from "./fused.ts";
import { turnAdvantages } from "./seeupo-advantages.ts";
import type { SeeupoConfig } from "./settings.ts";
import { carriedAdvantages, carry, carryBase, recordFactors, steps, type Update } from "./turn-update.ts";
import { turnOrder, turnUpdatesOf, updatedEpisodes } from "./turn-updates.ts";

export { seeupoAdvantages } from "./seeupo-advantages.ts";

export interface SeeupoResult {
  readonly metrics: UpdateMetrics;
  /** M by trajectory, for those whose r was taken. The fused form takes only those r that a later turn update reads. */
  readonly carriedRatios: ReadonlyMap<TrajectoryId, number>;
}

/**
 * One iteration of SeeUPO (arXiv:2602.06554, Algorithm 1, "SeeUPPO-GRAE"): turns are updated last to first, each after the updates of the later
 * turns. Turn t of every trajectory is one virtual agent; all share θ. θ_k sampled the batch.
 *
 *   Ã = (Â − μ_B) / σ_B,  M_{T+1} = Ã                          Â: return minus its group's mean; μ, σ of the batch              (5, 7, 9)
 *   for t = T … 1, over the trajectories that have a turn t:
 *       one step on  mean min( r_t·M_{t+1}, clip(r_t, 1 ± ε)·M_{t+1} )                                                          (6)
 *           r_t = exp( mean_j( log π_θ − log π_θk ) )          over the tokens j of turn t, as GSPO has it
 *       M_t = π_θ^t / π_θk · M_{t+1}                           θ^t: after this step; not clipped                                (8)
 *
 * It is one clipped update where every trajectory has a single turn. `seeupo` is the paper's. `seeupo-code` is what its authors published as
 * code: both ratios to the policy as the turn update finds it, r and M within [0.8, 1.2], Ã within ±3, + 0.002·KL. M is kept here
 * without its Ã, which multiplies it where it is read. Both differ from the published code in:
 * - `singletonGroups` "zero": a group of one has advantage 0. Published code: its bare return.
 * - M is keyed by trajectory. Published code: by row, and rows are reordered between turns.
 * - A trajectory without turn t takes no part in its update, as in the paper (a no-op). Published code: its last turn does, with weight 0 but with
 *   its KL term and its r.
 * - `form` "fused": the same numbers from fewer passes.
 *
 * @param random draws the order "random"
 * @param correction weights the rollouts by π/μ at the start of the update, the same for all turns: M has what the updates themselves change
 * @throws EnvError for a return that is not finite, EngineError for a log-prob, an M or a loss that is not
 * @example
 * const config = resolveAlgorithm("seeupo");
 * if (config.kind === "seeupo") {
 *   const { carriedRatios } = await seeupoUpdate(policy, groups, config, randomStream(1));
 *   carriedRatios.get("step-1/0/3"); // M after the updates of the later turns
 * }
 */
export async function seeupoUpdate(
  policy: Policy,
  groups: readonly Group[],
  config: SeeupoConfig,
  random: Random,
  correction?: Correction,
): Promise<SeeupoResult> {
  const advantages = turnAdvantages(groups, config);
  const moves = ({ trajectory }: ActionInContext) => config.klCoef > 0 || advantages.matters(trajectory);
  const turnUpdates = turnUpdatesOf(groups, turnOrder(groups, config.order, random), moves);
  const samples = turnUpdates.flatMap((turnUpdate) => turnUpdate.samples);
  const tally = new MetricTally();
  const importance = correction && (await importanceOf(policy, updatedEpisodes(groups, samples), correction));
  if (importance !== undefined) tally.record(importance.metrics);
  tally.record({ groups: groups.length, groupsWithoutSignal: groupsWithoutSignal(groups), turnUpdates: turnUpdates.length });
  const update: Update = {
    ...{ policy, config, turnUpdates, advantages, tally },
    carried: new CarriedRatios(config),
    importance: importance?.weights,
    iterationLogprobs: looksAtStart(config)
      ? (importance?.proxLogprobs ?? fixedLogprobs(samples, await policy.logprobs(samples)))
      : undefined,
    refLogprobs: config.klCoef > 0 ? fixedLogprobs(samples, await policy.referenceLogprobs(samples)) : undefined,
  };
  await (config.form === "textbook" ? textbook : fused)(update);
  return { metrics: tally.result(), carriedRatios: update.carried.all() };
}

/** True if a ratio is taken to the policy of the iteration's start: a forward pass over the batch before anything moves. */
function looksAtStart({ ratioTo, carryRatioTo, advantageFactor }: SeeupoConfig): boolean {
  return ratioTo === "iteration" || (advantageFactor && carryRatioTo === "iteration");
}

/** Every log-prob from a pass of its own, as the paper has it. */
async function textbook(update: Update): Promise<void> {
  const { policy, config, turnUpdates, carried } = update;
  for (const turnUpdate of turnUpdates) {
    const { samples } = turnUpdate;
    const oldLogprobs = checkedLogprobs(samples, await policy.logprobs(samples)); // already moved by the later turns
    recordFactors(update, samples);
    const start = { oldLogprobs, advantages: carriedAdvantages(update, carried, samples) };
    await steps(update, turnUpdate, start, config.epochs);
    if (!config.advantageFactor) continue;
    const base = carryBase(update, samples, oldLogprobs);
    carry(update, samples, base, checkedLogprobs(samples, await policy.logprobs(samples)));
  }
}
