import type { Policy } from "../../core/policy.ts";
import type { Random } from "../../core/random.ts";
import type { ActionInContext, Group, TrajectoryId } from "../../core/trajectory.ts";
import { groupsWithoutSignal } from "../advantages/group-relative.ts";
import { MetricTally, type UpdateMetrics } from "../metrics.ts";
import type { SeeupoConfig } from "../settings/config.ts";
import { type Correction, importanceOf } from "../step/correction.ts";
import { checkedLogprobs, fixedLogprobs } from "../step/minimise.ts";
import { CarriedRatios } from "./carried-ratios.ts";
import { fused } from "./fused.ts";
import { turnAdvantages } from "./seeupo-advantages.ts";
import { carriedAdvantages, carry, recordFactors, steps, type Update } from "./turn-update.ts";
import { type TurnUpdate, turnOrder, turnUpdatesOf, updatedEpisodes } from "./turn-updates.ts";

export { seeupoAdvantages } from "./seeupo-advantages.ts";

export interface SeeupoResult {
  readonly metrics: UpdateMetrics;
  /** M by trajectory, for those whose r was taken. The fused form takes only those r that a later turn update reads. */
  readonly carriedRatios: ReadonlyMap<TrajectoryId, number>;
}

/**
 * One SeeUPO update (arXiv:2602.06554): turns are updated last to first, each against the policy that the updates of the later turns left
 * behind. Turn t of every trajectory is one virtual agent.
 *
 *   for t = T … 1:   A*_i = M_i · Â_i                       Â_i: return minus the group's mean, normalised, within ±3
 *                    one step on the clipped surrogate of turn t with advantages A*_i, + β·KL to the reference
 *                    r_i = clip( exp( mean_j( log π_new − log π_old ) ) )     over the tokens j of turn t
 *                    M_i ← clip( M_i · r_i )                M_i = 1 at first; only trajectories that have a turn t
 *
 * It is one clipped update where every trajectory has a single turn. `seeupo` is the paper's; `seeupo-scaled` is ours: the learning rate
 * of a turn update is scaled by the share of the batch that reaches its turn, and turns that fewer than 8 trajectories reach are updated with
 * the next in order. Both differ from the published code in:
 * - `singletonGroups` "zero": a group of one has advantage 0. Published code: its bare return.
 * - M is keyed by trajectory. Published code: by row, and rows are reordered between turns.
 * - A trajectory without turn t takes no part in its update. Published code: its last turn does, with weight 0 but with its KL term and its r.
 * - `form` "fused": the same numbers from fewer passes.
 *
 * @param random draws the order "random"
 * @param correction weights the rollouts by π/μ at the start of the update, the same for all turns: M has what the updates themselves change
 * @throws EnvError for a return that is not finite, EngineError for a log-prob or loss that is not
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
  const all = turnUpdatesOf(groups, turnOrder(groups, config.order, random), config.minimumRows, moves);
  const hasPositive = ({ samples }: TurnUpdate) => samples.some((sample) => advantages.of(sample) > 0);
  const turnUpdates = config.skipNegative ? all.filter(hasPositive) : all;
  const samples = turnUpdates.flatMap((turnUpdate) => turnUpdate.samples);
  const tally = new MetricTally();
  const importance = correction && (await importanceOf(policy, updatedEpisodes(groups, samples), correction));
  if (importance !== undefined) tally.record(importance.metrics);
  tally.record({ groups: groups.length, groupsWithoutSignal: groupsWithoutSignal(groups), turnUpdates: turnUpdates.length });
  const update: Update = {
    ...{ policy, config, turnUpdates, advantages, tally },
    batchSize: groups.reduce((sum, { trajectories }) => sum + trajectories.length, 0),
    carried: new CarriedRatios(config.carryClip),
    importance: importance?.weights,
    batchLogprobs: config.ratioTo === "batch" ? fixedLogprobs(samples, await policy.logprobs(samples)) : undefined,
    refLogprobs: config.klCoef > 0 ? fixedLogprobs(samples, await policy.referenceLogprobs(samples)) : undefined,
  };
  await (config.form === "textbook" ? textbook : fused)(update);
  return { metrics: tally.result(), carriedRatios: update.carried.all() };
}

/** Every log-prob from a pass of its own, as the paper has it. */
async function textbook(update: Update): Promise<void> {
  const { policy, config, turnUpdates, carried } = update;
  for (const turnUpdate of turnUpdates) {
    const { samples } = turnUpdate;
    const oldLogprobs = checkedLogprobs(samples, await policy.logprobs(samples)); // π_old: already moved by the later turns
    recordFactors(update, samples);
    const start = { oldLogprobs, advantages: carriedAdvantages(update, carried, samples) };
    await steps(update, turnUpdate, start, config.epochs);
    if (config.advantageFactor) carry(update, samples, oldLogprobs, checkedLogprobs(samples, await policy.logprobs(samples)));
  }
}
