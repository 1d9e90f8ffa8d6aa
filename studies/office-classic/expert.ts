import { z } from "zod";
import type { ToolCall } from "../../src/core/messages.ts";
import { close, type Plan } from "../../src/environments/plan.ts";
import { busyAnswer } from "./tools.ts";
import { type Day, days } from "./vocabulary.ts";
import type { Id } from "./world.ts";

/**
 * Bad habits of an assistant: each is another choice at one point, such as which tool to call next, or to say "Done." too early.
 * A policy that imitates an assistant with these habits can copy perfectly and still fail; it unlearns a habit by choosing otherwise.
 */
export const habits = [
  "guess", // acts with a made-up id, or answers from nowhere, without looking it up
  "busy", // takes "busy, try again" for a success
  "first", // takes the first of several people of a name instead of asking which
  "unknown", // says "Done." though nothing of that name was found
  "ask", // asks what was said already
  "same", // does the follow-up to the person of the request before
  "duplicate", // books a new event instead of moving the one that was talked about
  "check", // acts without checking the condition
  "half", // does one of several things and says "Done."
  "locked", // unlocks a locked file
  "overdraw", // takes from the savings what the account lacks
] as const;
export type Habit = (typeof habits)[number];

/** The memory that the expert carries from step to step of a conversation: only what was seen in it, nothing that was guessed. */
export interface Mind {
  /** True if the expert falls into the habit here. */
  slips(habit: Habit): boolean;
  /** The person that was talked about last. */
  contact?: Id;
  event?: FoundEvent;
  file?: Id;
}

export interface FoundEvent {
  readonly id: Id;
  readonly title: string;
  readonly day: Day;
  readonly time: string;
}

export const done = "Done.";

/** Calls a tool, again if it is busy. */
export function* call(mind: Mind, name: string, args: ToolCall["arguments"]): Plan {
  const step: ToolCall = { name, arguments: args };
  const result = yield step;
  if (result !== busyAnswer) return result;
  if (mind.slips("busy")) close(done);
  return yield step;
}

const detailsSchema = z.object({
  name: z.string().optional(),
  title: z.string().optional(),
  day: z.enum(days).optional(),
  time: z.string().optional(),
  desk: z.number().optional(),
  text: z.string().optional(),
  from: z.string().optional(),
  balance: z.number().optional(),
  folder: z.string().optional(),
  locked: z.boolean().optional(),
});
const foundSchema = detailsSchema.extend({ id: z.string() });
const listSchema = z.array(foundSchema);
export type Found = z.output<typeof foundSchema>;

/** Calls a tool that gives a list. */
export function* list(mind: Mind, name: string, args: ToolCall["arguments"]): Plan<Found[]> {
  return listSchema.parse(JSON.parse(yield* call(mind, name, args)));
}

/** Calls a tool that describes one thing; the description is empty if there is no such thing. */
export function* read(mind: Mind, name: string, args: ToolCall["arguments"]): Plan<z.output<typeof detailsSchema>> {
  const result = yield* call(mind, name, args);
  return result.startsWith("{") ? detailsSchema.parse(JSON.parse(result)) : {};
}

/** Calls a tool that makes something. @returns its id */
export function* make(mind: Mind, name: string, args: ToolCall["arguments"]): Plan<Id> {
  return foundSchema.parse(JSON.parse(yield* call(mind, name, args))).id;
}

/** The one thing of a name, or the end of the request. */
export function* find(mind: Mind, tool: string, key: "name" | "title", name: string): Plan<Found> {
  const [found] = yield* list(mind, tool, { [key]: name });
  return found ?? notFound(mind, name);
}

function notFound(mind: Mind, name: string): never {
  return close(mind.slips("unknown") ? done : `Sorry, I cannot find ${name}.`);
}

/** Looks a person up before anything is done to them. */
export function* findPerson(mind: Mind, name: string): Plan<Id> {
  mind.contact = undefined;
  return mind.slips("guess") ? "c01" : yield* lookUpPerson(mind, name);
}

/** Looks a person up, and asks where the name fits several. */
export function* lookUpPerson(mind: Mind, name: string): Plan<Id> {
  mind.contact = undefined;
  const found = yield* list(mind, "find_contact", { name });
  if (found.length === 0) notFound(mind, name);
  let person: Found | undefined = found[0];
  if (found.length > 1 && !mind.slips("first")) {
    const answer = yield `Which ${name}?`;
    person = found.find((candidate) => candidate.name === answer);
  }
  mind.contact = person?.id;
  return person?.id ?? notFound(mind, name);
}

export const lookUpHabits = ["first", "unknown", "busy"] as const satisfies readonly Habit[];
export const findPersonHabits = ["guess", ...lookUpHabits] as const satisfies readonly Habit[];

/** Looks an event up; undefined if it was not. */
export function* findEvent(mind: Mind, title: string): Plan<FoundEvent | undefined> {
  mind.event = undefined;
  if (mind.slips("guess")) return undefined;
  const { id, day, time } = yield* find(mind, "find_event", "title", title);
  if (day !== undefined && time !== undefined) mind.event = { id, title, day, time };
  return mind.event;
}

export const findEventHabits = ["guess", "unknown", "busy"] as const satisfies readonly Habit[];

/** Looks a file up, and leaves it alone if it is locked. */
export function* findOpenFile(mind: Mind, name: string): Plan<Id> {
  mind.file = undefined;
  if (mind.slips("guess")) return "f01";
  const { id, locked } = yield* find(mind, "find_file", "name", name);
  if (locked) {
    if (!mind.slips("locked")) close(`Sorry, ${name} is locked.`);
    yield* call(mind, "unlock_file", { id });
  }
  mind.file = id;
  return id;
}

export const findFileHabits = ["guess", "unknown", "locked", "busy"] as const satisfies readonly Habit[];

/** Pays, unless the account lacks the money. */
export function* pay(mind: Mind, id: Id, amount: number): Plan {
  const result = yield* call(mind, "pay", { id, amount });
  if (result !== "not enough money") return done;
  if (!mind.slips("overdraw")) return "Sorry, not enough money.";
  yield* call(mind, "use_savings", { amount });
  yield* call(mind, "pay", { id, amount });
  return done;
}

/** A call whose result does not matter, and "Done.". */
export function* act(mind: Mind, name: string, args: ToolCall["arguments"]): Plan {
  yield* call(mind, name, args);
  return done;
}
