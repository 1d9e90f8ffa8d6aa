import type { Capability } from "../../core/policy.ts";
import { type AlgorithmConfig, isSeeupo } from "./config.ts";
import { presets } from "./presets.ts";

/**
 * This file answers what the trainer asks of an algorithm before and while it samples. The trainer reads no setting of an algorithm
 * itself.
 */

/** True if an algorithm looks at the rewards of turns where they were given; others see the return alone. */
export function usesTurnRewards(config: AlgorithmConfig): boolean {
  if (isSeeupo(config) || config.kind === "sft" || config.kind === "arpo") return false;
  return (["gae", "gigpo", "normalised-returns"] as const).some((kind) => kind === config.advantage.kind);
}

/** Returns the optimiser steps an epoch that an algorithm of this kind has unless they are set; 1 for those without the setting. */
export function defaultMiniBatches(kind: unknown): number {
  const preset = presets.find(({ shape }) => shape.kind.value === kind);
  return preset === undefined ? 1 : preset.shape.miniBatches.parse(undefined);
}

/** Returns the capabilities that an engine must have for an algorithm, beyond what every engine has. */
export function needs(config: AlgorithmConfig): readonly Capability[] {
  if (config.kind === "sft") return [];
  const needed: Capability[] = config.klCoef > 0 ? ["reference"] : [];
  if (isSeeupo(config)) return needed;
  if (config.advantage.kind === "gae") needed.push("critic");
  if (config.entropyCoef > 0) needed.push("entropy-gradient");
  return needed;
}

/** Optimiser steps an epoch that the groups of a batch are dealt out to. */
export function miniBatchesOf(config: AlgorithmConfig): number {
  return "miniBatches" in config ? config.miniBatches : 1;
}

/** Returns the settings for a batch that has come out smaller than planned: at most as many mini-batches as groups, so that none is empty. */
export function dealtTo(groups: number, config: AlgorithmConfig): AlgorithmConfig {
  if (!("miniBatches" in config) || config.miniBatches <= groups) return config;
  return { ...config, miniBatches: Math.max(1, groups) };
}

/** How the rollouts of an algorithm are sampled unless the user says otherwise. 16 leaves of a tree in ARPO: arXiv:2507.19849, §4.2. */
export function defaultRollout(kind: unknown): { groupSize?: number; branching?: object } {
  return kind === "arpo" ? { groupSize: 16, branching: {} } : {};
}

/** The optimiser that an algorithm of this kind has unless the user says otherwise: the launch files of SeeUPO's code leave it to verl's and torch's defaults. */
export function defaultOptimizer(kind: unknown): { beta2?: number; weightDecay?: number } {
  return kind === "seeupo-code" ? { beta2: 0.999, weightDecay: 0.01 } : {};
}

/** Most batches that a step may sample until enough groups differ; 1 where an algorithm does not sample dynamically. */
export function maxBatchesOf(config: AlgorithmConfig): number {
  return ("dynamicSampling" in config && config.dynamicSampling?.maxBatches) || 1;
}

/** True if a group of one always has advantage 0. */
export function ignoresGroupsOfOne(config: AlgorithmConfig): boolean {
  if (config.kind === "sft") return false;
  if (isSeeupo(config)) return config.singletonGroups === "zero";
  const { advantage } = config;
  if (!comparesWithinGroups(config)) return false;
  return !("singletonGroups" in advantage) || advantage.singletonGroups === "zero";
}

/** True if groups whose rollouts all have one return teach nothing: the advantage is relative to the group. */
export function comparesWithinGroups(config: AlgorithmConfig): boolean {
  if (config.kind === "sft") return false;
  if (isSeeupo(config)) return true;
  return config.advantage.kind !== "gae" && config.advantage.kind !== "normalised-returns";
}

/** True if turns that branches of a rollout share are trained once, so that they have no one trajectory. */
export function trainsSharedTurnsOnce(config: AlgorithmConfig): boolean {
  if (config.kind === "arpo") return config.attribution !== "soft";
  if (isSeeupo(config) || config.kind === "sft") return false;
  return config.advantage.kind === "tree" || config.advantage.kind === "shared-mean";
}
