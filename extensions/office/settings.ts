import { z } from "zod";
import { settingsDoor } from "../../src/core/door.ts";
import { isFollowUp, kindNames } from "./kinds.ts";
import type { WorldSize } from "./world.ts";

const range = z
  .strictObject({ min: z.int().min(1).max(8), max: z.int().min(1).max(8) })
  .refine(({ min, max }) => min <= max, "a range whose min is not above its max");

export const officeSettingsSchema = settingsDoor("settings of the office", {
  difficulty: z
    .enum(["small", "default", "large"])
    .default("default")
    .describe("`small` (one request), `default` (two or three, 4 to 12 turns) or `large` (three to six, 12 to 28 turns)"),
  kinds: z
    .array(z.enum(kindNames))
    .refine((names) => !names.every(isFollowUp), "at least one kind that is not a follow-up")
    .optional()
    .describe("kinds of request that occur; all if omitted"),
  requests: range.optional().describe("`{ min, max }` requests of an episode; the difficulty's if omitted"),
  reward: z
    .enum(["sparse", "dense"])
    .default("sparse")
    .describe("`sparse`: 1 if every request was fulfilled, else 0; `dense`: the share that was"),
  faults: z.number().min(0).max(1).default(0.4).describe("share of episodes in which a tool is busy once, or closed"),
  spareCalls: z.int().min(0).default(3).describe("calls allowed beyond the expert's"),
  prompt: z
    .enum(["short", "full"])
    .default("short")
    .describe("system message: `short` for the default model, `full` with the rules of the house for others"),
});

type Parsed = z.output<typeof officeSettingsSchema>;
interface Range {
  readonly min: number;
  readonly max: number;
}
/** How long the expert's episodes are. */
interface Length {
  readonly requests: Range;
  /** Assistant turns. */
  readonly turns: Range;
}
export type OfficeSettings = Required<Parsed> & {
  readonly size: WorldSize;
  readonly turns: Range;
  readonly challenge: Length;
};

const defaultSize: WorldSize = { contacts: 7, doubledNames: 4, events: 6, files: 5 };

const difficulties: Readonly<Record<Parsed["difficulty"], Length & Pick<OfficeSettings, "size" | "challenge">>> = {
  small: {
    size: defaultSize,
    requests: { min: 1, max: 1 },
    turns: { min: 2, max: 8 },
    challenge: { requests: { min: 2, max: 3 }, turns: { min: 4, max: 12 } },
  },
  default: {
    size: defaultSize,
    requests: { min: 2, max: 3 },
    turns: { min: 4, max: 12 },
    challenge: { requests: { min: 2, max: 5 }, turns: { min: 8, max: 16 } },
  },
  large: {
    size: { contacts: 10, doubledNames: 4, events: 6, files: 6 },
    requests: { min: 3, max: 6 },
    turns: { min: 12, max: 28 },
    challenge: { requests: { min: 4, max: 8 }, turns: { min: 16, max: 36 } },
  },
};

/** Fills in what the difficulty decides. With requests of the user's own, episodes are as long as these make them. */
export function completeSettings(settings: Parsed): OfficeSettings {
  const { size, challenge, requests, turns } = difficulties[settings.difficulty];
  return {
    ...settings,
    size,
    challenge,
    kinds: settings.kinds ?? [...kindNames],
    requests: settings.requests ?? requests,
    turns: settings.requests === undefined && settings.kinds === undefined ? turns : { min: 1, max: Number.POSITIVE_INFINITY },
  };
}
