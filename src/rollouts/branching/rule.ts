import type { Random } from "../../core/random.ts";
import type { BranchRule } from "./settings.ts";

/**
 * Whether a rollout branches where its entropy rose by ΔH.
 *
 *   reference (the published code):  p = clip(u − w·ΔH, 0, 1), u ~ U(0, 1);  p ≤ threshold     so with chance clip(threshold + w·ΔH)
 *   paper (arXiv:2507.19849, eq. 4):  α + β·ΔH > τ
 *
 * @param random drawn from by the reference's rule alone
 */
export function branches(rule: BranchRule, entropyRise: number, random: Random): boolean {
  switch (rule.kind) {
    case "reference":
      return Math.min(1, Math.max(0, random.uniform() - rule.weight * entropyRise)) <= rule.threshold;
    case "paper":
      return rule.alpha + rule.beta * entropyRise > rule.threshold;
    default:
      return rule satisfies never;
  }
}
