import type { Random } from "../../src/core/random.ts";
import type { Scene } from "./kind.ts";
import type { Contact, World } from "./world.ts";

interface DrawnPerson {
  readonly said: string;
  /** Undefined for somebody unknown. */
  readonly name?: string;
  readonly meant?: string;
}

const unknownShare = 0.05;
/** Somebody is named in full, so that there is nothing to ask. */
const fullNameShare = 0.28;

/** The values that somebody claims who found nothing. */
export const careless = { day: "Monday", time: "10:00", desk: 10, type: "list", rate: "fixed" } as const;

export const isAt = (title: string, day: string, time: string) => `${title} is on ${day} at ${time}.`;

/** Somebody to be named: now and then unknown, often by a first name that two people have. */
export function drawPerson({ world: { contacts }, random, words }: Scene): DrawnPerson {
  const firstName = ({ name }: Contact) => name.replace(/ .*/, "");
  const taken = contacts.map(firstName);
  if (random.chance(unknownShare)) return { said: random.pick(words.firstNames.filter((name) => !taken.includes(name))) };
  const contact = random.pick(contacts);
  const isDoubled = taken.filter((name) => name === firstName(contact)).length > 1;
  const { name } = contact;
  if (random.chance(fullNameShare)) return { said: name, name };
  return { said: firstName(contact), name, meant: isDoubled ? name : undefined };
}

/** A title that exists, or now and then one that does not. */
function drawName<T>(random: Random, items: readonly T[], nameOf: (item: T) => string, names: readonly string[]): string {
  if (items.length > 0 && !random.chance(unknownShare)) return nameOf(random.pick(items));
  return random.pick(names.filter((name) => !items.some((item) => nameOf(item) === name)));
}

export const drawFile = ({ world, random, words }: Scene) => drawName(random, world.files, ({ name }) => name, words.fileNames);

export const drawEvent = ({ world, random, words }: Scene, fits: (event: World["events"][number]) => boolean = () => true) =>
  drawName(random, world.events.filter(fits), ({ title }) => title, words.eventTitles);
