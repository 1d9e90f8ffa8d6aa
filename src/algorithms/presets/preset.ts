import { z } from "zod";
import { groupRelativeKind } from "../advantages/group-relative.ts";
import type { Aggregation } from "../objectives/aggregation.ts";
import { ppuKind } from "../objectives/ppu.ts";
import { clipRange } from "../objectives/update-kind.ts";
import { aggregation, type Composition, commonSettings, fixed, miniBatches } from "./parts.ts";

/**
 * A composition with a name: it names its parts, fixes their kinds and leaves their numbers open. One file each, one line in kinds.ts, and a
 * page in docs/algorithms. Where a default differs from the parts' own, its source stands beside it.
 */
export interface Preset<Settings extends z.ZodObject = z.ZodObject> {
  readonly settings: Settings;
  readonly source: string;
  /** Returns the parts that its settings compose. Default: those that they name. */
  composition?(config: z.output<Settings>): Composition;
  /** How its rollouts are sampled unless the user says otherwise. */
  readonly rollout?: { readonly groupSize?: number; readonly branching?: object };
}

export function definePreset<Settings extends z.ZodObject>(preset: Preset<Settings>): Preset<Settings> {
  return preset;
}

export function composed<const Kind extends string, Advantage extends z.ZodType, Update extends z.ZodType>(
  kind: Kind,
  parts: { advantage: Advantage; update: Update; aggregation: Aggregation; miniBatches?: number },
) {
  return z.strictObject({
    kind: z.literal(kind),
    advantage: parts.advantage,
    update: parts.update,
    aggregation: aggregation.default(parts.aggregation),
    ...commonSettings,
    miniBatches: miniBatches.default(parts.miniBatches ?? 1),
  });
}

/** A part with its own defaults, whose kind is fixed. */
export function part<const Kind extends string, const Settings extends z.ZodRawShape>(
  kind: Kind,
  { settings }: { readonly settings: Settings },
) {
  // zod cannot see that all keys of a generic shape have defaults.
  return z.strictObject({ kind: fixed(kind), ...settings }).prefault({} as never);
}

export function groupRelative<const Std extends "group" | "none">(std: Std) {
  return z.strictObject({ kind: fixed("group-relative"), ...groupRelativeKind.settings, std: fixed(std) }).prefault({});
}

export function ppu<const Level extends "token" | "turn" | "sequence">(level: Level, low = 0.2, high = 0.2) {
  return z
    .strictObject({ kind: fixed("ppu"), ...ppuKind.settings, level: fixed(level), clip: clipRange(low, high) })
    .prefault({});
}
