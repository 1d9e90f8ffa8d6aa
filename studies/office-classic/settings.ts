import { z } from "zod";
import { isFollowUp, kindNames } from "./kinds.ts";
import type { WorldSize } from "./world.ts";

const range = z
  .strictObject({ min: z.int().min(1).max(8), max: z.int().min(1).max(8) })
  .refine(({ min, max }) => min <= max, "a range whose min is not above its max");

export const officeSettingsSchema = z.strictObject({
  /** Chooses what is left out below, and how much there is of everything. */
  difficulty: z.enum(["small", "default", "large"]).default("default"),
  /** The kinds of request that occur. */
  kinds: z
    .array(z.enum(kindNames))
    .refine((names) => !names.every(isFollowUp), "at least one kind that is not a follow-up")
    .optional(),
  /** How many requests a user comes with. */
  requests: range.optional(),
  /** sparse: 1 if everything is right, else 0. dense: the share of requests that were fulfilled. */
  reward: z.enum(["sparse", "dense"]).default("sparse"),
  /** The share of episodes in which a tool answers "busy, try again" once. */
  busy: z.number().min(0).max(1).default(0.4),
});

type Parsed = z.output<typeof officeSettingsSchema>;
export type OfficeSettings = Required<Parsed> & { readonly size: WorldSize };

export const defaultKinds: NonNullable<Parsed["kinds"]> = [
  "pay",
  "message",
  "same",
  "also_pay",
  "move_event",
  "make_it",
  "when",
  "tell_when",
  "delete_file",
  "desk",
  "cancel_event",
  "which_folder",
];

const defaultSize: WorldSize = { contacts: 7, doubledNames: 1, events: 7, notes: 3, messages: 2, files: 4 };

export const difficulties: Readonly<Record<Parsed["difficulty"], Pick<OfficeSettings, "kinds" | "requests" | "size">>> = {
  small: { kinds: defaultKinds, requests: { min: 1, max: 1 }, size: defaultSize },
  default: { kinds: defaultKinds, requests: { min: 1, max: 3 }, size: defaultSize },
  large: {
    kinds: [...kindNames],
    requests: { min: 1, max: 4 },
    size: { contacts: 12, doubledNames: 3, events: 10, notes: 6, messages: 4, files: 9 },
  },
};

/** Fills in what the difficulty decides. */
export function completeSettings(settings: Parsed): OfficeSettings {
  const { kinds, requests, size } = difficulties[settings.difficulty];
  return { ...settings, kinds: settings.kinds ?? kinds, requests: settings.requests ?? requests, size };
}
