import { z } from "zod";

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
  rule: z
    .discriminatedUnion("kind", [
      z.strictObject({
        kind: z.literal("reference"),
        /** w: how much a rise of the entropy counts. */
        weight: z.number().default(0.2),
        /** Chance to branch where the entropy has not risen. */
        threshold: z.number().min(0).max(1).default(0.5),
      }),
      z.strictObject({
        kind: z.literal("paper"),
        /** α and τ: so that the paper's rule branches where the published code does so more often than not. */
        alpha: z.number().default(0.5),
        /** β. 0.2: as `weight` of the published code. */
        beta: z.number().default(0.2),
        /** τ. */
        threshold: z.number().default(0.5),
      }),
    ])
    .prefault({ kind: "reference" }),
});
export type Branching = z.output<typeof branchingSchema>;
export type BranchRule = Branching["rule"];

/** Returns N for trees of `groupSize` leaves. */
export function firstRolloutsOf({ firstRollouts }: Pick<Branching, "firstRollouts">, groupSize: number): number {
  return firstRollouts ?? Math.ceil(groupSize / 2);
}
