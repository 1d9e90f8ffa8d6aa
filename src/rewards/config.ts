import { z } from "zod";
import { ConfigError } from "../core/errors.ts";
import { type ExtensionReward, type ExtensionRewardInput, rewardKinds } from "./kinds.ts";

/** The name of what every episode's environment gave: kept as a score, whatever the rewards make of it. */
export const environmentName = "environment";

/** In capitals, as is the custom: a key that was put there instead of its variable's name is recognised by that. */
export const variableName = /^[A-Z_][A-Z0-9_]*$/;

/** Names become metrics, and files of a run. */
const name = z.string().regex(/^[\w.-]+$/, "a name of letters, digits, _, . and -");
export const common = {
  name: name.optional().describe("of its scores and metrics, `reward:NAME`; the kind if omitted"),
  weight: z.number().default(1).describe("factor in the sum; 0 only measures"),
};

const environment = z.strictObject({ kind: z.literal("environment"), weight: common.weight });

const format = z
  .strictObject({
    kind: z.literal("format"),
    ...common,
    toolCalls: z.boolean().default(true).describe("checks the share of valid tool calls"),
    pattern: z
      .string()
      .refine(isPattern, "a regular expression")
      .optional()
      .describe("a regular expression that the last message must match; the dot matches line breaks"),
    tags: z
      .array(z.string().regex(/^\w+$/, "a tag's name, without brackets"))
      .refine(
        (tags) => !tags.includes("think"),
        'tags other than "think": reasoning is taken out of messages before they are scored',
      )
      .default([])
      .describe("tags that must each occur once in the last message, in this order"),
  })
  .refine(
    ({ toolCalls, pattern, tags }) => toolCalls || pattern !== undefined || tags.length > 0,
    "something to look at: toolCalls, pattern or tags",
  );

const length = z.strictObject({
  kind: z.literal("length"),
  ...common,
  free: z.int().min(0).describe("action tokens of an episode that cost nothing"),
  perToken: z.number().positive().describe("cost of each further one"),
  /** 1: a sparse task that was solved at any length is worth no less than one that was not. */
  cap: z.number().positive().default(1).describe("the most that an episode pays"),
});

const toolCost = z
  .strictObject({
    kind: z.literal("tool-cost"),
    ...common,
    perCall: z.number().min(0).default(0).describe("cost of a call that `tools` does not name, or that cannot be read"),
    tools: z.record(z.string(), z.number().min(0)).default({}).describe("cost of a call, by the tool's name"),
  })
  .refine(({ perCall, tools }) => perCall > 0 || Object.values(tools).some((cost) => cost > 0), "a cost: perCall, or of a tool");

/** A reward from code, as a configuration records it: `defineReward` has the rest. */
const verifiable = z.strictObject({ kind: z.literal("verifiable"), name, weight: common.weight });
const compare = z.strictObject({ kind: z.literal("compare"), name, weight: common.weight });

const own = [environment, verifiable, compare, format, length, toolCost] as const;

/** The schemas of all kinds, those of extensions last. */
export function rewardSchemas(): readonly z.ZodObject[] {
  return [...own, ...[...rewardKinds.values()].map(({ settings }) => settings)];
}

const rewardConfigSchema = z.lazy(() =>
  z.discriminatedUnion("kind", rewardSchemas() as [z.ZodObject, ...z.ZodObject[]]),
) as unknown as z.ZodType<z.output<(typeof own)[number]> | ExtensionReward, z.input<(typeof own)[number]> | ExtensionRewardInput>;
export type RewardConfig = z.output<typeof rewardConfigSchema>;
export type RewardOf<Kind extends RewardConfig["kind"]> = Extract<RewardConfig, { kind: Kind }>;

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
    if (rewards.every(({ kind }) => kind === "length" || kind === "tool-cost"))
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

function isPattern(source: string): boolean {
  try {
    new RegExp(source, "s");
    return true;
  } catch {
    return false;
  }
}

/** A user, a password or a query: places in which keys are put. */
function holdsMoreThanAddress(url: string): boolean {
  if (!URL.canParse(url)) return false;
  const { username, password, search } = new URL(url);
  return `${username}${password}${search}` !== "";
}
