import type { Id, Item, World } from "./world.ts";

/**
 * Returns the differences between one state and a later one, as sorted lines: two episodes did the same if their changes are equal.
 * An item that was made during the episode counts by what it is, not by its id; a text without its case and final full stop.
 * A thing that was changed and changed back is no change.
 */
export function changesBetween(before: World, after: World): string[] {
  const who = (id: Id) => after.contacts.find((contact) => contact.id === id && contact.isNew)?.name.toLowerCase() ?? id;
  const all = (ids: readonly Id[]) => ids.map(who).sort().join();
  return [
    ...itemChanges(before.contacts, after.contacts, ({ name }) => `contact ${plain(name)}`),
    ...itemChanges(
      before.events,
      after.events,
      ({ title, day, time, guests }) => `event ${plain(title)} ${day} ${time} with ${all(guests)}`,
    ),
    ...itemChanges(before.notes, after.notes, ({ title, text }) => `note ${plain(title)}: ${plain(text)}`),
    ...itemChanges(before.inbox, after.inbox, ({ answers }) => `message answered ${answers.map(plain).join()}`),
    ...itemChanges(
      before.files,
      after.files,
      ({ folder, locked, sharedWith }) => `file in ${folder} ${locked ? "locked" : "open"} for ${all(sharedWith)}`,
    ),
    ...after.sent.slice(before.sent.length).map(({ to, text }) => `sent ${who(to)}: ${plain(text)}`),
    ...after.payments.slice(before.payments.length).map(({ to, amount }) => `paid ${who(to)} ${amount}`),
    ...after.withdrawals.slice(before.withdrawals.length).map((amount) => `took ${amount} from the savings`),
  ].sort();
}

export function sameLines(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((line, i) => line === b[i]);
}

function itemChanges<T extends Item>(before: readonly T[], after: readonly T[], describe: (item: T) => string): string[] {
  if (before === after) return [];
  const line = (item: T) => `${item.isNew ? "new" : item.id} ${describe(item)}`;
  const earlier = new Map(before.map((item) => [item.id, item]));
  const lines: string[] = [];
  for (const item of after) {
    const old = earlier.get(item.id);
    earlier.delete(item.id);
    if (old !== item && (old === undefined || line(old) !== line(item))) lines.push(line(item));
  }
  return [...lines, ...[...earlier.values()].map((item) => `gone: ${item.isNew ? line(item) : item.id}`)];
}

function plain(text: string): string {
  return text
    .trim()
    .toLowerCase()
    .replace(/[.!]+$/, "");
}
