import { present } from "../core/present.ts";
import { rewardName } from "./config.ts";
import { type RewardConfig, rewardKinds } from "./kinds.ts";
import type { RewardPart } from "./reward.ts";
import type { RewardContext } from "./reward-kind.ts";

/**
 * The parts of a run's reward. Nothing is read, written or requested yet.
 * @throws ConfigError for a reward from code that is not there, or one without its key, naming the variable
 */
export function createRewards(configs: readonly RewardConfig[], context: RewardContext): RewardPart[] {
  const opened = new Map(
    [...rewardKinds].map(([name, kind]) => {
      const ofKind = configs.filter((config) => config.kind === name);
      return [name, { isCost: kind.isCost === true, partOf: kind.open(ofKind, context) }];
    }),
  );
  return configs.map((config, index): RewardPart => {
    const { isCost, partOf } = present(opened.get(config.kind), `the kind "${config.kind}"`);
    return { name: rewardName(config), weight: config.weight, isCost, ...partOf(config, index) };
  });
}
