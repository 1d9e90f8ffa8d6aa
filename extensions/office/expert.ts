import { z } from "zod";
import type { ToolCall } from "../../src/core/messages.ts";
import { close, type Plan } from "./plan.ts";
import { refusals } from "./tools.ts";
import { days } from "./vocabulary.ts";
import type { Id } from "./world.ts";

/**
 * Bad habits of an assistant: each is another choice at one point. The demonstrations fall into most of them more often than not, so that a
 * policy that imitates their majority is wrong; what would be right is there often enough to be tried.
 */
export const habits = [
  "first", // takes the first of several people of a name instead of asking which
  "deputy", // writes to somebody who is away
  "busy", // takes "busy, try again" for a success
  "closed", // takes "closed today" or "the room is fixed" for a success
  "unknown", // claims to have done it though nothing of that name was found
  "locked", // deletes a locked file
  "note", // shares a file without reading the note about it
  "room", // books a fixed room for an event that may still move
  "same", // does the follow-up to the person of the request before
  "folder", // puts a file into the favourite folder, or any
  "courier", // sends a parcel with the favourite courier, or any
] as const;
export type Habit = (typeof habits)[number];

/** The memory that the expert carries from step to step of a conversation. */
export interface ExpertState {
  slips(habit: Habit): boolean;
  /** The right one, or another one where the expert falls into the habit. */
  chooses<T extends string>(habit: Habit, right: T, favourite: T, all: readonly T[]): T;
  /** The person that something was done to last. */
  contact?: Found;
  event?: FoundEvent;
}

const foundSchema = z.object({
  id: z.string(),
  name: z.string().default(""),
  deputy: z.string().optional(),
  type: z.string().default(""),
  locked: z.boolean().default(false),
  note: z.string().optional(),
});
const eventSchema = z.object({ id: z.string(), day: z.enum(days), time: z.string(), status: z.enum(["open", "settled"]) });
export type Found = z.output<typeof foundSchema>;
export type FoundEvent = z.output<typeof eventSchema> & { readonly title: string };

function* find(tool: string, args: ToolCall["arguments"]): Plan<Found[]> {
  return z.array(foundSchema).parse(listed(yield { name: tool, arguments: args }));
}

/** Returns the list that a tool gave. Without calls left nothing can be done any more. */
export function listed(result: string): unknown {
  return result === refusals.noCalls ? close("Sorry, I cannot.") : JSON.parse(result);
}

/** Closes because nothing has this name. @param claim what is said instead by somebody careless */
function notFound(state: ExpertState, name: string, claim: string): never {
  return close(state.slips("unknown") ? claim : `Sorry, I cannot find ${name}.`);
}

/** An action that can be done to a person, and then to another one. */
export interface PersonAction {
  /** True for a message, which goes to the deputy of somebody who is away. */
  readonly redirects: boolean;
  /** Returns the words that are said when it is done. */
  claim(name: string): string;
  /** Does it. @param claim the words to close with */
  run(state: ExpertState, id: Id, claim: string): Plan;
}

/** Looks a person up and does something to them. */
export function* toPerson(state: ExpertState, said: string, action: PersonAction): Plan {
  const person = yield* lookUp(state, said, action);
  return yield* action.run(state, person.id, action.claim(person.name));
}

/** Looks a person up; asks where the name fits several, and looks the answer up; goes to the deputy of somebody who is away. */
export function* lookUp(state: ExpertState, said: string, { redirects, claim }: Omit<PersonAction, "run">): Plan<Found> {
  state.contact = undefined;
  const found = yield* find("find_contact", { name: said });
  let [person] = found;
  if (person === undefined) return notFound(state, said, claim(said));
  if (found.length > 1 && !state.slips("first"))
    [person = person] = yield* find("find_contact", { name: yield `Which ${said}?` });
  if (person.deputy !== undefined && redirects && !state.slips("deputy"))
    [person = person] = yield* find("find_contact", { name: person.deputy });
  state.contact = person;
  return person;
}

export function* findEvent(state: ExpertState, title: string, claim: string): Plan<FoundEvent> {
  state.event = undefined;
  const [event] = z.array(eventSchema).parse(listed(yield { name: "find_event", arguments: { title } }));
  if (event === undefined) notFound(state, title, claim);
  state.event = { ...event, title };
  return state.event;
}

export function* findFile(state: ExpertState, name: string, claim: string): Plan<Found> {
  const [file] = yield* find("find_file", { name });
  return file ?? notFound(state, name, claim);
}

/** Does something, again if the tool is busy, and closes with the claim, or says that it cannot be done. */
export function* act(state: ExpertState, tool: string, args: ToolCall["arguments"], claim: string): Plan {
  const step: ToolCall = { name: tool, arguments: args };
  let result = yield step;
  if (result === refusals.busy && !state.slips("busy")) result = yield step;
  if (result === refusals.closed && !state.slips("closed")) return `Sorry, ${tool} is closed.`;
  return result === refusals.fixedRoom && !state.slips("closed") ? "Sorry, the room is fixed." : claim;
}
