import { expect, test } from "vitest";
import { type Random, randomStream } from "../../src/core/random.ts";
import { closed } from "../../src/environments/plan.ts";
import { changesBetween } from "./changes.ts";
import type { Habit, Mind } from "./expert.ts";
import type { Draft } from "./kind.ts";
import { type KindName, kindNames, kindOf } from "./kinds.ts";
import { difficulties } from "./settings.ts";
import { toolNames, toolsOn } from "./tools.ts";
import { cloneWorld, drawWorld, type World } from "./world.ts";

type Words = Draft["words"];
/** What should become different, and the value that the closing words must tell; undefined where the request must be refused. */
type Outcome = { readonly changes: readonly string[]; readonly told?: string | number } | undefined;
/** `id`: the person that the request is about; undefined if there is no such person. `before`: the words of the request before. */
type Facts = (world: World, words: Words, id: string | undefined, before: Words) => Outcome;

const changes = (...lines: string[]): Outcome => ({ changes: lines });
const eventOf = (world: World, title: unknown) => world.events.find((event) => event.title === title);
const fileOf = (world: World, name: unknown) => world.files.find((file) => file.name === name);
const lower = (text: unknown) => String(text).toLowerCase();
const paid = (world: World, id: string | undefined, amount: unknown) =>
  id === undefined || Number(amount) > world.balance ? undefined : changes(`paid ${id} ${amount}`);
const sent = (id: string | undefined, text: unknown) => (id === undefined ? undefined : changes(`sent ${id}: ${lower(text)}`));
const booked = (id: string, title: unknown, day: unknown, time: unknown, guest = "") =>
  `${id} event ${lower(title)} ${day} ${time} with ${guest}`;

/** Every kind by hand: what should happen, read from the world itself rather than through tools. */
const facts: Readonly<Record<KindName, Facts>> = {
  pay: (world, { amount }, id) => paid(world, id, amount),
  message: (_, { text }, id) => sent(id, text),
  same: (world, _, id, before) => paid(world, id, before.amount),
  also_pay: (world, { amount }, id) => paid(world, id, amount),
  also_tell: (_, { text }, id) => sent(id, text),
  tell_both: (world, { text, other, meant }, id) => {
    const second = named(world, other, meant);
    return id && second ? changes(...[`sent ${id}: ${lower(text)}`, `sent ${second}: ${lower(text)}`].sort()) : undefined;
  },
  desk: (world, _, id) => (id ? { changes: [], told: world.contacts.find((contact) => contact.id === id)?.desk } : undefined),
  add_contact: (world, { name, text }) => {
    const known = world.contacts.find((contact) => contact.name === name);
    if (known !== undefined) return sent(known.id, text);
    return changes(`new contact ${lower(name)}`, `sent ${lower(name)}: ${lower(text)}`);
  },
  reply: (world, { text }, id) => {
    const received = world.inbox.find(({ from }) => from === id);
    return received && changes(`${received.id} message answered ${lower(text)}`);
  },
  note_desk: (world, { title }, id) =>
    id ? changes(`new note ${lower(title)}: ${world.contacts.find((contact) => contact.id === id)?.desk}`) : undefined,
  pay_note: (world, { title }, id) => paid(world, id, world.notes.find((note) => note.title === title)?.text ?? Infinity),
  pay_if: (world, { amount, limit, text }, id) => (world.balance > Number(limit) ? paid(world, id, amount) : sent(id, text)),
  balance: (world) => ({ changes: [], told: world.balance }),
  pay_from_savings: (_, { amount }, id) => (id ? changes(`paid ${id} ${amount}`, `took ${amount} from the savings`) : undefined),
  move_event: (world, { title, time }) => {
    const event = eventOf(world, title);
    return event && changes(booked(event.id, title, event.day, time));
  },
  make_it: (world, { time }, _, { title }) => {
    const event = eventOf(world, title);
    return event && changes(booked(event.id, title, event.day, time));
  },
  when: (world, { title }) => {
    const event = eventOf(world, title);
    return event && { changes: [], told: `${event.day} at ${event.time}` };
  },
  tell_when: (world, { title }, id) => sent(eventOf(world, title) && id, eventOf(world, title)?.time),
  book_if_free: (world, { title, day, time, text }, id) =>
    world.events.some((event) => event.day === day && event.time === time)
      ? sent(id, text)
      : changes(booked("new", title, day, time)),
  cancel_event: (world, { title }) => {
    const event = eventOf(world, title);
    return event && changes(`gone: ${event.id}`);
  },
  cancel_it: (world, _words, _id, { title }) => changes(`gone: ${eventOf(world, title)?.id}`),
  cancel_day: (world, { day }) =>
    changes(...world.events.flatMap((event) => (event.day === day ? [`gone: ${event.id}`] : [])).sort()),
  invite: (world, { title }, id) => {
    const event = eventOf(world, title);
    return event && id ? changes(booked(event.id, title, event.day, event.time, id)) : undefined;
  },
  also_invite: (world, _, id, { title }) => {
    const event = eventOf(world, title);
    return event && id ? changes(booked(event.id, title, event.day, event.time, id)) : undefined;
  },
  delete_file: (world, { name }) => {
    const file = fileOf(world, name);
    return file && !file.locked ? changes(`gone: ${file.id}`) : undefined;
  },
  unlock_and_delete: (world, { name }) => {
    const file = fileOf(world, name);
    return file && changes(`gone: ${file.id}`);
  },
  move_file: (world, { name, folder }) => {
    const file = fileOf(world, name);
    return file && !file.locked ? changes(`${file.id} file in ${folder} open for `) : undefined;
  },
  share_file: (world, { name }, id) => {
    const file = fileOf(world, name);
    return file && !file.locked && id ? changes(`${file.id} file in ${file.folder} open for ${id}`) : undefined;
  },
  which_folder: (world, { name }) => {
    const file = fileOf(world, name);
    return file && { changes: [], told: file.folder };
  },
};

/** The request that a follow-up comes after, in the test. */
const antecedent: Readonly<Partial<Record<KindName, KindName>>> = {
  same: "pay",
  also_pay: "message",
  also_tell: "pay",
  make_it: "when",
  cancel_it: "when",
  also_invite: "when",
};

test.each(kindNames)("%s changes, says or refuses what a person would expect", (name) => {
  let [fulfilled, refused] = [0, 0];
  for (const { world, draft, id, before, mind } of scenes(name, 200)) {
    const start = cloneWorld(world);
    const expected = facts[name](start, { ...draft.words, meant: draft.meant ?? "" }, id, before);
    const closing = solve(draft, world, mind);

    expect(closing.startsWith("Sorry")).toBe(expected === undefined);
    expect(changesBetween(start, world)).toEqual(expected?.changes ?? []);
    if (expected?.told !== undefined) expect(closing).toContain(String(expected.told));
    if (expected === undefined) refused++;
    else fulfilled++;
  }
  expect(fulfilled).toBeGreaterThan(50);
  const neverRefused: readonly KindName[] = [
    "balance",
    "book_if_free",
    "add_contact",
    "make_it",
    "cancel_it",
    "cancel_day",
    "also_tell",
  ];
  expect(refused > 0).toBe(!neverRefused.includes(name));
});

test.each(kindNames)("%s has room for the bad habits that it names, and for no other", (name) => {
  const fellInto = new Set<Habit>();
  for (const { world, draft, mind, random } of scenes(name, 500)) {
    const slips = (habit: Habit) => random.chance(0.3) && Boolean(fellInto.add(habit));
    world.busy = random.pick(toolNames);
    solve(draft, world, { ...mind, slips });
  }
  expect([...fellInto].sort()).toEqual([...kindOf(name).habits].sort());
});

test.each(kindNames)("every detail of %s is said in each of its phrasings", (name) => {
  for (const { draft } of scenes(name, 10)) {
    for (const phrasing of kindOf(name).phrasings)
      expect(new Set([...phrasing.matchAll(/\{(\w+)\}/g)].map(([, gap]) => gap))).toEqual(new Set(Object.keys(draft.words)));
  }
});

interface DrawnScene {
  readonly random: Random;
  /** Just before the request. */
  readonly world: World;
  readonly draft: Draft;
  readonly id?: string;
  readonly before: Words;
  readonly mind: Mind;
}

/** Requests of a kind, each in a world of its own; a follow-up after a request that was fulfilled. */
function* scenes(name: KindName, count: number): Generator<DrawnScene> {
  for (let seed = 0; seed < count; seed++) {
    const random = randomStream(seed, name);
    const world = drawWorld(random, difficulties.large.size);
    const mind: Mind = { slips: () => false };
    const earlier = antecedent[name];
    const first = earlier && kindOf(earlier).draw({ world, random, topic: {} });
    if (first !== undefined && solve(first, world, mind).startsWith("Sorry")) continue;
    const draft = kindOf(name).draw({ world, random, topic: first?.topic ?? {} });
    if (draft === undefined) continue;
    const about = [draft, first].find((request) => request?.words.person !== undefined);
    const id = about && named(world, about.words.person, about.meant);
    yield { random, world, draft, id, before: first?.words ?? {}, mind };
  }
}

/** The person whom a request names. */
function named(world: World, said: unknown, meant: unknown): string | undefined {
  const fitting = world.contacts.filter(({ name }) => name === said || name.startsWith(`${said} `));
  return (fitting.length > 1 ? fitting.find(({ name }) => name === meant) : fitting[0])?.id;
}

function solve(draft: Draft, world: World, mind: Mind): string {
  const tools = toolsOn(world);
  const plan = closed(draft.solve(mind));
  let step = plan.next();
  while (!step.done) {
    const { value } = step;
    if (typeof value === "string") {
      step = plan.next(draft.meant ?? "");
    } else {
      const result = tools
        .find(({ name }) => name === value.name)
        ?.execute(value.arguments, { signal: AbortSignal.timeout(1000) });
      step = plan.next(typeof result === "string" ? result : JSON.stringify(result));
    }
  }
  return step.value;
}
