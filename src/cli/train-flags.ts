import type { SettingValues } from "./settings.ts";

/** The flags of the commands that train. */
export interface TrainFlags extends SettingValues {
  readonly resume?: boolean;
  readonly allowChanged?: boolean;
  /** False with --no-dashboard. */
  readonly dashboard?: boolean;
  readonly open?: boolean;
  readonly dryRun?: boolean;
  /** The agent that `train-agent` trains, as words, and its two files. */
  readonly agent?: readonly string[];
  readonly tasks?: string;
  readonly reward?: string;
  /** The teacher of `train-agent`; the other four say how its demonstrations are made and learned. */
  readonly teacher?: string;
  readonly demonstrations?: string;
  readonly keep?: string;
  readonly prices?: string;
  readonly sftSteps?: string;
  readonly sftLearningRate?: string;
}
