import type { z } from "zod";
import type { AlgorithmKind } from "../../algorithms/algorithms.ts";
import type { EngineConfig, EngineInput, EngineShorthand } from "../../engines/registry.ts";
import type { Environment } from "../../environments/environment.ts";
import type { rewardsSchema } from "../../rewards/config.ts";
import type { Reward } from "../../rewards/reward.ts";
import type { settingsSchema } from "./settings.ts";

type Settings = z.input<typeof settingsSchema>;

/** The configuration that a user writes: everything is optional, and names mean the defaults of what they name. */
export interface UserConfig extends Omit<Settings, "environment" | "algorithm" | "rewards" | "engine"> {
  readonly environment?: string | Settings["environment"] | Environment;
  readonly engine?: EngineConfig["kind"] | EngineInput | EngineShorthand;
  readonly algorithm?: AlgorithmKind | Settings["algorithm"];
  readonly rewards?: readonly (z.input<typeof rewardsSchema>[number] | Reward)[];
}
