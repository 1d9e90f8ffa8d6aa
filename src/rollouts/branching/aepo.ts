import { z } from "zod";
import { defineBranchRule } from "./rule-kind.ts";

/**
 * Entropy-balanced branching, AEPO (arXiv:2510.14545, §4.1): ARPO's rule with a penalty on branching again and again along one path.
 *
 *   P_t = (α + γ·ΔH_t) · (1 − P̂(l)),   P̂(l) = min(1, penalty·l);     a path branches where P_t > τ
 *
 * l is the number of points directly before this one at which the path branched. That P̂ grows with l in proportion is known to us from a
 * digest of the paper alone, so its slope is a setting of its own. The paper's other half is in pre-monitoring.ts.
 */
export const aepoRule = defineBranchRule({
  kind: "aepo",
  formula: "where (α + γ·ΔH)(1 − penalty·l) > τ, l the branches directly before on the path",
  source: "arXiv:2510.14545",
  settings: {
    /** α and τ: as the rule "paper". */
    alpha: z.number().default(0.5),
    /** γ. 0.2: as `weight` of ARPO's published code. */
    gamma: z.number().default(0.2),
    /** The share of P_t that each branch directly before takes. 0.2: as γ. */
    penalty: z.number().min(0).max(1).default(0.2),
    /** τ. */
    threshold: z.number().default(0.5),
  },
  branches: ({ rise, consecutive }, { alpha, gamma, penalty, threshold }) =>
    (alpha + gamma * rise) * (1 - Math.min(1, penalty * consecutive)) > threshold,
});
