import type { z } from "zod";
import { choiceOf, kindIn } from "../../core/kinds.ts";
import type { Random } from "../../core/random.ts";
import { aepoRule } from "./aepo.ts";
import { paperRule, referenceRule } from "./arpo.ts";
import type { BranchPoint, BranchRuleKind } from "./rule-kind.ts";

/** The rules that say where paths branch. A new one is a file and a line here. */
export const branchRules = [referenceRule, paperRule, aepoRule] as const;

export const anyBranchRule = choiceOf(branchRules);
export type BranchRule = z.output<typeof anyBranchRule>;

/** Returns the rule that settings name. Its functions take those settings. */
export function branchRuleOf(rule: BranchRule): BranchRuleKind {
  return kindIn<BranchRuleKind>(branchRules, rule);
}

/** Returns whether a path branches at a point. @param random of this point alone */
export function branches(rule: BranchRule, point: BranchPoint, random: Random): boolean {
  return branchRuleOf(rule).branches(point, rule, random);
}
