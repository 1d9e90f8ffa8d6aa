import type { Policy } from "../core/policy.ts";
import type { Random } from "../core/random.ts";
import type { Group } from "../core/trajectory.ts";
import type { UpdateMetrics } from "./metrics.ts";
import { arpoComposition } from "./policy-gradient/arpo.ts";
import { policyGradientUpdate } from "./policy-gradient/policy-gradient.ts";
import { seeupoUpdate } from "./seeupo/seeupo.ts";
import type { AlgorithmConfig } from "./settings/config.ts";
import { sftUpdate } from "./sft.ts";
import type { Correction } from "./step/correction.ts";

/**
 * Moves the policy once by what a batch of rollouts teaches: one or several optimiser steps.
 * Everything but SeeUPO and sft is a composition, and takes the one loop of policy-gradient.ts.
 * @param groups all trajectories of the batch, failed ones with their reward of 0 included; sft takes them as demonstrations
 * @param random for what an algorithm draws: a random order of turns, mini-batches
 * @param correction weights rollouts that another policy sampled, by what its sampler recorded; none if left out, and none for sft
 * @example
 * const metrics = await runUpdate(policy, groups, resolveAlgorithm("grpo"), randomStream(1));
 */
export async function runUpdate(
  policy: Policy,
  groups: readonly Group[],
  config: AlgorithmConfig,
  random: Random,
  correction?: Correction,
): Promise<UpdateMetrics> {
  switch (config.kind) {
    case "seeupo":
    case "seeupo-code":
    case "seeupo-scaled":
      return (await seeupoUpdate(policy, groups, config, random, correction)).metrics;
    case "sft":
      return sftUpdate(
        policy,
        groups.flatMap(({ trajectories }) => trajectories.flatMap(({ turns }) => turns)),
      );
    case "arpo":
      return policyGradientUpdate(policy, groups, arpoComposition(config), random, correction);
    default:
      return policyGradientUpdate(policy, groups, config, random, correction);
  }
}
