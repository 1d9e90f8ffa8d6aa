import type { z } from "zod";
import type { Reward, RewardPart } from "./reward.ts";

/** The kinds of rewards that extensions bring, with the schemas of their settings. They declare theirs here, so that the compiler checks configurations. */
// biome-ignore lint/suspicious/noEmptyInterface: it is filled by extensions
export interface RewardSettings {}

type Kind = keyof RewardSettings;

/** The settings of such a reward, whole, and as a user writes them. */
export type ExtensionReward = { [Name in Kind]: z.output<RewardSettings[Name]> }[Kind];
export type ExtensionRewardInput = { [Name in Kind]: z.input<RewardSettings[Name]> }[Kind];

/** The most that all judges of a run may spend, over all its processes. */
export interface RewardLimits {
  readonly judgeCalls?: number;
  readonly judgeTokens?: number;
}

export interface RewardContext {
  /** Rewards from code, found by their names. */
  readonly code: readonly Reward[];
  readonly limits: RewardLimits;
  /** For each answer of a reward from code, in milliseconds: `rollout.episodeTimeoutMs`. */
  readonly timeoutMs: number;
  /** The run's: rewards keep their records below it, once they have some. */
  readonly folder: string;
  /** Where keys are: `process.env`. */
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** A kind of reward. */
export interface RewardKind<Settings extends z.ZodObject = z.ZodObject> {
  /** Its `kind`, the settings that all have, and its own. */
  readonly settings: Settings;
  /** Opens all rewards of the kind for a run. @returns makes the part of each, by its place in the list */
  open(configs: readonly z.output<Settings>[], context: RewardContext): (config: z.output<Settings>, index: number) => RewardPart;
}

export const rewardKinds = new Map<string, RewardKind>();

/** Adds kinds of rewards, before a configuration is read. Adding one again changes nothing. */
export function addRewards(kinds: Readonly<Record<string, RewardKind>>): void {
  for (const [name, kind] of Object.entries(kinds)) rewardKinds.set(name, kind);
}
