import { z } from "zod";
import type { Turn } from "../../core/trajectory.ts";
import { anyBranchRule, anyFirstRollouts, firstRolloutsKindOf } from "./rules.ts";

/**
 * Adaptive rollout, ARPO (arXiv:2507.19849, §3.1). The budget M is `rollout.groupSize`: the leaves of each task's tree.
 * Defaults are those of the authors' launch files unless something else is said.
 */
export const branchingSchema = z.strictObject({
  /** N, rollouts that begin at the root, or what decides it. Half of the leaves if left out: 8 of 16. */
  firstRollouts: z.union([z.int().min(1), anyFirstRollouts]).optional(),
  /** Z, ways on from a branch point, the one that is there already included. */
  beam: z.int().min(2).default(2),
  /** k: entropies are those of the first tokens of an action. */
  tokens: z.int().min(1).default(20),
  /**
   * "top-10": the ten most likely candidates' entropies, summed over the tokens (published code); "exact": the whole
   * distribution's, their mean.
   */
  entropy: z.enum(["top-10", "exact"]).default("top-10"),
  rule: anyBranchRule.prefault({ kind: "reference" }),
});
export type Branching = z.output<typeof branchingSchema>;

/**
 * Returns N for trees of `groupSize` leaves.
 * @param first turns of the rollout that is played first, where its entropies decide; 1 as long as there are none
 */
export function firstRolloutsOf(
  { firstRollouts }: Pick<Branching, "firstRollouts">,
  groupSize: number,
  first?: readonly Pick<Turn, "branching">[],
): number {
  if (typeof firstRollouts !== "object") return firstRollouts ?? Math.ceil(groupSize / 2);
  return first === undefined ? 1 : firstRolloutsKindOf(firstRollouts).count(first, firstRollouts, groupSize);
}
