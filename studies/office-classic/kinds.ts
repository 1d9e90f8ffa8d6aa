import type { Kind } from "./kind.ts";
import * as calendar from "./kinds/calendar.ts";
import * as files from "./kinds/files.ts";
import * as money from "./kinds/money.ts";
import * as people from "./kinds/people.ts";

/** Every kind of request, by name. */
export const kinds = {
  pay: money.pay,
  message: people.message,
  same: people.same,
  also_pay: money.alsoPay,
  move_event: calendar.moveEvent,
  make_it: calendar.makeIt,
  when: calendar.when,
  tell_when: calendar.tellWhen,
  delete_file: files.deleteFile,
  desk: people.desk,
  cancel_event: calendar.cancelEvent,
  which_folder: files.whichFolder,
  // The default world ends here.
  book_if_free: calendar.bookIfFree,
  also_tell: people.alsoTell,
  tell_both: people.tellBoth,
  add_contact: people.addContact,
  reply: people.reply,
  pay_note: money.payNote,
  pay_if: money.payIfAffordable,
  balance: money.balance,
  pay_from_savings: money.payFromSavings,
  cancel_it: calendar.cancelIt,
  cancel_day: calendar.cancelDay,
  invite: calendar.invite,
  also_invite: calendar.alsoInvite,
  unlock_and_delete: files.unlockAndDelete,
  move_file: files.moveFile,
  share_file: files.shareFile,
  note_desk: people.noteDesk,
} as const satisfies Record<string, Kind>;

export type KindName = keyof typeof kinds;
export const kindNames = Object.keys(kinds) as [KindName, ...KindName[]];
export const kindOf = (name: KindName): Kind => kinds[name];

/**
 * Pairs that are kept for the challenge split: there, at least one request follows directly on one that it never follows
 * in the other splits. Every kind is the first and the second of some other pair outside of it.
 */
const heldOut: { readonly [K in KindName]: readonly KindName[] } = {
  pay: ["delete_file", "when", "tell_both", "reply"],
  message: ["also_pay", "move_event", "desk", "pay_if"],
  same: ["book_if_free", "also_tell", "pay_note"],
  also_pay: ["same", "tell_when", "balance"],
  move_event: ["pay", "cancel_it", "share_file"],
  make_it: ["message", "also_invite", "pay_from_savings"],
  when: ["make_it", "delete_file", "invite"],
  tell_when: ["pay", "cancel_event", "move_file"],
  book_if_free: ["pay", "message", "which_folder"],
  delete_file: ["book_if_free", "tell_when", "cancel_day"],
  also_tell: ["same", "note_desk"],
  tell_both: ["unlock_and_delete", "pay"],
  desk: ["also_pay", "message"],
  add_contact: ["pay_from_savings", "when"],
  reply: ["also_tell", "delete_file"],
  pay_note: ["share_file", "move_event"],
  pay_if: ["cancel_day", "also_pay"],
  balance: ["pay_if", "reply"],
  pay_from_savings: ["pay_note", "desk"],
  cancel_event: ["invite", "add_contact"],
  cancel_it: ["cancel_event", "book_if_free"],
  cancel_day: ["cancel_event", "tell_both"],
  invite: ["cancel_it", "tell_both"],
  also_invite: ["make_it", "balance"],
  unlock_and_delete: ["move_file", "note_desk"],
  move_file: ["unlock_and_delete", "which_folder"],
  share_file: ["also_invite", "which_folder", "same"],
  which_folder: ["delete_file", "message"],
  note_desk: ["also_tell", "pay_note"],
};

export function isHeldOut(first: KindName, second: KindName): boolean {
  return heldOut[first].includes(second);
}

export const isFollowUp = (name: KindName) => kindOf(name).needs !== undefined;

/** True if a request of the second kind can come right after one of the first. */
export function canFollow(first: KindName, second: KindName): boolean {
  const { needs } = kindOf(second);
  return needs === undefined || (kindOf(first).leaves?.includes(needs) ?? false);
}
