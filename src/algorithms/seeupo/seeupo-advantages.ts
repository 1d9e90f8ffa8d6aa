import { standardDeviation } from "../../core/mean.ts";
import type { ActionInContext, Group, TrajectoryId } from "../../core/trajectory.ts";
import { alongPaths } from "../advantages/attribution.ts";
import { type Advantages, batchNormalised, batchScale, clippedAdvantages } from "../advantages/by-group.ts";
import { groupRelativeAdvantages } from "../advantages/group-relative.ts";
import { treeAdvantages } from "../advantages/tree.ts";
import { clamp } from "../objectives/objective.ts";
import type { SeeupoConfig } from "./settings.ts";

/** Â of every turn. */
export interface TurnAdvantages {
  of(sample: ActionInContext): number;
  /** False where Â is 0 in all turns of a trajectory: then nothing depends on its M. */
  matters(trajectory: TrajectoryId): boolean;
}

/** The same number in all turns of a trajectory, or on trees that of each turn. */
export function turnAdvantages(groups: readonly Group[], config: SeeupoConfig): TurnAdvantages {
  if (config.advantage === "tree") return ofTurns(treeTurnAdvantages(groups, config));
  const advantages = seeupoAdvantages(groups, config);
  const of = (trajectory: TrajectoryId) => advantages.get(trajectory) ?? 0;
  return { of: ({ trajectory }) => of(trajectory), matters: (trajectory) => of(trajectory) !== 0 };
}

/**
 * Group-relative, normalised, limited where a bound is set.
 * @example
 * const config = resolveAlgorithm("seeupo");
 * if (config.kind === "seeupo") seeupoAdvantages(groups, config).get("step-1/0/3");
 */
export function seeupoAdvantages(groups: readonly Group[], config: SeeupoConfig): Advantages {
  const { normalisation, singletonGroups } = config;
  const relative = groupRelativeAdvantages(groups, {
    std: normalisation === "group" ? "group" : "none",
    singletonGroups,
  });
  return clippedAdvantages(
    normalisation === "batch" ? batchNormalised(relative, singletonGroups === "zero") : relative,
    boundOf(config),
  );
}

function boundOf({ advantageBound }: SeeupoConfig): number {
  return advantageBound === "off" ? Infinity : advantageBound;
}

/**
 * SeeUPO on trees: a turn update's turns are those of one depth, and each has the advantage that the sub-tree below gives it. Every leaf stays a
 * row of its own in all turns of its path, so that M is the product over its path; a turn that n leaves share counts n times, as it
 * would had each leaf played it. What normalises is taken from the leaves, so that without branches nothing changes.
 */
function treeTurnAdvantages(groups: readonly Group[], config: SeeupoConfig): ReadonlyMap<TrajectoryId, readonly number[]> {
  const { normalisation, singletonGroups } = config;
  const bound = boundOf(config);
  const relative = () => groupRelativeAdvantages(groups, { std: "none", singletonGroups });
  const ofBatch = normalisation === "batch" ? batchScale(relative(), singletonGroups === "zero") : { shift: 0, divisor: 1 };
  const perTurn = groups.flatMap((group) => {
    const returns = group.trajectories.map(({ reward }) => reward);
    const divisor = normalisation === "group" ? standardDeviation(returns) + 1e-6 : ofBatch.divisor;
    const normalised = (advantage: number) => clamp((advantage - ofBatch.shift) / divisor, -bound, bound);
    return [...treeAdvantages([group], { singletonGroups })].map(([id, values]) => [id, values.map(normalised)] as const);
  });
  return alongPaths(groups, new Map(perTurn));
}

function ofTurns(advantages: ReadonlyMap<TrajectoryId, readonly number[]>): TurnAdvantages {
  return {
    of: ({ trajectory, turn }) => advantages.get(trajectory)?.[turn] ?? 0,
    matters: (trajectory) => advantages.get(trajectory)?.some((advantage) => advantage !== 0) ?? false,
  };
}
