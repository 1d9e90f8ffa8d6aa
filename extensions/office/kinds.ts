import { book, cancel, makeIt, move, when } from "./calendar-requests.ts";
import { deleteFile, fileAway, share } from "./file-requests.ts";
import type { Kind } from "./kind.ts";
import { desk, message, parcel, pay, same, tellWhen } from "./people-requests.ts";

export const kinds = {
  pay,
  message,
  parcel,
  same,
  tell_when: tellWhen,
  desk,
  file_away: fileAway,
  delete_file: deleteFile,
  share,
  book,
  move,
  make_it: makeIt,
  when,
  cancel,
} as const satisfies Record<string, Kind>;

export type KindName = keyof typeof kinds;
export const kindNames = Object.keys(kinds) as [KindName, ...KindName[]];
export const kindOf = (name: KindName): Kind => kinds[name];
export const isFollowUp = (name: KindName) => kindOf(name).needs !== undefined;

/** True if a request of the second kind can come right after one of the first. */
export function canFollow(first: KindName, second: KindName): boolean {
  const { needs } = kindOf(second);
  return needs === undefined || kindOf(first).leaves === needs;
}

/**
 * Pairs that are kept for the challenge split: there, at least one request follows directly on one that it never follows in the other
 * splits.
 */
const heldOut: { readonly [K in KindName]?: readonly KindName[] } = {
  pay: ["share", "file_away"],
  message: ["parcel", "book"],
  parcel: ["delete_file", "message"],
  same: ["book", "pay"],
  tell_when: ["file_away", "share"],
  file_away: ["parcel", "tell_when"],
  delete_file: ["message", "book"],
  share: ["pay", "file_away"],
  book: ["share", "message"],
  make_it: ["parcel", "delete_file"],
  move: ["file_away", "pay"],
  desk: ["share"],
  when: ["parcel"],
  cancel: ["message"],
};

export function isHeldOut(first: KindName, second: KindName): boolean {
  return heldOut[first]?.includes(second) ?? false;
}
