import { mean } from "../core/mean.ts";
import { isScored, unscoredEnds } from "../core/outcome.ts";
import { present } from "../core/present.ts";
import type { Group, Trajectory } from "../core/trajectory.ts";
import type { Task } from "../environments/environment.ts";
import type { Metrics } from "../runs/records.ts";
import { environmentName } from "./config.ts";
import { RewardError, type RewardPart, type ScoringContext } from "./reward.ts";

export interface RewardedGroups {
  /** As they came, in their order, with the composed reward, and each part's own number among the scores. */
  readonly groups: readonly Group[];
  /** Those to learn from: all but the ones that a part could not score. */
  readonly scored: readonly Group[];
  readonly metrics: Metrics;
}

/**
 * The reward of every trajectory: R_i = Σ_p w_p · r_p,i over the parts p. Every r_p,i is kept as the score `reward:NAME`, and what the
 * environment gave as `reward:environment`. Without parts, everything stays as it is.
 *
 * An episode that failed earns 0 from whatever looks at results, and pays costs as others do, so that failing is never the cheaper way.
 * A group that a part could not score keeps equal rewards (0), has no score of that part, and is left out of `scored`.
 * @param tasks those of the groups, found by their id
 * @throws RewardError for a number that is not finite; if not one group could be scored; and what the parts throw
 */
export async function applyRewards(
  parts: readonly RewardPart[],
  groups: readonly Group[],
  tasks: readonly Task[],
  context: ScoringContext,
): Promise<RewardedGroups> {
  if (parts.length === 0) return { groups, scored: groups, metrics: {} };
  const taskOf = new Map(tasks.map((task) => [task.id, task]));
  const raw = new Map<Trajectory, Map<string, number>>();
  for (const trajectory of groups.flatMap(({ trajectories }) => trajectories))
    raw.set(trajectory, new Map([[environmentName, trajectory.reward]]));
  const episodes = raw.size;
  const skipped = new Set<Group>();
  const metrics: Record<string, number | null> = {};

  for (const part of parts) {
    const seenOf = ({ trajectories }: Group) => trajectories.filter((trajectory) => part.isCost || !failed(trajectory));
    const seen = groups.map((group) => ({
      id: group.id,
      task: taskOf.get(group.trajectories[0]?.task ?? "") ?? { id: group.trajectories[0]?.task ?? group.id },
      trajectories: seenOf(group),
    }));
    let reported = 0;
    const onScored = (count: number) => {
      reported += count;
      context.onScored(count);
    };
    const given = await part.score(seen, { ...context, onScored });
    context.signal?.throwIfAborted();
    context.onScored(episodes - reported);
    for (const [g, group] of groups.entries()) {
      const values = given.values[g];
      if (values === undefined) skipped.add(group);
      else place(part, group, seenOf(group), values, raw);
    }
    for (const [name, value] of Object.entries(given.metrics ?? {})) metrics[name] = (metrics[name] ?? 0) + (value ?? 0);
  }

  if (skipped.size === groups.length && groups.length > 0)
    throw new RewardError(parts.map(({ name }) => name).join(" + "), "given to no group of this step", {
      expected: "at least one group that could be scored",
      hint: "The step would teach nothing. The warnings before this message say why each group was left out.",
    });
  const rewarded = groups.map((group) => ({
    ...group,
    trajectories: group.trajectories.map((trajectory) => ({
      ...trajectory,
      turns: scaledTurns(trajectory, skipped.has(group) ? 0 : environmentWeight(parts)),
      reward: skipped.has(group) ? 0 : weightedSum(parts, raw.get(trajectory)),
      scores: { ...trajectory.scores, ...asScores(raw.get(trajectory)) },
    })),
  }));
  const scored = rewarded.filter((_, g) => !skipped.has(present(groups[g], "a group")));
  return { groups: rewarded, scored, metrics: { ...metrics, ...meanReward(scored) } };
}

/** Whether an episode ended by a fault, so that there is no result to judge. */
export function failed({ stopReason, error }: Trajectory): boolean {
  return error !== undefined || unscoredEnds.has(stopReason);
}

/** Puts a part's numbers beside those of the parts before it; who was not shown to the part has 0. */
function place(
  { name }: RewardPart,
  { trajectories }: Group,
  seen: readonly Trajectory[],
  values: readonly number[],
  raw: ReadonlyMap<Trajectory, Map<string, number>>,
): void {
  if (values.length !== seen.length)
    throw new RewardError(name, `${values.length} numbers`, { expected: `${seen.length}: one for each episode of the group` });
  for (const trajectory of trajectories) {
    const at = seen.indexOf(trajectory);
    const value = at === -1 ? 0 : values[at];
    if (value === undefined || !Number.isFinite(value))
      throw new RewardError(name, value, { expected: `a finite number for trajectory ${trajectory.id}` });
    raw.get(trajectory)?.set(name, value);
  }
}

function environmentWeight(parts: readonly RewardPart[]): number {
  return parts.find(({ name }) => name === environmentName)?.weight ?? 0;
}

/** The rewards of turns are the environment's, and count as its part does. */
function scaledTurns({ turns }: Trajectory, weight: number): Trajectory["turns"] {
  return turns.map(({ reward, ...turn }) => (reward === undefined || weight === 0 ? turn : { ...turn, reward: reward * weight }));
}

function weightedSum(parts: readonly RewardPart[], raw: ReadonlyMap<string, number> = new Map()): number {
  return parts.reduce((sum, { name, weight }) => sum + weight * (raw.get(name) ?? 0), 0);
}

function asScores(raw: ReadonlyMap<string, number> = new Map()): Record<string, number> {
  return Object.fromEntries([...raw].map(([name, value]) => [`reward:${name}`, value]));
}

/** The mean of what is learnt from: the zeros of groups that were left out would pull it down. */
function meanReward(groups: readonly Group[]): Metrics {
  const rewards = groups.flatMap(({ trajectories }) => trajectories.filter(isScored).map(({ reward }) => reward));
  return rewards.length === 0 ? {} : { reward: mean(rewards) };
}
