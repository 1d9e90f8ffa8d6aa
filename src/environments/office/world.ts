import type { Random } from "../../core/random.ts";
import {
  type Day,
  days,
  eventTitles,
  fileNames,
  firstNames,
  folders,
  greetings,
  noteTitles,
  surnames,
  times,
} from "./vocabulary.ts";

/** A letter for the app and two digits, unique in an episode: "c41". Never below 10, so that "c01" is always a made-up one. */
export type Id = string;

/** Something that has an id. Records are replaced, never changed, so that a copy of a world is a copy of its lists. */
interface Item {
  readonly id: Id;
  /** True if it was made during the episode. */
  readonly isNew?: true;
}

export interface Contact extends Item {
  /** First name and surname. */
  readonly name: string;
  readonly desk: number;
}

export interface CalendarEvent extends Item {
  readonly title: string;
  readonly day: Day;
  readonly time: string;
  /** Contacts' ids. */
  readonly guests: readonly Id[];
}

export interface Note extends Item {
  readonly title: string;
  readonly text: string;
}

export interface InboxMessage extends Item {
  readonly from: Id;
  readonly text: string;
  readonly answers: readonly string[];
}

export interface OfficeFile extends Item {
  readonly name: string;
  readonly folder: string;
  readonly locked: boolean;
  /** Contacts' ids. */
  readonly sharedWith: readonly Id[];
}

/** The state of all apps. */
export interface World {
  contacts: readonly Contact[];
  events: readonly CalendarEvent[];
  notes: readonly Note[];
  inbox: readonly InboxMessage[];
  files: readonly OfficeFile[];
  sent: readonly { readonly to: Id; readonly text: string }[];
  payments: readonly { readonly to: Id; readonly amount: number }[];
  balance: number;
  savings: number;
  /** Every id that was ever given, those of deleted items too. */
  ids: readonly Id[];
  /** Decides the ids of what is made later. */
  readonly idSeed: number;
  /** The tool whose next call fails with "busy, try again". */
  busy?: string;
}

/** How many of each there are at the start. */
export interface WorldSize {
  readonly contacts: number;
  /** How many of the contacts share their first name with another one. */
  readonly doubledNames: number;
  readonly events: number;
  readonly notes: number;
  readonly messages: number;
  readonly files: number;
}

export function drawWorld(random: Random, size: WorldSize): World {
  const ids = new Set<Id>();
  const id = (letter: string): Id => {
    for (;;) {
      const candidate = `${letter}${10 + random.integer(90)}`;
      if (!ids.has(candidate)) {
        ids.add(candidate);
        return candidate;
      }
    }
  };
  const list = <T>(length: number, make: (index: number) => T) => Array.from({ length }, (_, index) => make(index));

  const first = random.shuffle(firstNames);
  const last = random.shuffle(surnames);
  const distinct = size.contacts - size.doubledNames;
  const contacts = random.shuffle(
    list(size.contacts, (i) => ({
      id: id("c"),
      name: `${first[i < distinct ? i : i - distinct]} ${last[i % last.length]}`,
      desk: 10 + random.integer(90),
    })),
  );
  const titles = random.shuffle(eventTitles);
  const week = random.shuffle(days);
  const slots = random.shuffle(times);
  const notes = random.shuffle(noteTitles);
  const files = random.shuffle(fileNames);
  return {
    contacts,
    events: list(size.events, (i) => ({ id: id("e"), title: titles[i], day: week[i % week.length], time: slots[i], guests: [] })),
    notes: list(size.notes, (i) => ({ id: id("n"), title: notes[i], text: String(10 + random.integer(21)) })),
    inbox: list(size.messages, (i) => ({ id: id("m"), from: contacts[i].id, text: random.pick(greetings), answers: [] })),
    files: list(size.files, (i) => ({
      id: id("f"),
      name: files[i],
      folder: random.pick(folders),
      locked: i % 3 === 0,
      sharedWith: [],
    })),
    sent: [],
    payments: [],
    balance: 50 + random.integer(50),
    savings: 500,
    ids: [...ids],
    idSeed: random.integer(90),
  };
}

export function cloneWorld(world: World): World {
  return { ...world };
}

/** An id for something new, the same in every episode of a task. @throws RangeError once an app has given all of its 90 ids */
export function freshId(world: World, letter: string): Id {
  for (let step = 1; step <= 90; step++) {
    const id = `${letter}${10 + ((world.idSeed + 37 * (world.ids.length + step)) % 90)}`;
    if (world.ids.includes(id)) continue;
    world.ids = [...world.ids, id];
    return id;
  }
  throw new RangeError(`the ids of letter ${letter} are used up`);
}

/**
 * The state as sorted lines, one per item: two worlds are equal if their facts are. An item that was made during the episode
 * counts by what it is, not by its id; a text without its case and final full stop.
 */
export function factsOf(world: World): string[] {
  const idOf = (item: Item) => (item.isNew ? "new" : item.id);
  const plain = (text: string) =>
    text
      .trim()
      .toLowerCase()
      .replace(/[.!]+$/, "");
  return [
    ...world.contacts.map((contact) => `contact ${idOf(contact)} ${contact.name} at ${contact.desk}`),
    ...world.events.map(
      (event) => `event ${idOf(event)} ${plain(event.title)} ${event.day} ${event.time} with ${[...event.guests].sort().join()}`,
    ),
    ...world.notes.map((note) => `note ${idOf(note)} ${plain(note.title)}: ${plain(note.text)}`),
    ...world.inbox.map((message) => `message ${message.id} answered ${message.answers.map(plain).join()}`),
    ...world.files.map(
      (file) => `file ${file.id} in ${file.folder} ${file.locked ? "locked" : "open"} for ${[...file.sharedWith].sort().join()}`,
    ),
    ...world.sent.map(({ to, text }) => `sent ${to}: ${plain(text)}`),
    ...world.payments.map(({ to, amount }) => `paid ${to} ${amount}`),
    `balance ${world.balance}`,
    `savings ${world.savings}`,
  ].sort();
}
