import type { Random } from "../../src/core/random.ts";
import type { FileType } from "./rules.ts";

/**
 * An archive of cabinets of which one alone can be opened, each with a shelf of numbered papers in order. Looking is limited. Whoever opens
 * the wrong one finds out many turns later, and whoever looks at one place after the other comes to no end.
 */
export const cabinets = ["North", "South", "East"] as const;
export type Cabinet = (typeof cabinets)[number];

/** The cabinet that has the papers of a type. No text says so. */
export const cabinetOf: Readonly<Record<FileType, Cabinet>> = {
  bill: "South",
  photo: "East",
  plan: "South",
  letter: "East",
  list: "North",
};

/** The cabinet that the careless assistant of the demonstrations likes best. */
export const favouriteCabinet: Cabinet = "North";

/** Papers of a shelf. */
export const places = 16;

export interface Archive {
  /** The papers' numbers by place, from the smallest, in each cabinet. */
  readonly shelves: Readonly<Record<Cabinet, readonly number[]>>;
  readonly open?: Cabinet;
  readonly looksLeft: number;
  readonly brought: readonly { readonly number: number; readonly to: Id }[];
}

export const archiveRefusals = {
  shut: "no cabinet is open",
  open: "one cabinet is open already",
  noLooks: "no looks left",
} as const;

/** Answers of a look: where the paper is, or would be, seen from the place. */
export const sides = { here: "here", lower: "lower", higher: "higher" } as const;

/** @param looks the number of looks that an episode has */
export function drawArchive(random: Random, looks: number): Archive {
  const shelf = () =>
    random
      .shuffle(Array.from({ length: 90 }, (_, i) => 10 + i))
      .slice(0, places)
      .sort((a, b) => a - b);
  return { shelves: { North: shelf(), South: shelf(), East: shelf() }, looksLeft: looks, brought: [] };
}

/** A letter for the app and two digits, unique in an episode: "c41". */
export type Id = string;
