import { mean } from "../../core/mean.ts";
import type { Group, Trajectory } from "../../core/trajectory.ts";
import { defineAdvantage, episodesOf, needsBranches, penalised } from "./advantage.ts";
import { groupRelativeAdvantages } from "./group-relative.ts";
import { isBefore, isFork, lineage, type SharedEnd, sharedEnd } from "./tree.ts";

/**
 * Dual-group advantages, APPO (arXiv:2606.12384, eq. 6; `compute_appo_advantage` of AMAP-ML/APPO): rollouts from the root and forks are
 * compared apart, and a fork's advantage counts for what it shares with the rollout that it began with.
 *
 *   A_i = (R_i − mean R) / (std R + 1e-6)          over a task's rollouts from the root; apart from them, over its forks
 *   A_i,t = A_i + mean over the forks f that share token t with i of A_f          0 where there are none; i from the root
 *
 * Forks are not trained: tokens that trajectories share are trained once, in the rollout that played them first, and tokens behind a
 * fork's point receive nothing of that fork. A fork of a fork shares with the rollout from the root what both points leave. Deviations
 * divide by n − 1, as `group-relative`; the code's by n. Its factors on rewards up to a point (`reward_scale_discount`) are left out: it
 * multiplies the reward at a trajectory's last token, which is behind every point, by 1.
 * @returns for each trajectory from the root, in order, a row for each turn with one number for each token
 * @throws EnvError for a return that is not finite, ShapeError for a branch from a trajectory that is not in the group
 */
export function dualGroupAdvantages(group: Group): number[][][] {
  const forks = group.trajectories.filter(isFork);
  const roots = group.trajectories.filter((trajectory) => !isFork(trajectory));
  const [ofRoot, ofFork] = [roots, forks].map((trajectories) => compared({ ...group, trajectories }));
  const shared = forks.map((fork) => ({ ...sharedWithRoot(fork, group), advantage: ofFork.get(fork.id) ?? 0 }));
  return roots.map(({ id, turns }) => {
    const own = shared.filter(({ root }) => root === id);
    return turns.map(({ action }, turn) =>
      action.map((_, token) => {
        const through = own.filter(({ end }) => isBefore({ turn, token }, end)).map(({ advantage }) => advantage);
        return (ofRoot.get(id) ?? 0) + (through.length === 0 ? 0 : mean(through));
      }),
    );
  });
}

const compared = (group: Group) => groupRelativeAdvantages([group], { std: "group", singletonGroups: "zero" });

/** The rollout from the root that a fork began with, and where they part. */
function sharedWithRoot(fork: Trajectory, group: Group): { readonly root: string; readonly end: SharedEnd } {
  const path = lineage(fork, group);
  const ends = path.slice(0, -1).map(sharedEnd);
  return { root: (path.at(-1) ?? fork).id, end: ends.reduce((first, each) => (isBefore(each, first) ? each : first)) };
}

export const dualGroupKind = defineAdvantage({
  kind: "dual-group",
  formula:
    "of branches: group-relative / σ of rollouts from the root, plus the forks' own at tokens that they share; forks are not trained",
  source: "arXiv:2606.12384",
  comparedWithin: "group",
  settings: {},
  unmet: needsBranches,
  estimate: (evidence) => ({
    episodes: episodesOf(evidence.groups, (trajectory) => (isFork(trajectory) ? [] : trajectory.turns)),
    advantages: penalised(evidence).flatMap((group) => dualGroupAdvantages(group).flat()),
    metrics: {},
  }),
});
