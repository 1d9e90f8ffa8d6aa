import type { Random } from "../../src/core/random.ts";
import type { Plan } from "../../src/environments/plan.ts";
import type { Habit, Mind } from "./expert.ts";
import { firstNames } from "./vocabulary.ts";
import type { Contact, Id, World } from "./world.ts";

/** The things that a request leaves to be talked about, for follow-ups such as "the same for Bob". */
export interface Topic {
  /** A person, by the name that the user said. */
  readonly person?: string;
  /** The action that was done to that person, to be done to another one. */
  readonly deed?: (mind: Mind, contact: Id) => Plan;
  /** An event, by its title. */
  readonly event?: string;
}

/** Where a request is drawn: the state of the apps once all earlier requests are fulfilled. */
export interface Scene {
  readonly world: World;
  readonly random: Random;
  /** The topic of the request before; empty at the start and after a request that was refused. */
  readonly topic: Topic;
}

/** A request in all its details. */
export interface Draft {
  /** For the gaps of the phrasings. */
  readonly words: Readonly<Record<string, string | number>>;
  /** The full name of the person meant, where a first name fits several: the user's answer to "Which Ana?". */
  readonly meant?: string;
  readonly topic?: Topic;
  solve(mind: Mind): Plan;
}

/** One kind of request. */
export interface Kind {
  /** How a user says it. `{gap}` is filled from the draft's words. */
  readonly phrasings: readonly string[];
  /** The bad habits that its solution has room for. */
  readonly habits: readonly Habit[];
  /** True if the closing words must give a value. */
  readonly question?: true;
  /** The things that its requests leave to talk about. */
  readonly leaves?: readonly (keyof Topic)[];
  /** A follow-up: what the request before must have left. */
  readonly needs?: keyof Topic;
  /** Draws a request that fits the scene; undefined where none does. */
  draw(scene: Scene): Draft | undefined;
}

/** A person as a request names them. */
export interface DrawnPerson {
  readonly said: string;
  /** Undefined for somebody who is not in the contacts. */
  readonly contact?: Contact;
  readonly meant?: string;
}

/** True for contacts that a name does not fit. */
export const notCalled = (name: string | undefined) => (contact: Contact) => contact.name !== name && firstName(contact) !== name;

export const firstName = (contact: Contact) => contact.name.split(" ")[0];

/** Somebody to be named: now and then unknown, now and then by a first name that two people have. */
export function drawPerson(
  { world, random }: Scene,
  { unknown = 0.08, among = () => true }: { unknown?: number; among?: (contact: Contact) => boolean } = {},
): DrawnPerson {
  if (random.chance(unknown)) return { said: drawMissing(random, firstNames, world.contacts.map(firstName)) };
  const contact = random.pick(world.contacts.filter(among));
  const namesakes = world.contacts.filter((other) => firstName(other) === firstName(contact)).length;
  if (random.chance(namesakes > 1 ? 0.4 : 0.2)) return { said: contact.name, contact };
  return { said: firstName(contact), contact, meant: namesakes > 1 ? contact.name : undefined };
}

/** One of the names that is not taken. */
export function drawMissing(random: Random, names: readonly string[], taken: readonly string[]): string {
  return random.pick(names.filter((name) => !taken.includes(name)));
}

/** The title of an item, now and then of one that does not exist. */
export function drawTitle<T>(
  random: Random,
  items: readonly T[],
  titleOf: (item: T) => string,
  titles: readonly string[],
): { title: string; item?: T } {
  if (random.chance(0.08) || items.length === 0) return { title: drawMissing(random, titles, items.map(titleOf)) };
  const item = random.pick(items);
  return { title: titleOf(item), item };
}
