import type { z } from "zod";
import type { AlgorithmKind } from "../algorithms/algorithms.ts";
import type { EngineKind } from "../engines/settings.ts";
import type { Environment } from "../environments/environment.ts";
import type { rewardsSchema } from "../rewards/config.ts";
import type { Reward } from "../rewards/reward.ts";
import type { settingsSchema } from "./settings.ts";

type Settings = z.input<typeof settingsSchema>;

/** Settings of the local engine, which is the default: its kind can be left out. */
type LocalShorthand = Omit<Extract<Settings["engine"], { kind: "local" }>, "kind">;

/** The configuration that a user writes: everything is optional, and names mean the defaults of what they name. */
export interface UserConfig extends Omit<Settings, "environment" | "algorithm" | "rewards" | "engine"> {
  readonly environment?: string | Settings["environment"] | Environment;
  readonly engine?: EngineKind | Settings["engine"] | LocalShorthand;
  readonly algorithm?: AlgorithmKind | Settings["algorithm"];
  readonly rewards?: readonly (z.input<typeof rewardsSchema>[number] | Reward)[];
}
