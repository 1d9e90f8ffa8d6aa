import type { z } from "zod";
import { environment } from "./environment.ts";
import { format } from "./format.ts";
import { compare, verifiable } from "./from-code.ts";
import { length } from "./length.ts";
import type { RewardKind } from "./reward-kind.ts";
import { toolCost } from "./tool-cost.ts";

/** The kinds of rewards. A new one is a file and a line here. */
const own = [environment, verifiable, compare, format, length, toolCost] as const;
type OwnSettings = (typeof own)[number]["settings"];

/** The kinds of rewards that extensions bring, with the schemas of their settings. They declare theirs here, so that the compiler checks configurations. */
// biome-ignore lint/suspicious/noEmptyInterface: it is filled by extensions
export interface RewardSettings {}

export type RewardConfig =
  | z.output<OwnSettings>
  | { [Name in keyof RewardSettings]: z.output<RewardSettings[Name]> }[keyof RewardSettings];
/** As a user writes it. */
export type RewardInput =
  | z.input<OwnSettings>
  | { [Name in keyof RewardSettings]: z.input<RewardSettings[Name]> }[keyof RewardSettings];

/** By their names, those of extensions last. */
export const rewardKinds = new Map(own.map((kind) => [kind.settings.shape.kind.value as string, kind as unknown as RewardKind]));

/** Adds kinds of rewards, before a configuration is read. Adding one again changes nothing. */
export function addRewards(kinds: Readonly<Record<string, RewardKind>>): void {
  for (const [name, kind] of Object.entries(kinds)) rewardKinds.set(name, kind);
}
