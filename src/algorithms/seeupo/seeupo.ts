import type { Logprobs, Policy } from "../../core/policy.ts";
import type { Random } from "../../core/random.ts";
import type { ActionInContext, Group, TrajectoryId } from "../../core/trajectory.ts";
import { groupsWithoutSignal } from "../advantages/group-relative.ts";
import { MetricTally, Spread, type UpdateMetrics } from "../metrics.ts";
import { klPenalty } from "../objectives/kl.ts";
import { type LossAndWeights, plus } from "../objectives/objective.ts";
import { ppu } from "../objectives/ppu.ts";
import type { SeeupoConfig } from "../settings/config.ts";
import { type Correction, importanceOf, weighted } from "../step/correction.ts";
import { checkedLogprobs, type FixedRows, fixedLogprobs, type Loss, type MinimiseOptions, minimise } from "../step/minimise.ts";
import { CarriedRatios } from "./carried-ratios.ts";
import { type TurnAdvantages, turnAdvantages } from "./seeupo-advantages.ts";
import { turnOrder, type Visit, visitedEpisodes, visitsOf } from "./visits.ts";

export { seeupoAdvantages } from "./seeupo-advantages.ts";

export interface SeeupoResult {
  readonly metrics: UpdateMetrics;
  /** M by trajectory, for those whose r was taken. The fused form takes only those r that a later visit reads. */
  readonly carriedRatios: ReadonlyMap<TrajectoryId, number>;
}

/**
 * One SeeUPO update (arXiv:2602.06554): turns are visited last to first, each against the policy that the visits of the
 * later turns left behind. Turn t of every trajectory is one virtual agent.
 *
 *   for t = T … 1:   A*_i = M_i · Â_i                       Â_i: return minus the group's mean, normalised, within ±3
 *                    one step on the clipped surrogate of turn t with advantages A*_i, + β·KL to the reference
 *                    r_i = clip( exp( mean_j( log π_new − log π_old ) ) )     over the tokens j of turn t
 *                    M_i ← clip( M_i · r_i )                M_i = 1 at first; only trajectories that have a turn t
 *
 * One clipped update where every trajectory has a single turn. What is proved and what is not: docs/algorithms/seeupo.md.
 * @param random draws the order "random"
 * @param correction weights the rollouts by π/μ at the start of the update, the same in all visits: M has what the visits themselves change
 * @throws EnvError for a return that is not finite, EngineError for a log-prob or loss that is not
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
  const visits = visitsOf(groups, turnOrder(groups, config.order, random), config.minimumRows, moves);
  const samples = visits.flatMap((visit) => visit.samples);
  const tally = new MetricTally();
  const importance = correction && (await importanceOf(policy, visitedEpisodes(groups, samples), correction));
  if (importance !== undefined) tally.record(importance.metrics);
  const update: Update = {
    policy,
    config,
    visits,
    batchSize: groups.reduce((sum, { trajectories }) => sum + trajectories.length, 0),
    advantages,
    carried: new CarriedRatios(config.carryClip),
    importance: importance?.weights,
    refLogprobs: config.klCoef > 0 ? fixedLogprobs(samples, await policy.referenceLogprobs(samples)) : undefined,
    tally,
  };
  tally.record({ groups: groups.length, groupsWithoutSignal: groupsWithoutSignal(groups), visits: visits.length });
  await (config.form === "textbook" ? textbook(update) : fused(update));
  return { metrics: tally.result(), carriedRatios: update.carried.all() };
}

interface Update {
  readonly policy: Policy;
  readonly config: SeeupoConfig;
  readonly visits: readonly Visit[];
  /** Number of trajectories. */
  readonly batchSize: number;
  /** Â. */
  readonly advantages: TurnAdvantages;
  /** M. */
  readonly carried: CarriedRatios;
  /** Weights of the tokens; all 1 if undefined. */
  readonly importance: FixedRows | undefined;
  readonly refLogprobs: FixedRows | undefined;
  readonly tally: MetricTally;
}

/** Every log-prob from a pass of its own, as the paper has it. */
async function textbook(update: Update): Promise<void> {
  const { policy, config, visits } = update;
  for (const visit of visits) {
    const { samples } = visit;
    const oldLogprobs = checkedLogprobs(samples, await policy.logprobs(samples));
    const advantages = carriedAdvantages(update, samples);
    for (let epoch = 0; epoch < config.epochs; epoch++)
      await step(update, visit, samples, (logprobs) => visitLoss(update, visit, { logprobs, oldLogprobs, advantages }));

    if (config.advantageFactor) carry(update, samples, oldLogprobs, checkedLogprobs(samples, await policy.logprobs(samples)));
  }
}

/**
 * The same numbers from fewer passes. A visit's first step runs under π_old, where the ratio is 1 and the surrogate's weights are M·Â
 * whatever the log-probs are: the backward pass gives log π_old, and a forward pass is needed only for log π_new of the visit before,
 * over the turns whose M is read again. With KL the weights need the visit's own log-probs: then one forward half reads both.
 */
async function fused(update: Update): Promise<void> {
  const { policy, config, visits, advantages: base, refLogprobs } = update;
  const lastVisitOf = new Map(visits.flatMap(({ samples }, v) => samples.map(({ trajectory }) => [trajectory, v])));
  let previous: { samples: readonly ActionInContext[]; oldLogprobs: Logprobs } = { samples: [], oldLogprobs: [] };

  for (const [v, visit] of visits.entries()) {
    const { samples } = visit;
    let oldLogprobs: Logprobs = [];
    let advantages: readonly number[] = [];
    const atRatioOne = (logprobs: Logprobs) => {
      oldLogprobs = logprobs;
      return visitLoss(update, visit, { logprobs, oldLogprobs, advantages });
    };
    const decideAdvantages = (newLogprobs: Logprobs) => {
      carry(update, previous.samples, previous.oldLogprobs, newLogprobs);
      advantages = carriedAdvantages(update, samples);
    };
    if (refLogprobs === undefined) {
      const { samples: before } = previous;
      decideAdvantages(before.length === 0 ? [] : checkedLogprobs(before, await policy.logprobs(before)));
      await step(update, visit, samples, atRatioOne, { knownWeights: true });
    } else {
      await step(update, visit, [...samples, ...previous.samples], (logprobs) => {
        decideAdvantages(logprobs.slice(samples.length));
        return atRatioOne(logprobs.slice(0, samples.length));
      });
    }
    for (let epoch = 1; epoch < config.epochs; epoch++)
      await step(update, visit, samples, (logprobs) => visitLoss(update, visit, { logprobs, oldLogprobs, advantages }));

    const readLater = ({ trajectory }: ActionInContext) =>
      config.advantageFactor && base.matters(trajectory) && lastVisitOf.get(trajectory) !== v;
    previous = { samples: samples.filter(readLater), oldLogprobs: oldLogprobs.filter((_, i) => readLater(samples[i])) };
  }
}

/** A* = M · Â, one per sample. */
function carriedAdvantages({ config, advantages, carried, tally }: Update, samples: readonly ActionInContext[]): number[] {
  return samples.map((sample) => {
    const advantage = advantages.of(sample);
    if (!config.advantageFactor || advantage === 0) return advantage;
    const factor = carried.of(sample.trajectory);
    tally.record({ carriedMin: factor, carriedMax: factor });
    return factor * advantage;
  });
}

/** Mean over the visit's turns of the token mean of the clipped surrogate, + β·KL. */
function visitLoss(
  { config, importance, refLogprobs }: Update,
  { samples, rows }: Visit,
  { logprobs, oldLogprobs, advantages }: { logprobs: Logprobs; oldLogprobs: Logprobs; advantages: readonly number[] },
): LossAndWeights {
  const tokenScales = samples.map(({ action }) => 1 / (rows * action.length));
  const advantagePerToken = samples.map(({ action }, i) => action.map(() => advantages[i]));
  const uncorrected = ppu(
    { logprobs, oldLogprobs, advantages: advantagePerToken, tokenScales },
    { level: config.level === "turn" ? "sequence" : "token", clip: config.clip, dualClip: config.dualClip },
  );
  const surrogate = importance === undefined ? uncorrected : weighted(uncorrected, importance(samples));
  if (refLogprobs === undefined) return surrogate;
  const penalty = { estimator: config.klEstimator, coefficient: config.klCoef };
  return plus(surrogate, klPenalty({ logprobs, refLogprobs: refLogprobs(samples), tokenScales }, penalty));
}

async function step(
  { policy, config, batchSize, tally, advantages, carried }: Update,
  visit: Visit,
  samples: readonly ActionInContext[],
  loss: Loss,
  options: Pick<MinimiseOptions, "knownWeights"> = {},
): Promise<void> {
  const { rows } = visit;
  const scale = config.visitScale === "rows" ? Math.min(1, rows / batchSize) : 1;
  tally.record({ rowsVisitMin: rows, rowsVisitMean: rows, rowsVisitMax: rows, visitScaleMin: scale });
  const reasons = () =>
    visit.samples.map((sample) => ({
      trajectory: sample.trajectory,
      turn: sample.turn,
      advantage: advantages.of(sample),
      factor: config.advantageFactor ? carried.of(sample.trajectory) : undefined,
    }));
  tally.record(await minimise(policy, samples, loss, { ...options, learningRateScale: scale, reasons }));
}

/** M ← clip(M · clip(r)). */
function carry(
  { carried, tally }: Update,
  samples: readonly ActionInContext[],
  oldLogprobs: Logprobs,
  newLogprobs: Logprobs,
): void {
  if (samples.length === 0) return;
  const ratios = new Spread();
  for (const ratio of carried.carry(samples, oldLogprobs, newLogprobs)) ratios.add(ratio);
  tally.record({ turnRatioMin: ratios.min, turnRatioMean: ratios.mean, turnRatioMax: ratios.max });
}
