import { z } from "zod";
import { mean } from "../../core/mean.ts";
import type { Turn } from "../../core/trajectory.ts";

/**
 * Entropy pre-monitoring, AEPO (arXiv:2510.14545, §4.1): one rollout is played first, and its entropies say how many others begin at the root.
 *
 *   m = ⌊ k · σ(β · (H_root − H̄_tool)) ⌋ + 1,   at most k         k: the leaves; H̄_tool: the mean of H_t after tool results
 *
 * A model that is less sure of the question than of what tools answer spends its leaves on whole rollouts, one that tools unsettle on
 * branches. β and the rounding are those of the published code (`_calculate_initial_rollouts_dynamical`). That averages over all actions,
 * the first included, and throws its rollout away; here the mean is the paper's, and the rollout is the first of the m. Without a tool
 * result both take H̄_tool = H_root.
 */
export const preMonitoring = z.strictObject({
  kind: z.literal("pre-monitored"),
  /** β. 0.5: the published code's. */
  beta: z.number().default(0.5),
});

/** @param turns of the first rollout, as it is recorded: H_t and ΔH_t after each tool result */
export function preMonitoredRollouts(
  turns: readonly Pick<Turn, "branching">[],
  { beta }: z.output<typeof preMonitoring>,
  budget: number,
): number {
  // H_root − H̄_tool is the mean of −ΔH_t.
  const rises = turns.flatMap(({ branching }) => branching?.rise ?? []);
  const gap = rises.length === 0 ? 0 : -mean(rises);
  return Math.min(budget, Math.floor(budget / (1 + Math.exp(-beta * gap))) + 1);
}
