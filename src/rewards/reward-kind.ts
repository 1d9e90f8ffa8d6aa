import { z } from "zod";
import type { Trajectory } from "../core/trajectory.ts";
import type { Reward, RewardPart } from "./reward.ts";

/** Names become metrics, and files of a run. */
export const partName = z.string().regex(/^[\w.-]+$/, "a name of letters, digits, _, . and -");
export const common = {
  name: partName.optional().describe("of its scores and metrics, `reward:NAME`; the kind if omitted"),
  weight: z.number().default(1).describe("factor in the sum; 0 only measures"),
};

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

/** A kind of reward. One file each, one line in kinds.ts. */
export interface RewardKind<Settings extends z.ZodObject = z.ZodObject> {
  /** Its `kind`, the settings that all have, and its own. */
  readonly settings: Settings;
  /** True for a cost, which failed episodes have caused as others do, and by which alone nothing is earned. Default false. */
  readonly isCost?: boolean;
  /** Opens all rewards of the kind for a run. @returns makes the part of each, by its place in the list */
  open(
    configs: readonly z.output<Settings>[],
    context: RewardContext,
  ): (config: z.output<Settings>, index: number) => Pick<RewardPart, "check" | "score">;
}

/** A reward that scores each episode by itself, from its record. */
export function eachEpisode<Settings extends z.ZodObject>({
  score,
  ...kind
}: Pick<RewardKind<Settings>, "settings" | "isCost"> & {
  score(trajectory: Trajectory, config: z.output<Settings>): number;
}): RewardKind<Settings> {
  return {
    ...kind,
    open: () => (config) => ({
      score: (groups) => ({
        values: groups.map(({ trajectories }) => trajectories.map((trajectory) => score(trajectory, config))),
      }),
    }),
  };
}
