import type { Kind } from "./kind.ts";
import { bookIfFree, makeIt, moveEvent, tellWhen, when } from "./kinds/calendar.ts";
import { deleteFile } from "./kinds/files.ts";
import { alsoPay, message, pay, same } from "./kinds/people.ts";

/** Every kind of request, by name. */
export const kinds = {
  pay,
  message,
  same,
  also_pay: alsoPay,
  move_event: moveEvent,
  make_it: makeIt,
  when,
  tell_when: tellWhen,
  book_if_free: bookIfFree,
  delete_file: deleteFile,
} as const satisfies Record<string, Kind>;

export type KindName = keyof typeof kinds;
export const kindNames = Object.keys(kinds) as [KindName, ...KindName[]];
export const kindOf = (name: KindName): Kind => kinds[name];

/**
 * Pairs that are kept for the challenge split: there, at least one request follows directly on one that it never follows
 * in the other splits. Every kind is the first and the second of some other pair outside of it.
 */
const heldOut: { readonly [K in KindName]?: readonly KindName[] } = {
  pay: ["delete_file", "when"],
  message: ["also_pay", "move_event"],
  same: ["book_if_free"],
  also_pay: ["tell_when"],
  move_event: ["pay"],
  make_it: ["message"],
  when: ["make_it", "delete_file"],
  tell_when: ["pay"],
  book_if_free: ["pay", "message"],
  delete_file: ["book_if_free", "tell_when"],
};

export function isHeldOut(first: KindName, second: KindName): boolean {
  return heldOut[first]?.includes(second) ?? false;
}

/** True if a request of the second kind can come right after one of the first. */
export function canFollow(first: KindName, second: KindName): boolean {
  const { needs } = kindOf(second);
  return needs === undefined || (kindOf(first).leaves?.includes(needs) ?? false);
}
