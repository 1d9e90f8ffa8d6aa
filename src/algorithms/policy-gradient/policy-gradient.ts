import { mean } from "../../core/mean.ts";
import type { Logprobs, Policy, TurnReason } from "../../core/policy.ts";
import type { Random } from "../../core/random.ts";
import type { ActionInContext, Group } from "../../core/trajectory.ts";
import type { Estimate } from "../advantages/advantage.ts";
import { groupsWithoutSignal, returnsOf } from "../advantages/by-group.ts";
import { advantageKindOf } from "../advantages/kinds.ts";
import { MetricTally, type UpdateMetrics } from "../glossary.ts";
import type { MetricValues } from "../metrics.ts";
import { updateKindOf } from "../objectives/kinds.ts";
import { klPenalty, tokenKls } from "../objectives/kl.ts";
import { type LossAndWeights, plus, type SurrogateBatch, type TokenRows, total } from "../objectives/objective.ts";
import { type Composition, klOptions } from "../presets/parts.ts";
import { type Correction, importanceOf, weighted } from "../step/correction.ts";
import { cut, type Episode, episodeScales, joined, spread, turnsOf } from "../step/episodes.ts";
import { fixedLogprobs, fixedRows, minimise } from "../step/minimise.ts";
import { punishOverlong } from "../step/overlong.ts";
import { termKindOf } from "../terms/kinds.ts";

/**
 * One update of any policy-gradient algorithm: an advantage, an update rule and a KL penalty, as a preset composes them.
 *
 *   A = advantage(returns)                                                  per token, fixed for the whole update
 *   for each epoch, for each mini-batch of groups:
 *       one step down  Σ_t c_t [ w_t·ℓ(π_θ/π_old, A)_t + β·KL_t − entropyCoef·H_t ]      c: aggregation, over whole trajectories
 *       and the loss of a term on rows of its own, if there is one
 *       then what the advantage has to follow: one step of its critic down the value loss
 *
 * With one epoch and one mini-batch π_old is the policy itself: the ratio is 1, and log π_old needs no pass. What cannot move the
 * policy, such as groups without signal, costs no pass either, but counts in the means. w is 1, or the importance weight π_old/μ of rollouts
 * that another policy μ sampled.
 * @param random deals groups out to mini-batches; where there are fewer groups than mini-batches, each is one of its own
 * @param correction weights the rollouts; none if left out
 * @throws EnvError for a return that is not finite, EngineError for a log-prob, value or loss that is not, or for a missing critic,
 *   ShapeError if two trajectories share an id
 */
export async function policyGradientUpdate(
  policy: Policy,
  groups: readonly Group[],
  composition: Composition,
  random: Random,
  correction?: Correction,
): Promise<UpdateMetrics> {
  const tally = new MetricTally();
  tally.record({ groups: groups.length, groupsWithoutSignal: groupsWithoutSignal(groups) });
  const sampled = groups.flatMap(({ trajectories }) => trajectories.flatMap(({ turns }) => turns));
  if (sampled.length === 0) return tally.result();
  const fixed = await fixedBefore({ policy, groups, sampled, composition, correction, tally });
  for (let epoch = 0; epoch < composition.epochs; epoch++)
    for (const batch of miniBatches(fixed.episodes, groups, composition.miniBatches, random)) {
      const rows = movingRows(batch, composition, fixed.moves);
      if (rows.turns.length + rows.added.length > 0) tally.record(await policyStep(policy, rows, fixed, composition, random));
      if (fixed.afterStep !== undefined) tally.record(await fixed.afterStep(batch, composition.aggregation));
    }
  return tally.result();
}

interface Before {
  readonly policy: Policy;
  readonly groups: readonly Group[];
  readonly sampled: readonly ActionInContext[];
  readonly composition: Composition;
  readonly correction: Correction | undefined;
  readonly tally: MetricTally;
}

/** Computes what stays fixed during an update: advantages, log π_old and log π_ref, and importance weights, each by its turn. */
async function fixedBefore({ policy, groups, sampled, composition, correction, tally }: Before) {
  const { klCoef, klIn } = composition;
  const rewardKl = klCoef > 0 && klIn === "reward" ? await klOf(policy, sampled, composition) : undefined;
  if (rewardKl !== undefined) tally.record({ kl: rewardKl.mean });
  for (const group of groups) returnsOf(group);
  const { advantage } = composition;
  const estimated = await advantageKindOf(advantage).estimate(
    { policy, groups: punished(groups, composition, tally), klPenalties: rewardKl?.penalties },
    advantage,
  );
  tally.record(estimated.metrics);
  const { episodes } = estimated;
  const turns = turnsOf(episodes);
  const oneStep = isOneStep(composition);
  const moves = hasGradient(estimated, composition, oneStep);
  const moving = turns.filter(moves);
  const refLogprobs = isKlInLoss(composition) ? fixedLogprobs(moving, await policy.referenceLogprobs(moving)) : undefined;
  const importance = correction && (await importanceOf(policy, movingEpisodes(episodes, moves), correction, rewardKl?.logprobs));
  if (importance !== undefined) tally.record(importance.metrics);
  const knownLogprobs = rewardKl?.logprobs ?? importance?.proxLogprobs;
  return {
    ...{ episodes, moves, afterStep: estimated.afterStep, refLogprobs, importance: importance?.weights },
    advantages: fixedRows(turns, estimated.advantages),
    /** Undefined where π_old is the policy itself. */
    oldLogprobs: oneStep ? undefined : (knownLogprobs ?? fixedLogprobs(moving, await policy.logprobs(moving))),
  };
}

type Fixed = Awaited<ReturnType<typeof fixedBefore>>;

/** One step down the loss of a mini-batch. */
async function policyStep(
  policy: Policy,
  rows: Rows,
  { advantages, oldLogprobs, refLogprobs, importance }: Fixed,
  composition: Composition,
  random: Random,
): Promise<MetricValues> {
  const { update, klCoef, entropyCoef, term } = composition;
  const ofTurns = (logprobs: Logprobs): LossAndWeights => {
    const old = oldLogprobs?.(rows.turns) ?? logprobs;
    const batch = { logprobs, oldLogprobs: old, advantages: advantages(rows.turns) };
    const uncorrected = surrogateLoss(rows, composition, batch, random);
    const pulled = importance === undefined ? uncorrected : weighted(uncorrected, importance(rows.turns));
    if (refLogprobs === undefined) return pulled;
    const toReference = { logprobs, refLogprobs: refLogprobs(rows.turns), tokenScales: rows.scales };
    return plus(pulled, klPenalty(toReference, { ...klOptions(composition), coefficient: klCoef }));
  };
  const samples = [...rows.turns, ...rows.added];
  const loss = (logprobs: Logprobs): LossAndWeights => {
    const own = ofTurns(logprobs.slice(0, rows.turns.length));
    if (term === undefined) return own;
    return beside(own, termKindOf(term).loss(logprobs.slice(rows.turns.length), term));
  };
  const entropies = [...rows.scales.map((scale) => entropyCoef * scale), ...rows.added.map(() => 0)];
  const known = isOneStep(composition) && !isKlInLoss(composition) && updateKindOf(update).weighsByLogprob !== true;
  const { metrics } = await minimise(policy, samples, loss, {
    // The rule's own derivative at ratio 1, which it takes at any log-probs.
    knownWeights: known ? loss(samples.map(({ action }) => action.map(() => 0))).weights : undefined,
    entropyWeights: entropyCoef > 0 ? spread(samples, entropies) : undefined,
    reasons: () => reasonsOf(rows.turns, advantages(rows.turns)),
  });
  return metrics;
}

function isOneStep({ epochs, miniBatches }: Composition): boolean {
  return epochs * miniBatches === 1;
}

function isKlInLoss({ klCoef, klIn }: Composition): boolean {
  return klCoef > 0 && klIn === "loss";
}

/** κ of every token under the policy before the update, and log π_old, from which it was taken. */
async function klOf(policy: Policy, turns: readonly ActionInContext[], { klCoef, klEstimator, klCutOff }: Composition) {
  const logprobs = fixedLogprobs(turns, await policy.logprobs(turns));
  const reference = fixedLogprobs(turns, await policy.referenceLogprobs(turns));
  const kls = tokenKls(logprobs(turns), reference(turns), klOptions({ klEstimator, klCutOff }));
  const tokens = kls.reduce((count, row) => count + row.length, 0);
  const penalties = fixedRows(
    turns,
    kls.map((row) => row.map((kl) => klCoef * kl)),
  );
  return { logprobs, penalties, mean: total(kls) / tokens };
}

/** The groups with what the algorithm itself adds to a return. */
function punished(groups: readonly Group[], { overlong }: Composition, tally: MetricTally): readonly Group[] {
  if (overlong === undefined) return groups;
  const { groups: changed, overlongMean } = punishOverlong(groups, overlong);
  tally.record({ overlongMean });
  return changed;
}

/** Which turns the loss depends on. Where a ratio is taken over a trajectory, all of its turns or none. */
function hasGradient(
  { episodes, advantages }: Estimate,
  composition: Composition,
  oneStep: boolean,
): (turn: ActionInContext) => boolean {
  const { entropyCoef, update } = composition;
  const kind = updateKindOf(update);
  const readsAll = kind.readsEveryToken === "always" || (kind.readsEveryToken === "off-policy" && !oneStep);
  if (isKlInLoss(composition) || entropyCoef > 0 || readsAll) return () => true;
  const whole = kind.rows?.(update) === "trajectories";
  const moving = new Set<ActionInContext>();
  let next = 0;
  for (const { turns } of episodes) {
    const own = turns.filter(() => advantages[next++].some((a) => a !== 0));
    for (const turn of own.length > 0 && whole ? turns : own) moving.add(turn);
  }
  return (turn) => moving.has(turn);
}

function movingEpisodes(episodes: readonly Episode[], moves: (turn: ActionInContext) => boolean): Episode[] {
  return episodes
    .map(({ trajectory, turns }) => ({ trajectory, turns: turns.filter(moves) }))
    .filter(({ turns }) => turns.length > 0);
}

interface Rows {
  readonly episodes: readonly Episode[];
  readonly turns: readonly Episode["turns"][number][];
  /** The scale of a token in the loss: one number per turn, and one per trajectory. */
  readonly scales: readonly number[];
  readonly episodeScales: readonly number[];
  /** The rows of a term of its own. */
  readonly added: readonly ActionInContext[];
}

/** Those turns of a mini-batch that have a gradient. What a token counts was settled by all of them. */
function movingRows(
  batch: readonly Episode[],
  { aggregation, term }: Composition,
  moves: (turn: ActionInContext) => boolean,
): Rows {
  const scales = episodeScales(batch, aggregation);
  const kept = batch
    .map(({ trajectory, turns }, e) => ({ trajectory, turns: turns.filter(moves), scale: scales[e] }))
    .filter(({ turns }) => turns.length > 0);
  return {
    episodes: kept,
    turns: turnsOf(kept),
    scales: kept.flatMap(({ turns, scale }) => turns.map(() => scale)),
    episodeScales: kept.map(({ scale }) => scale),
    added: term === undefined ? [] : termKindOf(term).rows(batch, term),
  };
}

/** Â of every turn. */
function reasonsOf(turns: readonly ActionInContext[], advantages: TokenRows): TurnReason[] {
  return turns.map(({ trajectory, turn }, i) => ({ trajectory, turn, advantage: mean(advantages[i]) }));
}

/** The update rule's loss on rows of the kind that it needs. */
function surrogateLoss(
  { episodes, scales, episodeScales: perEpisode }: Rows,
  { update }: Composition,
  batch: Omit<SurrogateBatch, "tokenScales">,
  random: Random,
): LossAndWeights {
  const kind = updateKindOf(update);
  if (kind.rows?.(update) !== "trajectories") return kind.loss({ ...batch, tokenScales: scales }, update, random);
  const { logprobs, oldLogprobs, advantages } = batch;
  const whole = {
    logprobs: joined(episodes, logprobs),
    oldLogprobs: joined(episodes, oldLogprobs),
    advantages: joined(episodes, advantages),
    tokenScales: perEpisode,
  };
  const result = kind.loss(whole, update, random);
  return { ...result, weights: cut(episodes, result.weights) };
}

/** The sum of two losses, each over rows of its own. */
function beside(a: LossAndWeights, b: LossAndWeights): LossAndWeights {
  return { loss: a.loss + b.loss, weights: [...a.weights, ...b.weights], metrics: { ...a.metrics, ...b.metrics } };
}

/** Whole groups, shuffled and dealt out evenly. */
function miniBatches(
  episodes: readonly Episode[],
  groups: readonly Group[],
  count: number,
  random: Random,
): (readonly Episode[])[] {
  if (count === 1) return [episodes];
  let next = 0;
  const byGroup = groups.map(({ trajectories }) => trajectories.map(() => episodes[next++]));
  const batches: Episode[][] = Array.from({ length: count }, () => []);
  for (const [i, group] of random.shuffle(byGroup).entries()) batches[i % count].push(...group);
  return batches.filter((batch) => batch.length > 0);
}
