import { ConfigError } from "../core/errors.ts";
import type { Logprobs, Policy } from "../core/policy.ts";
import type { Random } from "../core/random.ts";
import type { ActionInContext, Group } from "../core/trajectory.ts";
import { groupRelativeAdvantages, groupsWithoutSignal } from "./advantages.ts";
import { type Aggregation, tokenScales } from "./aggregation.ts";
import type { GrpoConfig } from "./config.ts";
import { MetricTally, type UpdateMetrics } from "./metrics.ts";
import { fixedLogprobs, minimise } from "./minimise.ts";
import { klPenalty, plus, ppu } from "./objectives.ts";

/**
 * One GRPO update (arXiv:2402.03300, §4.1): group-relative advantages, PPO's clipped surrogate per token.
 *
 *   A_i = (R_i − mean_g R) / (std_g R + 1e-6)
 *   L   = mean_i 1/n_i Σ_t max( −ρ_it A_i, −clip(ρ_it) A_i ) + β·KL to the reference       ρ_it = exp(logπ_it − logπ_old,it)
 *
 * A sequence i is a whole trajectory: its n_i tokens are the actions of all its turns.
 * With one epoch and one mini-batch π_old is the policy itself: ρ = 1, and log π_old needs no pass.
 * @param random deals groups out to mini-batches
 * @throws EnvError for a return that is not finite, EngineError for a log-prob or loss that is not,
 *   ConfigError if there are more mini-batches than groups
 */
export async function grpoUpdate(
  policy: Policy,
  groups: readonly Group[],
  config: GrpoConfig,
  random: Random,
): Promise<UpdateMetrics> {
  const { aggregation, clip, dualClip, klEstimator: estimator, klCoef: coefficient } = config;
  const advantages = groupRelativeAdvantages(groups, config);
  const moves = ({ trajectory }: ActionInContext) => coefficient > 0 || advantages.get(trajectory) !== 0;
  const all = groups.flatMap((group) => group.trajectories.flatMap(({ turns }) => turns.filter(moves)));
  const refLogprobs = coefficient > 0 ? fixedLogprobs(all, await policy.referenceLogprobs(all)) : undefined;
  const oneStep = config.epochs * config.miniBatches === 1;
  const oldLogprobs = oneStep ? undefined : fixedLogprobs(all, await policy.logprobs(all));
  const tally = new MetricTally();
  tally.record({ groups: groups.length, groupsWithoutSignal: groupsWithoutSignal(groups) });

  for (let epoch = 0; epoch < config.epochs; epoch++) {
    for (const batch of miniBatches(groups, config.miniBatches, random)) {
      const rows = turnsWithScales(batch, aggregation).filter(({ turn }) => moves(turn));
      if (rows.length === 0) continue;
      const turns = rows.map(({ turn }) => turn);
      const scales = rows.map(({ tokenScale }) => tokenScale);
      const advantagePerToken = turns.map(({ trajectory, action }) => action.map(() => advantages.get(trajectory) ?? 0));

      const loss = (logprobs: Logprobs) => {
        const old = oldLogprobs?.(turns) ?? logprobs;
        const surrogate = ppu(
          { logprobs, oldLogprobs: old, advantages: advantagePerToken, tokenScales: scales },
          { level: "token", clip, dualClip },
        );
        if (refLogprobs === undefined) return surrogate;
        return plus(
          surrogate,
          klPenalty({ logprobs, refLogprobs: refLogprobs(turns), tokenScales: scales }, { estimator, coefficient }),
        );
      };
      // At ratio 1 the surrogate's weights are the advantages, whatever the log-probs.
      tally.record(await minimise(policy, turns, loss, { knownWeights: oneStep && coefficient === 0 }));
    }
  }
  return tally.result();
}

/** All turns of the groups, each with what one of its tokens counts in the loss. */
function turnsWithScales(groups: readonly Group[], aggregation: Aggregation): { turn: ActionInContext; tokenScale: number }[] {
  const trajectories = groups.flatMap((group) => group.trajectories);
  const lengths = trajectories.map(({ turns }) => turns.reduce((sum, { action }) => sum + action.length, 0));
  const scales = tokenScales(lengths, aggregation);
  return trajectories.flatMap(({ turns }, i) => turns.map((turn) => ({ turn, tokenScale: scales[i] })));
}

/** Whole groups, shuffled and dealt out evenly. */
function miniBatches(groups: readonly Group[], count: number, random: Random): Group[][] {
  if (count === 1) return [[...groups]];
  if (count > groups.length)
    throw new ConfigError("algorithm.miniBatches", count, {
      expected: `at most the number of groups in a batch, ${groups.length}`,
    });
  const batches: Group[][] = Array.from({ length: count }, () => []);
  for (const [i, group] of random.shuffle(groups).entries()) batches[i % count].push(group);
  return batches;
}
