import { z } from "zod";
import type { Random } from "../../core/random.ts";
import { close, type Plan } from "../plan.ts";
import { act, type Deed, findEvent, findFile, listed, lookUp, type Mind, toPerson } from "./expert.ts";
import { courierOf, couriers, type FileType, favourites, fileTypes, folderOf, folders } from "./rules.ts";
import { type Day, days, times, type Words } from "./vocabulary.ts";
import type { Contact, World } from "./world.ts";

/** What a request leaves to be talked about, for follow-ups such as "the same for Bob". */
export interface Topic {
  /** What was done to a person. */
  readonly deed?: Deed;
  /** Full name of that person. */
  readonly person?: string;
  /** Title of an event that may still move. */
  readonly event?: string;
}

/** Where a request is drawn: the state of the apps once all earlier requests are fulfilled. */
export interface Scene {
  readonly world: World;
  readonly random: Random;
  /** Whose names, titles and greetings are used. */
  readonly words: Words;
  /** Of the request before; empty at the start and after a request that was refused. */
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
  /** How a user says it; the last one in the challenge split alone. `{gap}` is filled from the draft's words. */
  readonly phrasings: readonly [...string[], string];
  /** How often it occurs, beside the others. */
  readonly weight: number;
  /** The tool that does what is asked for; it may be busy or closed. */
  readonly tool?: string;
  /** What its requests leave to talk about. */
  readonly leaves?: keyof Topic;
  /** A follow-up: what the request before must have left. */
  readonly needs?: keyof Topic;
  /** Draws a request that fits the scene; undefined where none does. */
  draw(scene: Scene): Draft | undefined;
}

interface DrawnPerson {
  readonly said: string;
  /** Undefined for somebody unknown. */
  readonly name?: string;
  readonly meant?: string;
}

const unknownShare = 0.05;

/** What somebody claims who found nothing. */
const careless = { day: "Monday", time: "10:00", desk: 10, type: "list", rate: "fixed" } as const;

const isAt = (title: string, day: string, time: string) => `${title} is on ${day} at ${time}.`;

/** Somebody to be named: now and then unknown, often by a first name that two people have. */
function drawPerson({ world: { contacts }, random, words }: Scene): DrawnPerson {
  const firstName = ({ name }: Contact) => name.split(" ")[0];
  const taken = contacts.map(firstName);
  if (random.chance(unknownShare)) return { said: random.pick(words.firstNames.filter((name) => !taken.includes(name))) };
  const contact = random.pick(contacts);
  const isDoubled = taken.filter((name) => name === firstName(contact)).length > 1;
  const { name } = contact;
  if (random.chance(0.2)) return { said: name, name };
  return { said: firstName(contact), name, meant: isDoubled ? name : undefined };
}

/** A title that exists, or now and then one that does not. */
function drawName<T>(random: Random, items: readonly T[], nameOf: (item: T) => string, names: readonly string[]): string {
  if (items.length > 0 && !random.chance(unknownShare)) return nameOf(random.pick(items));
  return random.pick(names.filter((name) => !items.some((item) => nameOf(item) === name)));
}

const drawFile = ({ world, random, words }: Scene) => drawName(random, world.files, ({ name }) => name, words.fileNames);
const drawEvent = ({ world, random, words }: Scene, fits: (event: World["events"][number]) => boolean = () => true) =>
  drawName(random, world.events.filter(fits), ({ title }) => title, words.eventTitles);

function onePerson(scene: Scene, words: Draft["words"], deed: Deed): Draft {
  const { said, name, meant } = drawPerson(scene);
  return { words: { person: said, ...words }, meant, topic: { deed, person: name }, solve: (mind) => toPerson(mind, said, deed) };
}

const paying = (amount: number): Deed => ({
  redirects: false,
  claim: (name) => `Paid ${name} ${amount}.`,
  run: (mind, id, claim) => act(mind, "pay", { id, amount }, claim),
});
const telling = (text: string): Deed => ({
  redirects: true,
  claim: (name) => `Told ${name}.`,
  run: (mind, id, claim) => act(mind, "send_message", { id, text }, claim),
});

/** Asks for the day, and sends with the courier that drives on it. */
const sending: Deed = {
  redirects: false,
  claim: (name) => `Sent ${name} a parcel.`,
  *run(mind, id, claim) {
    const today = dayOf(yield { name: "today", arguments: {} });
    const courier = mind.chooses("courier", courierOf[today], favourites.courier, couriers);
    return yield* act(mind, "send_parcel", { id, courier }, claim);
  },
};

function dayOf(answer: string): Day {
  return days.find((day) => day === answer) ?? close("Sorry, I cannot find the day.");
}

const pay: Kind = {
  phrasings: [
    "Pay {person} {amount}.",
    "Send {amount} to {person}.",
    "Give {person} {amount}, please.",
    "{person}: pay {amount}.",
  ],
  weight: 0.8,
  tool: "pay",
  leaves: "deed",
  draw: (scene) => {
    const amount = 11 + scene.random.integer(89);
    return onePerson(scene, { amount }, paying(amount));
  },
};

const message: Kind = {
  phrasings: [
    "Tell {person}: {text}.",
    "Write {person}: {text}.",
    "Send {person} the message {text}.",
    "The message {text} to {person}, please.",
  ],
  weight: 2.8,
  tool: "send_message",
  leaves: "deed",
  draw: (scene) => {
    const text = scene.random.pick(scene.words.greetings);
    return onePerson(scene, { text }, telling(text));
  },
};

const parcel: Kind = {
  phrasings: [
    "Send {person} a parcel.",
    "A parcel for {person}.",
    "{person} gets a parcel.",
    "Please send a parcel to {person}.",
  ],
  weight: 2.8,
  tool: "send_parcel",
  leaves: "deed",
  draw: (scene) => onePerson(scene, {}, sending),
};

const same: Kind = {
  phrasings: ["The same for {person}.", "{person} too.", "Do the same for {person}.", "And {person}, please, the same."],
  weight: 3,
  needs: "deed",
  leaves: "deed",
  draw(scene) {
    const { deed } = scene.topic;
    if (deed === undefined) return undefined;
    const draft = onePerson(scene, {}, deed);
    if (draft.topic?.person === scene.topic.person) return undefined;
    return {
      ...draft,
      *solve(mind) {
        const { contact } = mind;
        if (contact === undefined || !mind.slips("same")) return yield* draft.solve(mind);
        return yield* deed.run(mind, contact.id, deed.claim(contact.name));
      },
    };
  },
};

const tellWhen: Kind = {
  phrasings: [
    "Tell {person} the time of {title}.",
    "Send {person} the time of {title}.",
    "{person} needs the time of {title}.",
    "The time of {title} to {person}, please.",
  ],
  weight: 1.2,
  tool: "send_message",
  draw(scene) {
    const title = drawEvent(scene);
    const { said, meant } = drawPerson(scene);
    return {
      words: { title, person: said },
      meant,
      *solve(mind) {
        const { time } = yield* findEvent(mind, title, `Told ${said}.`);
        return yield* toPerson(mind, said, telling(time));
      },
    };
  },
};

const desk: Kind = {
  phrasings: ["Where does {person} sit?", "Which desk has {person}?", "The desk of {person}?", "{person} sits where?"],
  weight: 0.3,
  draw(scene) {
    const { said, meant } = drawPerson(scene);
    return {
      words: { person: said },
      meant,
      *solve(mind) {
        const person = yield* lookUp(mind, said, { redirects: false, claim: (name) => `${name} sits at ${careless.desk}.` });
        const { desk } = deskSchema.parse(listed(yield { name: "get_contact", arguments: { id: person.id } }));
        return `${person.name} sits at ${desk}.`;
      },
    };
  },
};

const deskSchema = z.object({ desk: z.number() });

const fileAway: Kind = {
  phrasings: ["Put {name} away.", "File {name}, please.", "{name} belongs into a folder.", "{name}: put away, please."],
  weight: 2.3,
  tool: "move_file",
  draw(scene) {
    const name = drawFile(scene);
    return {
      words: { name },
      *solve(mind) {
        const file = yield* findFile(mind, name, `${name} is in ${favourites.folder}.`);
        const folder = mind.chooses("folder", folderOf[typeOf(file.type)], favourites.folder, folders);
        return yield* act(mind, "move_file", { id: file.id, folder }, `${name} is in ${folder}.`);
      },
    };
  },
};

function typeOf(type: string): FileType {
  return fileTypes.find((known) => known === type) ?? close("Sorry, I cannot find the type.");
}

const deleteFile: Kind = {
  phrasings: ["Delete {name}.", "Delete the file {name}.", "The file {name} can go.", "Please delete {name}."],
  weight: 0.8,
  tool: "delete_file",
  draw(scene) {
    const name = drawFile(scene);
    return {
      words: { name },
      *solve(mind) {
        const claim = (type: string) => `The ${type} ${name} is gone.`;
        const file = yield* findFile(mind, name, claim(careless.type));
        if (file.locked && !mind.slips("locked")) return `Sorry, ${name} is locked.`;
        return yield* act(mind, "delete_file", { id: file.id }, claim(file.type));
      },
    };
  },
};

const share: Kind = {
  phrasings: [
    "Share {name} with {person}.",
    "Give {person} the file {name}.",
    "{person} needs the file {name}.",
    "The file {name} to {person}, please.",
  ],
  weight: 2.6,
  tool: "share_file",
  draw(scene) {
    const name = drawFile(scene);
    const { said, meant } = drawPerson(scene);
    return {
      words: { name, person: said },
      meant,
      *solve(mind) {
        const claim = (person: string) => `Shared ${name} with ${person}.`;
        const { id, note } = yield* findFile(mind, name, claim(said));
        if (note !== undefined && !mind.slips("note")) {
          const text = yield { name: "read_note", arguments: { id: note } };
          if (text === "private") return `Sorry, ${name} is private.`;
        }
        return yield* toPerson(mind, said, {
          redirects: false,
          claim,
          run: (mind, contact, words) => act(mind, "share_file", { id, contact }, words),
        });
      },
    };
  },
};

const book: Kind = {
  phrasings: ["Book a room for {title}.", "{title} needs a room.", "A room for {title}, please.", "Please book {title} a room."],
  weight: 2,
  tool: "book_room",
  leaves: "event",
  draw(scene) {
    const title = drawEvent(scene, ({ room }) => room === undefined);
    const event = scene.world.events.find((event) => event.title === title);
    return {
      words: { title },
      topic: event?.status === "open" ? { event: title } : {},
      *solve(mind) {
        const claim = (rate: string) => `${title} has a ${rate} room.`;
        const { id, status } = yield* findEvent(mind, title, claim(careless.rate));
        const rate = status === "settled" || mind.slips("room") ? "fixed" : "flex";
        return yield* act(mind, "book_room", { id, rate }, claim(rate));
      },
    };
  },
};

const drawOtherTime = (random: Random, { events }: World, title: string) =>
  random.pick(times.filter((time) => time !== events.find((event) => event.title === title)?.time));

/** Only of events that may still move, so that no fixed room is right and in the way. */
const move: Kind = {
  phrasings: [
    "Move {title} to {time}.",
    "{title} should be at {time}.",
    "Change {title} to {time}.",
    "{title} to {time}, please.",
  ],
  weight: 0.6,
  tool: "move_event",
  leaves: "event",
  draw(scene) {
    const title = drawEvent(scene, ({ status }) => status === "open");
    const event = scene.world.events.find((event) => event.title === title);
    if (event?.status === "settled") return undefined;
    const time = drawOtherTime(scene.random, scene.world, title);
    return {
      words: { title, time },
      topic: event === undefined ? {} : { event: title },
      *solve(mind) {
        const { id, day } = yield* findEvent(mind, title, isAt(title, careless.day, time));
        return yield* act(mind, "move_event", { id, time }, isAt(title, day, time));
      },
    };
  },
};

const makeIt: Kind = {
  phrasings: ["Make it {time}.", "Move it to {time}.", "Better at {time}.", "{time}, please."],
  weight: 1,
  tool: "move_event",
  needs: "event",
  leaves: "event",
  draw({ random, world, topic: { event: title } }) {
    if (title === undefined) return undefined;
    const time = drawOtherTime(random, world, title);
    return {
      words: { time },
      topic: { event: title },
      *solve(mind) {
        const claim = isAt(title, careless.day, time);
        const { id, day } = mind.event?.title === title ? mind.event : yield* findEvent(mind, title, claim);
        return yield* act(mind, "move_event", { id, time }, isAt(title, day, time));
      },
    };
  },
};

const when: Kind = {
  phrasings: ["When is {title}?", "Day and time of {title}?", "When do I have {title}?", "{title} is when?"],
  weight: 0.3,
  draw(scene) {
    const title = drawEvent(scene);
    return {
      words: { title },
      *solve(mind) {
        const { day, time } = yield* findEvent(mind, title, isAt(title, careless.day, careless.time));
        return isAt(title, day, time);
      },
    };
  },
};

const cancel: Kind = {
  phrasings: ["Cancel {title}.", "{title} is off, cancel it.", "Remove {title}.", "Please cancel {title}."],
  weight: 0.4,
  tool: "cancel_event",
  draw(scene) {
    const title = drawEvent(scene);
    return {
      words: { title },
      *solve(mind) {
        const claim = (day: string) => `${title} on ${day} is off.`;
        const { id, day } = yield* findEvent(mind, title, claim(careless.day));
        return yield* act(mind, "cancel_event", { id }, claim(day));
      },
    };
  },
};

/** Every kind of request, by name. */
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
