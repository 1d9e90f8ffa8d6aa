import { reachesOne } from "../../src/core/outcome.ts";
import type { EnvironmentReport, RuleResult } from "./report.ts";

/** The smallest distance between the maximum and the floor that OpenEnv's policy allows to declare (severity-v2.json, `min_floor_margin`). */
const floorMargin = 0.1;

/**
 * OpenEnv's rules of reward integrity (OpenEnv#778, tests 25 and 28), on success, whose maximum is 1:
 * the golden solution earns the maximum; an empty one earns less, by a margin; policies that are known not to solve the task, the canaries, earn
 * no more than the empty one. The golden solution is the expert's, and the empty one a policy that does and says nothing.
 */
export function openenvRules({ expert, policies }: Pick<EnvironmentReport, "expert" | "policies">): RuleResult[] {
  const [empty, ...canaries] = policies;
  const floor = empty?.success.mean ?? 0;
  const caught = canaries.filter(({ success }) => success.mean > floor);
  const result = (
    check_id: RuleResult["check_id"],
    passes: boolean,
    measured: RuleResult["measured"],
    evidence: readonly string[],
    remediation: string,
  ): RuleResult => ({
    ...{ check_id, status: passes ? "pass" : "fail", measured, evidence },
    ...{ remediation: passes ? null : remediation, duration_s: 0 },
  });
  return [
    result(
      "semantic.oracle_max",
      expert !== undefined && reachesOne(expert.mean),
      { oracle_reward: expert?.mean ?? null, maximum: 1 },
      [expert === undefined ? "there is no expert" : `the expert earns ${expert.mean}`],
      expert === undefined
        ? "Give the environment an expert (Environment.expert)."
        : "Mend the expert, or the scoring of what it does.",
    ),
    result(
      "semantic.floor_gap",
      1 - floor >= floorMargin,
      { measured_floor: floor, floor_margin: floorMargin },
      [`${empty?.name}: ${floor}`],
      "Take out the tasks that are solved by doing nothing.",
    ),
    result(
      "semantic.canary_floor",
      caught.length === 0,
      { canaries: canaries.length, above_floor: caught.length, measured_floor: floor },
      caught.map(({ name, success }) => `${name}: ${success.mean}`),
      "Score what the policies in the evidence do not do, or take out the tasks that they solve.",
    ),
  ];
}
