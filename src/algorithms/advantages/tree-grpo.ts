import { groupBy } from "../../core/group-by.ts";
import type { Group, Trajectory } from "../../core/trajectory.ts";
import { defineAdvantage, needsBranches, penalised, perTrajectory, singletonGroups } from "./advantage.ts";
import type { Advantages, SingletonGroups } from "./by-group.ts";
import { groupRelativeAdvantages } from "./group-relative.ts";
import { lineage } from "./tree.ts";

/**
 * Tree-GRPO (arXiv:2509.21240; `adv_estimator == 'tree'` of AMAP-ML/Tree-GRPO): a leaf is compared with those of its own tree, and with
 * those of all trees of its task. A tree is one rollout from the root and what was forked from it.
 *
 *   A_i = (R_i − mean_tree R) / (std_tree R + 1e-6)  +  (R_i − mean_task R) / (std_task R + 1e-6)
 *
 * Each leaf is trained whole, so shared turns receive the sum. The paper expands nodes drawn at random; which are expanded here is the
 * branching rule's choice.
 * @param singletons the advantage of a leaf alone in its tree; "raw" as in the published code
 * @throws EnvError for a return that is not finite, ShapeError for a branch from a trajectory that is not in the group
 */
export function treeGrpoAdvantages(groups: readonly Group[], singletons: SingletonGroups): Advantages {
  const options = { std: "group", singletonGroups: singletons } as const;
  const withinTrees = groupRelativeAdvantages(groups.flatMap(treesOf), options);
  const withinTask = groupRelativeAdvantages(groups, options);
  return new Map([...withinTask].map(([id, advantage]) => [id, advantage + (withinTrees.get(id) ?? 0)]));
}

/** The leaves of each tree, as groups of their own. */
function treesOf(group: Group): Group[] {
  const rootOf = (leaf: Trajectory) => (lineage(leaf, group).at(-1) ?? leaf).id;
  return [...groupBy(group.trajectories, rootOf)].map(([id, trajectories]) => ({ id, trajectories }));
}

export const treeGrpoKind = defineAdvantage({
  kind: "tree-grpo",
  formula: "of branches: group-relative / σ among the leaves of a tree, plus the same among all leaves of the task",
  source: "arXiv:2509.21240",
  comparedWithin: "group",
  settings: { singletonGroups },
  unmet: needsBranches,
  estimate: (evidence, config) => perTrajectory(evidence.groups, treeGrpoAdvantages(penalised(evidence), config.singletonGroups)),
});
