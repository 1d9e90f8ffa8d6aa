import type { z } from "zod";
import { choiceOf, kindIn } from "../../core/kinds.ts";
import type { Random } from "../../core/random.ts";
import { aepoRule } from "./aepo.ts";
import { appoRule } from "./appo.ts";
import { paperRule, referenceRule } from "./arpo.ts";
import { preMonitored } from "./pre-monitoring.ts";
import type { BranchPoint, BranchRuleKind, ChoosingRuleKind, FirstRolloutsKind } from "./rule-kind.ts";

/** The rules that say where paths branch. A new one is a file and a line here. */
export const branchRules = [referenceRule, paperRule, aepoRule, appoRule] as const;

export const anyBranchRule = choiceOf(branchRules);
export type BranchRule = z.output<typeof anyBranchRule>;

/** Returns the rule that settings name. Its functions take those settings. */
export function branchRuleOf(rule: BranchRule): BranchRuleKind {
  return kindIn<BranchRuleKind>(branchRules, rule);
}

/** Returns whether a path branches at a point. False under a rule that chooses later. @param random of this point alone */
export function branches(rule: BranchRule, point: BranchPoint, random: Random): boolean {
  const kind = branchRuleOf(rule);
  return "branches" in kind && kind.branches(point, rule, random);
}

/** Returns the rule, where it chooses points inside of actions once the first rollouts have ended. */
export function choosingRuleOf(rule: BranchRule): ChoosingRuleKind | undefined {
  const kind = branchRuleOf(rule);
  return "choose" in kind ? kind : undefined;
}

/** Rules that decide by a first rollout how many begin at the root. A new one is a file and a line here. */
const firstRolloutsKinds = [preMonitored] as const;

export const anyFirstRollouts = choiceOf(firstRolloutsKinds);

export function firstRolloutsKindOf(config: z.output<typeof anyFirstRollouts>): FirstRolloutsKind {
  return kindIn<FirstRolloutsKind>(firstRolloutsKinds, config);
}
