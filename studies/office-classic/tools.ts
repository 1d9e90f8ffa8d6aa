import { z } from "zod";
import type { Tool } from "../../src/tools/tool.ts";
import { days, folders } from "./vocabulary.ts";
import { freshId, type Id, type World } from "./world.ts";

/** A tool that is still without the world it works on. What `run` returns is as in `Tool.execute`. */
interface OfficeTool {
  readonly name: string;
  readonly description: string;
  readonly parameters: z.ZodType<Record<string, unknown>>;
  run(world: World, args: Record<string, unknown>): unknown;
}

function define<Shape extends z.ZodRawShape>(
  name: string,
  description: string,
  shape: Shape,
  run: (world: World, args: z.output<z.ZodObject<Shape>>) => unknown,
): OfficeTool {
  return { name, description, parameters: z.strictObject(shape), run } as OfficeTool;
}

export const busyAnswer = "busy, try again";

const id = z.string();
const words = z.string().min(1).max(80);
const day = z.enum(days);
const time = z.string().regex(/^([01]\d|2[0-3]):[0-5]\d$/, "a time such as 14:30");
const amount = z.int().min(1).max(999);
const folder = z.enum(folders);

const officeTools: readonly OfficeTool[] = [
  define(
    "find_contact",
    "People with this first name or full name. If several fit, ask the user which one.",
    { name: words },
    (world, { name }) =>
      world.contacts.filter((contact) => isCalled(contact.name, name)).map((contact) => ({ id: contact.id, name: contact.name })),
  ),
  define("get_contact", "Desk of a contact.", { id }, (world, { id }) => {
    const contact = world.contacts.find((contact) => contact.id === id);
    return contact === undefined ? `no contact ${id}` : { name: contact.name, desk: contact.desk };
  }),
  define("add_contact", "Adds a person who is not there yet.", { name: words }, (world, { name }) => {
    const contact = { id: freshId(world, "c"), name, desk: 0, isNew: true } as const;
    world.contacts = [...world.contacts, contact];
    return { id: contact.id };
  }),

  define("find_event", "Events with this title.", { title: words }, (world, { title }) =>
    world.events.filter((event) => same(event.title, title)).map(({ id, day, time }) => ({ id, day, time })),
  ),
  define("list_events", "Events on a day.", { day }, (world, { day }) =>
    world.events.filter((event) => event.day === day).map(({ id, title, time }) => ({ id, title, time })),
  ),
  define("add_event", "Books an event.", { title: words, day, time }, (world, { title, day, time }) => {
    const event = { id: freshId(world, "e"), title, day, time, guests: [], isNew: true } as const;
    world.events = [...world.events, event];
    return { id: event.id };
  }),
  define(
    "move_event",
    "Moves an event to another time or day.",
    { id, day: day.optional(), time: time.optional() },
    (world, args) =>
      change(world, "events", "event", args.id, (event) => ({
        ...event,
        day: args.day ?? event.day,
        time: args.time ?? event.time,
      })),
  ),
  define("cancel_event", "Cancels an event.", { id }, (world, { id }) => remove(world, "events", "event", id)),
  define(
    "invite",
    "Invites a contact to an event.",
    { id, contact: id },
    (world, { id, contact }) =>
      known(world, contact) ??
      change(world, "events", "event", id, (event) => ({ ...event, guests: including(event.guests, contact) })),
  ),

  define("find_note", "Notes with this title.", { title: words }, (world, { title }) =>
    world.notes.filter((note) => same(note.title, title)).map(({ id }) => ({ id })),
  ),
  define("read_note", "Text of a note.", { id }, (world, { id }) => {
    const note = world.notes.find((note) => note.id === id);
    return note === undefined ? `no note ${id}` : { text: note.text };
  }),
  define("write_note", "Writes a new note.", { title: words, text: words }, (world, { title, text }) => {
    const note = { id: freshId(world, "n"), title, text, isNew: true } as const;
    world.notes = [...world.notes, note];
    return { id: note.id };
  }),

  define("list_messages", "The messages that came in. They name the sender's contact.", {}, (world) =>
    world.inbox.map(({ id, from, text }) => ({ id, from, text })),
  ),
  define("send_message", "Sends a message to a contact.", { id, text: words }, (world, { id, text }) => {
    const unknown = known(world, id);
    if (unknown !== undefined) return unknown;
    world.sent = [...world.sent, { to: id, text }];
    return "ok";
  }),
  define("reply", "Answers a message that came in.", { id, text: words }, (world, { id, text }) =>
    change(world, "inbox", "message", id, (message) => ({ ...message, answers: [...message.answers, text] })),
  ),

  define("get_balance", "Money on the account.", {}, (world) => ({ balance: world.balance })),
  define("pay", "Pays a contact from the account.", { id, amount }, (world, { id, amount }) => {
    const unknown = known(world, id);
    if (unknown !== undefined) return unknown;
    if (amount > world.balance) return "not enough money";
    world.balance -= amount;
    world.payments = [...world.payments, { to: id, amount }];
    return "ok";
  }),
  define(
    "use_savings",
    "Moves money from the savings to the account. Only if the user asks for it.",
    { amount },
    (world, { amount }) => {
      if (amount > world.savings) return "not enough money";
      world.savings -= amount;
      world.withdrawals = [...world.withdrawals, amount];
      world.balance += amount;
      return "ok";
    },
  ),

  define("find_file", "Files with this name. Locked files are left alone.", { name: words }, (world, { name }) =>
    world.files.filter((file) => same(file.name, name)).map(({ id, folder, locked }) => ({ id, folder, locked })),
  ),
  define("move_file", "Moves a file to a folder.", { id, folder }, (world, { id, folder }) =>
    changeOpenFile(world, id, () => change(world, "files", "file", id, (file) => ({ ...file, folder }))),
  ),
  define(
    "share_file",
    "Shares a file with a contact.",
    { id, contact: id },
    (world, { id, contact }) =>
      known(world, contact) ??
      changeOpenFile(world, id, () =>
        change(world, "files", "file", id, (file) => ({ ...file, sharedWith: including(file.sharedWith, contact) })),
      ),
  ),
  define("unlock_file", "Unlocks a file. Only if the user asks for it.", { id }, (world, { id }) =>
    change(world, "files", "file", id, (file) => ({ ...file, locked: false })),
  ),
  define("delete_file", "Deletes a file.", { id }, (world, { id }) =>
    changeOpenFile(world, id, () => remove(world, "files", "file", id)),
  ),
];

export const toolNames: readonly string[] = officeTools.map((tool) => tool.name);

/** The tools of one episode: they read and change `world`. */
export function toolsOn(world: World): Tool[] {
  return officeTools.map(({ name, description, parameters, run }) => ({
    name,
    description,
    parameters,
    execute: (args) => {
      if (world.busy !== name) return run(world, args);
      world.busy = undefined;
      return busyAnswer;
    },
  }));
}

type Collection = "events" | "inbox" | "files";
type Item<C extends Collection> = World[C][number];

function change<C extends Collection>(world: World, key: C, noun: string, id: Id, edit: (item: Item<C>) => Item<C>): string {
  const items: readonly Item<C>[] = world[key];
  if (!items.some((item) => item.id === id)) return `no ${noun} ${id}`;
  Object.assign(world, { [key]: items.map((item) => (item.id === id ? edit(item) : item)) });
  return "ok";
}

function remove(world: World, key: Collection, noun: string, id: Id): string {
  const items: readonly Item<Collection>[] = world[key];
  if (!items.some((item) => item.id === id)) return `no ${noun} ${id}`;
  Object.assign(world, { [key]: items.filter((item) => item.id !== id) });
  return "ok";
}

function changeOpenFile(world: World, id: Id, act: () => string): string {
  return world.files.find((file) => file.id === id)?.locked ? `file ${id} is locked` : act();
}

/** Returns the fault of a contact's id; undefined if the contact exists. */
function known(world: World, id: Id): string | undefined {
  return world.contacts.some((contact) => contact.id === id) ? undefined : `no contact ${id}`;
}

function including(ids: readonly Id[], id: Id): readonly Id[] {
  return ids.includes(id) ? ids : [...ids, id];
}

function isCalled(fullName: string, name: string): boolean {
  return same(fullName, name) || same(fullName.split(" ")[0], name);
}

function same(a: string, b: string): boolean {
  return a.toLowerCase() === b.trim().toLowerCase();
}
