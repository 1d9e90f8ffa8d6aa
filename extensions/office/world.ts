import { present } from "../../src/core/present.ts";
import type { Random } from "../../src/core/random.ts";
import { type FileType, fileTypes } from "./rules.ts";
import { type Day, days, times, type Words } from "./vocabulary.ts";

/** A letter for the app and two digits, unique in an episode: "c41". */
export type Id = string;

export interface Contact {
  readonly id: Id;
  /** First name and surname, unique in an episode. */
  readonly name: string;
  readonly desk: number;
  /** Who reads the messages of somebody who is away: a full name. */
  readonly deputy?: string;
}

export interface CalendarEvent {
  readonly id: Id;
  readonly title: string;
  readonly day: Day;
  readonly time: string;
  /** An open event may still move, a settled one never does. */
  readonly status: "open" | "settled";
  /** The room booked for it. A fixed one holds the event where it is. */
  readonly room?: "flex" | "fixed";
}

export interface OfficeFile {
  readonly id: Id;
  readonly name: string;
  readonly type: FileType;
  readonly locked: boolean;
  readonly folder?: string;
  /** The note about who may see it. */
  readonly note?: Note;
  /** Contacts' ids. */
  readonly sharedWith: readonly Id[];
}

export interface Note {
  readonly id: Id;
  readonly text: "private" | "for all";
}

/** A tool that does not work: "busy" the first time it is called, "closed" every time. */
export interface Fault {
  readonly tool: string;
  readonly state: "busy" | "closed";
}

/** The state of all apps. Records are replaced, never changed, so that a copy of a world is a copy of its lists. */
export interface World {
  readonly contacts: readonly Contact[];
  readonly today: Day;
  events: readonly CalendarEvent[];
  files: readonly OfficeFile[];
  sent: readonly { readonly to: Id; readonly text: string }[];
  payments: readonly { readonly to: Id; readonly amount: number }[];
  parcels: readonly { readonly to: Id; readonly courier: string }[];
  fault?: Fault;
  /** Calls that the episode may still make. */
  callsLeft: number;
}

/** How many of each there are. */
export interface WorldSize {
  readonly contacts: number;
  /** How many of the contacts share their first name with another one. */
  readonly doubledNames: number;
  readonly events: number;
  readonly files: number;
}

/** Chances that decide how often a situation comes up. */
const awayShare = 0.6;
const openShare = 0.5;
const lockedShare = 0.5;
const notedShare = 0.9;
const privateShare = 0.45;

/** @param nameFits what a split accepts as a full name */
export function drawWorld(random: Random, size: WorldSize, words: Words, nameFits: (name: string) => boolean): World {
  const ids = new Set<Id>();
  const id = (letter: string): Id => {
    for (;;) {
      const candidate = `${letter}${10 + random.integer(90)}`;
      if (ids.has(candidate)) continue;
      ids.add(candidate);
      return candidate;
    }
  };
  const names = drawNames(random, size, words.firstNames, words.surnames, nameFits);
  const away = names.map(() => random.chance(awayShare));
  const atWork = names.filter((_, i) => !away[i]);
  const contacts = random.shuffle(
    names.map((name, i) => ({
      id: id("c"),
      name,
      desk: 10 + random.integer(90),
      ...(away[i] && atWork.length > 0 ? { deputy: random.pick(atWork) } : {}),
    })),
  );
  const titles = random.shuffle(words.eventTitles).slice(0, size.events);
  const slots = random.shuffle(times);
  const files = random.shuffle(words.fileNames).slice(0, size.files);
  return {
    contacts,
    today: random.pick(days),
    events: titles.map((title, i) => ({
      id: id("e"),
      title,
      day: random.pick(days),
      time: present(slots[i], "a free time"),
      status: random.chance(openShare) ? "open" : "settled",
    })),
    files: files.map((name) => ({
      id: id("f"),
      name,
      type: random.pick(fileTypes),
      locked: random.chance(lockedShare),
      ...(random.chance(notedShare) ? { note: { id: id("n"), text: random.chance(privateShare) ? "private" : "for all" } } : {}),
      sharedWith: [],
    })),
    sent: [],
    payments: [],
    parcels: [],
    callsLeft: Number.POSITIVE_INFINITY,
  };
}

/** Full names, all different; the last ones repeat first names of the others. */
function drawNames(
  random: Random,
  { contacts, doubledNames }: WorldSize,
  firstNames: readonly string[],
  surnames: readonly string[],
  fits: (name: string) => boolean,
): string[] {
  const distinct = contacts - doubledNames;
  const fitting = (first: string) => surnames.map((surname) => `${first} ${surname}`).filter(fits);
  const first: string[] = [];
  for (const name of random.shuffle(firstNames)) {
    if (first.length === distinct) break;
    if (fitting(name).length >= Math.ceil(contacts / distinct)) first.push(name);
  }
  const names: string[] = [];
  for (let i = 0; i < contacts; i++) {
    const candidates = fitting(present(first[i % distinct], "a first name")).filter((name) => !names.includes(name));
    names.push(random.pick(candidates));
  }
  return names;
}

/** Shares the records, which never change. */
export function cloneWorld(world: World): World {
  return { ...world };
}
