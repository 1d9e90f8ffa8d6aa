import type { Random } from "../../src/core/random.ts";
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
export interface Item {
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
  /** The amounts that were taken from the savings. */
  withdrawals: readonly number[];
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

  const distinct = size.contacts - size.doubledNames;
  const first = sample(random, firstNames, distinct);
  const last = sample(random, surnames, size.contacts);
  const contacts = random.shuffle(
    list(size.contacts, (i) => ({
      id: id("c"),
      name: `${first[i < distinct ? i : i - distinct]} ${last[i]}`,
      desk: 10 + random.integer(90),
    })),
  );
  const titles = sample(random, eventTitles, size.events);
  const slots = sample(random, times, size.events);
  const week = random.shuffle(days);
  const notes = sample(random, noteTitles, size.notes);
  const files = sample(random, fileNames, size.files);
  return {
    contacts,
    events: list(size.events, (i) => ({ id: id("e"), title: titles[i], day: week[i % week.length], time: slots[i], guests: [] })),
    notes: list(size.notes, (i) => ({ id: id("n"), title: notes[i], text: String(11 + random.integer(89)) })),
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
    withdrawals: [],
    balance: 50 + random.integer(50),
    savings: 500,
    ids: [...ids],
    idSeed: random.integer(90),
  };
}

/** That many different items. */
function sample<T>(random: Random, items: readonly T[], count: number): T[] {
  const rest = [...items];
  return Array.from({ length: count }, () => rest.splice(random.integer(rest.length), 1)[0]);
}

/** Shares the records, which never change. */
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
