import { z } from "zod";
import { anyBranchRule } from "./rules.ts";

/**
 * Adaptive rollout, ARPO (arXiv:2507.19849, §3.1). The budget M is `rollout.groupSize`: the leaves of each task's tree.
 * Defaults are those of the authors' launch files unless something else is said.
 */
export const branchingSchema = z.strictObject({
  /** N, rollouts that begin at the root. Half of the leaves if left out: 8 of 16. */
  firstRollouts: z.int().min(1).optional(),
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

/** Returns N for trees of `groupSize` leaves. */
export function firstRolloutsOf({ firstRollouts }: Pick<Branching, "firstRollouts">, groupSize: number): number {
  return firstRollouts ?? Math.ceil(groupSize / 2);
}
