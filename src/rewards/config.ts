import { z } from "zod";
import { ConfigError } from "../core/errors.ts";
import { type RewardConfig, type RewardInput, rewardKinds } from "./kinds.ts";

/** The name of what every episode's environment gave: kept as a score, whatever the rewards make of it. */
export const environmentName = "environment";

/** In capitals, as is the custom: a key that was put there instead of its variable's name is recognised by that. */
export const variableName = /^[A-Z_][A-Z0-9_]*$/;

/** The schemas of all kinds, those of extensions last. */
export function rewardSchemas(): readonly z.ZodObject[] {
  return [...rewardKinds.values()].map(({ settings }) => settings);
}

const rewardConfigSchema = z.lazy(() =>
  z.discriminatedUnion("kind", rewardSchemas() as [z.ZodObject, ...z.ZodObject[]]),
) as unknown as z.ZodType<RewardConfig, RewardInput>;

/** The parts of a run's reward: their names differ, and one of them can be earned. */
export const rewardsSchema = z
  .array(rewardConfigSchema)
  .min(1)
  .superRefine((rewards, context) => {
    const names = rewards.map(rewardName);
    const twice = names.findIndex((one, i) => names.indexOf(one) !== i || (one === environmentName && rewards[i]?.kind !== one));
    if (twice !== -1)
      context.addIssue({
        code: "custom",
        path: [twice, "name"],
        message: `a name that no other reward has: "${names[twice]}" is taken`,
      });
    if (rewards.every(({ kind }) => rewardKinds.get(kind)?.isCost === true))
      context.addIssue({
        code: "custom",
        message: "a reward that can be earned beside the costs: what is not listed does not count, so list the environment's too",
      });
  });

export function rewardName(reward: RewardConfig): string {
  return ("name" in reward ? reward.name : undefined) ?? reward.kind;
}

/**
 * Keys belong into environment variables: what is in a configuration is recorded, and shown in messages about it.
 * @throws ConfigError that does not show what it found
 */
export function refuseKeys(rewards: unknown): void {
  for (const [index, reward] of (Array.isArray(rewards) ? rewards : [rewards]).entries())
    if (typeof reward === "object" && reward !== null)
      for (const [setting, value] of Object.entries(reward)) {
        const expected = expectedInsteadOfKey(setting, value);
        if (expected !== undefined)
          throw new ConfigError(`rewards.${index}.${setting}`, "(not shown)", {
            expected,
            hint: "Put the key into an environment variable, and that variable's name into apiKeyEnv.",
          });
      }
}

/** Returns what should be in a setting that seems to hold a key; undefined for other settings. */
function expectedInsteadOfKey(setting: string, value: unknown): string | undefined {
  if (/^((api|auth|access|secret)?[-_]?(key|token|secret|password)|headers?|authorization)$/i.test(setting))
    return "no setting of this name";
  if (typeof value !== "string") return undefined;
  if (setting === "apiKeyEnv" && !variableName.test(value)) return "the name of an environment variable, in capitals";
  if (setting === "baseUrl" && holdsMoreThanAddress(value)) return "a URL without user, password and query";
  return undefined;
}

/** A user, a password or a query: places in which keys are put. */
function holdsMoreThanAddress(url: string): boolean {
  if (!URL.canParse(url)) return false;
  const { username, password, search } = new URL(url);
  return `${username}${password}${search}` !== "";
}
