import { z } from "zod";
import type { Tool } from "../../src/tools/tool.ts";
import { couriers, folders } from "./rules.ts";
import type { CalendarEvent, Id, OfficeFile, World } from "./world.ts";

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

/** The answers of a tool that does not do what it was asked to. */
export const refusals = {
  busy: "busy, try again",
  closed: "closed today",
  fixedRoom: "the room is fixed",
  noCalls: "no calls left",
} as const;

const id = z.string();
const words = z.string().min(1).max(80);

const officeTools: readonly OfficeTool[] = [
  define(
    "find_contact",
    "People with this first name or full name. A deputy reads the messages of somebody who is away.",
    { name: words },
    ({ contacts }, { name }) =>
      contacts
        .filter((contact) => same(contact.name, name) || same(contact.name.replace(/ .*/, ""), name))
        .map(({ id, name, deputy }) => ({ id, name, ...(deputy === undefined ? {} : { deputy }) })),
  ),
  define("get_contact", "Desk of a contact.", { id }, ({ contacts }, { id }) => {
    const contact = contacts.find((contact) => contact.id === id);
    return contact === undefined ? `no contact ${id}` : { desk: contact.desk };
  }),

  define("find_event", "Events with this title. An open event may still move.", { title: words }, ({ events }, { title }) =>
    events.filter((event) => same(event.title, title)).map(({ id, day, time, status }) => ({ id, day, time, status })),
  ),
  define("move_event", "Moves an event to another time.", { id, time: timeSchema() }, (world, { id, time }) => {
    if (world.events.find((event) => event.id === id)?.room === "fixed") return refusals.fixedRoom;
    return changeEvent(world, id, (event) => [{ ...event, time }]);
  }),
  define("cancel_event", "Cancels an event.", { id }, (world, { id }) => changeEvent(world, id, () => [])),
  define(
    "book_room",
    "Books a room for an event. With a fixed room the event cannot move; a flex one costs more.",
    { id, rate: z.enum(["flex", "fixed"]) },
    (world, { id, rate }) => changeEvent(world, id, (event) => [{ ...event, room: rate }]),
  ),

  define("send_message", "Sends a message to a contact.", { id, text: words }, (world, { id, text }) =>
    toContact(world, id, () => {
      world.sent = [...world.sent, { to: id, text }];
    }),
  ),
  define("pay", "Pays a contact.", { id, amount: z.int().min(1).max(999) }, (world, { id, amount }) =>
    toContact(world, id, () => {
      world.payments = [...world.payments, { to: id, amount }];
    }),
  ),
  define("today", "The day of the week.", {}, ({ today }) => today),
  define(
    "send_parcel",
    "Sends a parcel to a contact. Not every courier drives every day.",
    { id, courier: z.enum(couriers) },
    (world, { id, courier }) =>
      toContact(world, id, () => {
        world.parcels = [...world.parcels, { to: id, courier }];
      }),
  ),

  define(
    "find_file",
    "Files with this name. A locked file must stay; a note says who may see it.",
    { name: words },
    (world, args) =>
      world.files
        .filter((file) => same(file.name, args.name))
        .map(({ id, type, locked, note }) => ({
          id,
          type,
          ...(locked ? { locked } : {}),
          ...(note === undefined ? {} : { note: note.id }),
        })),
  ),
  define("read_note", "Text of a note.", { id }, ({ files }, { id }) => {
    const note = files.find((file) => file.note?.id === id)?.note;
    return note === undefined ? `no note ${id}` : note.text;
  }),
  define("move_file", "Puts a file into a folder.", { id, folder: z.enum(folders) }, (world, { id, folder }) =>
    changeFile(world, id, (file) => [{ ...file, folder }]),
  ),
  define(
    "share_file",
    "Shares a file with a contact.",
    { id, contact: id },
    (world, { id, contact }) =>
      unknownContact(world, contact) ??
      changeFile(world, id, (file) => [{ ...file, sharedWith: [...new Set([...file.sharedWith, contact])] }]),
  ),
  define("delete_file", "Deletes a file, locked or not.", { id }, (world, { id }) => changeFile(world, id, () => [])),
];

export const toolNames: readonly string[] = officeTools.map((tool) => tool.name);

/** A call that was made, with what it answered. */
export interface MadeCall {
  readonly tool: string;
  readonly args: Readonly<Record<string, unknown>>;
  readonly result: unknown;
}

/** The tools of one episode: they read and change `world`. @param onCall sees every call */
export function toolsOn(world: World, onCall: (call: MadeCall) => void = () => {}): Tool[] {
  return officeTools.map(({ name, description, parameters, run }) => ({
    name,
    description,
    parameters,
    execute: (args) => {
      const result = answer(world, name, () => run(world, args));
      onCall({ tool: name, args, result });
      return result;
    },
  }));
}

function answer(world: World, name: string, run: () => unknown): unknown {
  if (world.callsLeft <= 0) return refusals.noCalls;
  world.callsLeft--;
  if (world.fault?.tool !== name) return run();
  const { state } = world.fault;
  if (state === "busy") world.fault = undefined;
  return refusals[state];
}

function timeSchema() {
  return z.string().regex(/^([01]\d|2[0-3]):[0-5]\d$/, "a time such as 14:30");
}

/** Replaces an event; by nothing where it is to go. */
function changeEvent(world: World, id: Id, edit: (event: CalendarEvent) => readonly CalendarEvent[]): string {
  if (!world.events.some((event) => event.id === id)) return `no event ${id}`;
  world.events = world.events.flatMap((event) => (event.id === id ? edit(event) : event));
  return "ok";
}

function changeFile(world: World, id: Id, edit: (file: OfficeFile) => readonly OfficeFile[]): string {
  if (!world.files.some((file) => file.id === id)) return `no file ${id}`;
  world.files = world.files.flatMap((file) => (file.id === id ? edit(file) : file));
  return "ok";
}

function toContact(world: World, id: Id, send: () => void): string {
  const unknown = unknownContact(world, id);
  if (unknown === undefined) send();
  return unknown ?? "ok";
}

function unknownContact({ contacts }: World, id: Id): string | undefined {
  return contacts.some((contact) => contact.id === id) ? undefined : `no contact ${id}`;
}

function same(a: string, b: string): boolean {
  return a.toLowerCase() === b.trim().toLowerCase();
}
