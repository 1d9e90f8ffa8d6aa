import type { Day } from "./vocabulary.ts";

/**
 * Regularities of the office that no text states: a policy finds them by the reward alone. The demonstrations follow a favourite instead,
 * which is right for one type of file and on one day.
 */

export const folders = ["Drafts", "Archive", "Public", "Private", "Team"] as const;
export type Folder = (typeof folders)[number];

/** Which folder takes which type of file. */
export const folderOf = {
  bill: "Archive",
  photo: "Public",
  plan: "Team",
  letter: "Private",
  list: "Drafts",
} as const satisfies Record<string, Folder>;
export type FileType = keyof typeof folderOf;
export const fileTypes = Object.keys(folderOf) as FileType[];

export const couriers = ["Swift", "Metro", "Polar"] as const;
export type Courier = (typeof couriers)[number];

/** The one courier that drives on a day; the others take a parcel and leave it lying. */
export const courierOf: Readonly<Record<Day, Courier>> = {
  Monday: "Metro",
  Tuesday: "Polar",
  Wednesday: "Metro",
  Thursday: "Swift",
  Friday: "Polar",
};

/** The choices that the careless assistant of the demonstrations likes best. */
export const favourites = { folder: "Drafts", courier: "Swift" } as const;
