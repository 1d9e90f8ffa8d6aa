import { join } from "node:path";
import { apiKeyFrom, keyHint } from "../../src/core/api-key.ts";
import { present } from "../../src/core/present.ts";
import { rewardName } from "../../src/rewards/config.ts";
import type { RewardKind } from "../../src/rewards/reward-kind.ts";
import { Budget } from "./budget.ts";
import { openEndpoint } from "./endpoint.ts";
import { judgePart } from "./judge.ts";
import { Ledger } from "./ledger.ts";
import { judgeSettings } from "./settings.ts";

/**
 * The judges among a run's rewards. They share one budget.
 * @throws ConfigError for one without its key, naming the variable
 */
export const judgeReward: RewardKind<typeof judgeSettings> = {
  settings: judgeSettings,
  open: (configs, { limits, folder, env }) => {
    const ledgers = new Map(
      configs.map((config) => [config, new Ledger(join(folder, "judge", `${rewardName(config)}.jsonl`))] as const),
    );
    const budget = new Budget(limits, [...ledgers.values()]);
    return (config, index) => {
      const { apiKeyEnv, baseUrl } = config;
      const name = rewardName(config);
      const key = apiKeyEnv === null ? undefined : apiKeyFrom(env, apiKeyEnv, baseUrl, keyHint(`rewards.${index}.apiKeyEnv`));
      const ledger = present(ledgers.get(config), "the ledger of a judge");
      return judgePart({ name, config, ledger, budget, openEndpoint: (warn) => openEndpoint(config, key, warn) });
    };
  },
};
