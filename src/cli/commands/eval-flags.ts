import type { SettingValues } from "../settings.ts";

export interface EvalFlags extends SettingValues {
  readonly resume?: boolean;
  readonly json?: boolean;
  /** Two models, or folders of evaluations. */
  readonly compare?: readonly string[];
  readonly agent?: string;
  /** Number of episodes to print. */
  readonly show?: string;
  readonly reward?: string;
}
