import type { BehaviourCount } from "../../src/core/trajectory.ts";
import { isRefusal } from "./closing.ts";
import type { Habit } from "./expert.ts";
import { courierOf, folderOf } from "./rules.ts";
import type { Request } from "./task.ts";
import { type MadeCall, refusals } from "./tools.ts";
import type { World } from "./world.ts";

/** Each behaviour that this world asks for, with the bad habits that leave it out. */
export const behaviours = {
  "asks which of two people": ["first"],
  "writes to the deputy": ["deputy"],
  "calls a busy tool again": ["busy"],
  "says what cannot be done": ["closed", "unknown", "locked"],
  "reads the note before sharing": ["note"],
  "books the room that fits": ["room"],
  "does the same to the new person": ["same"],
  "chooses the right folder": ["folder"],
  "chooses the courier of the day": ["courier"],
} as const satisfies Record<string, readonly Habit[]>;
export type Behaviour = keyof typeof behaviours;

/** The actions of an assistant about one request. */
export interface RequestRecord {
  readonly request: Request;
  /** The state when the request came. */
  readonly world: World;
  readonly calls: readonly MadeCall[];
  readonly asked: boolean;
  readonly closing: string;
}

/** Counts how often each behaviour was called for, judged by what the assistant had seen, and how often it was done. */
export function countBehaviours(requests: readonly RequestRecord[]): Partial<Record<Behaviour, BehaviourCount>> {
  const counts: Partial<Record<Behaviour, BehaviourCount>> = {};
  for (const [behaviour, isDone] of requests.flatMap(occasions)) {
    const { done, called } = counts[behaviour] ?? { done: 0, called: 0 };
    counts[behaviour] = { done: done + Number(isDone), called: called + 1 };
  }
  return counts;
}

function occasions({ request, world, calls, asked, closing }: RequestRecord): [Behaviour, boolean][] {
  const all: [Behaviour, boolean][] = [];
  const of = (tool: string) => calls.filter((call) => call.tool === tool);
  const refused = isRefusal(closing);
  const found = of("find_contact").map(({ result }) => listOf(result));

  if (request.meant !== undefined && found.some((people) => people.length > 1)) all.push(["asks which of two people", asked]);
  const away = found.flat().filter(({ name, deputy }) => deputy !== undefined && (request.meant ?? name) === name);
  const messages = of("send_message");
  if (away.length > 0 && messages.length > 0)
    all.push(["writes to the deputy", messages.every(({ args }) => away.every(({ id }) => id !== args.id))]);
  const busy = calls.find(({ result }) => result === refusals.busy);
  if (busy !== undefined)
    all.push(["calls a busy tool again", calls.slice(calls.indexOf(busy) + 1).some(({ tool }) => tool === busy.tool)]);
  const isMissing = calls.some(
    ({ tool, result }) => tool.startsWith("find_") && listOf(result).length === 0 && Array.isArray(result),
  );
  const isClosed = calls.some(({ result }) => result === refusals.closed || result === refusals.fixedRoom);
  const isLocked = request.kind === "delete_file" && of("find_file").some(({ result }) => listOf(result)[0]?.locked === true);
  if (isMissing || isClosed || isLocked) all.push(["says what cannot be done", refused]);
  if (request.kind === "share" && of("find_file").some(({ result }) => listOf(result)[0]?.note !== undefined))
    all.push(["reads the note before sharing", of("read_note").length > 0]);
  for (const { args } of of("book_room")) {
    const event = world.events.find(({ id }) => id === args.id);
    if (event !== undefined) all.push(["books the room that fits", (args.rate === "flex") === (event.status === "open")]);
  }
  if (request.kind === "same") all.push(["does the same to the new person", of("find_contact").length > 0]);
  for (const { args } of of("move_file")) {
    const file = world.files.find(({ id }) => id === args.id);
    if (file !== undefined) all.push(["chooses the right folder", args.folder === folderOf[file.type]]);
  }
  for (const { args } of of("send_parcel")) all.push(["chooses the courier of the day", args.courier === courierOf[world.today]]);
  return all;
}

interface Listed {
  readonly id?: string;
  readonly name?: string;
  readonly deputy?: string;
  readonly locked?: boolean;
  readonly note?: string;
}

/** Returns the things that a tool listed; none where it answered in words. */
function listOf(result: unknown): readonly Listed[] {
  return Array.isArray(result) ? result : [];
}
