import { expect, test } from "vitest";
import { countBehaviours, type RequestRecord } from "./behaviours.ts";
import type { KindName } from "./kinds.ts";
import type { MadeCall } from "./tools.ts";
import { smallWorld } from "./world.fixture.ts";

/** A request of a kind, and what an assistant did about it. */
function record(kind: KindName, calls: readonly MadeCall[], more: Partial<RequestRecord> & { readonly meant?: string } = {}) {
  const { meant, ...given } = more;
  const request = { kind, text: "", meant, changes: [], closing: "" } as unknown as RequestRecord["request"];
  return { request, world: smallWorld(), calls, asked: false, closing: "Done.", ...given };
}

const call = (tool: string, result: unknown, args: MadeCall["args"] = {}): MadeCall => ({ tool, args, result });
const two = call("find_contact", [
  { id: "c10", name: "Ana Kim" },
  { id: "c11", name: "Ana Fox", deputy: "Bob Berg" },
]);
const ana = call("find_contact", [{ id: "c11", name: "Ana Fox", deputy: "Bob Berg" }]);
const done = { done: 1, called: 1 };
const left = { done: 0, called: 1 };

test("which of two people is to be asked once both were seen, and only where one of them is meant", () => {
  expect(countBehaviours([record("pay", [two], { meant: "Ana Kim", asked: true })])).toEqual({
    "asks which of two people": done,
  });
  expect(countBehaviours([record("pay", [two], { meant: "Ana Kim" })])).toEqual({ "asks which of two people": left });
  expect(countBehaviours([record("pay", [two])])).toEqual({});
  expect(countBehaviours([record("pay", [ana], { meant: "Ana Fox" })])).toEqual({});
});

test("a message to somebody who is away goes to the deputy, if they are the one who is meant", () => {
  const to = (id: string) => call("send_message", "ok", { id });
  const counted = (calls: readonly MadeCall[], meant?: string) =>
    countBehaviours([record("message", calls, { meant })])["writes to the deputy"];
  expect(counted([ana, to("c12")])).toEqual(done);
  expect(counted([ana, to("c12"), to("c11")])).toEqual(left);
  expect(counted([ana])).toBeUndefined();
  expect(counted([two, to("c11")], "Ana Fox")).toEqual(left);
  expect(counted([two, to("c10")], "Ana Kim")).toBeUndefined();
});

test("a busy tool is to be called again, that one and afterwards", () => {
  const busy = call("pay", "busy, try again");
  const counted = (...calls: MadeCall[]) => countBehaviours([record("pay", calls)])["calls a busy tool again"];
  expect(counted(busy, call("pay", "ok"))).toEqual(done);
  expect(counted(busy)).toEqual(left);
  expect(counted(busy, call("today", "Monday"))).toEqual(left);
  expect(counted(call("pay", "no contact c99"), busy)).toEqual(left);
  expect(counted(call("pay", "ok"))).toBeUndefined();
});

test.each([
  ["nothing of a name", "when", call("find_event", []), true],
  ["a closed tool", "pay", call("pay", "closed today"), true],
  ["a fixed room", "move", call("move_event", "the room is fixed"), true],
  ["a locked file to delete", "delete_file", call("find_file", [{ id: "f10", locked: true }]), true],
  ["a locked file to share", "share", call("find_file", [{ id: "f10", locked: true }]), false],
  ["a file without a lock", "delete_file", call("find_file", [{ id: "f11" }]), false],
  ["no calls left", "when", call("find_event", "no calls left"), false],
  ["a busy tool", "pay", call("pay", "busy, try again"), false],
] as const)("where %s was seen, it is to be said: %s %j %j", (_, kind, seen, expected) => {
  const counted = (closing: string) =>
    countBehaviours([record(kind as KindName, [seen], { closing })])["says what cannot be done"];
  expect(counted("Sorry, I cannot.")).toEqual(expected ? done : undefined);
  expect(counted("Done.")).toEqual(expected ? left : undefined);
});

test("a note that was seen is to be read before the file is shared", () => {
  const file = call("find_file", [{ id: "f11", note: "n10" }]);
  const counted = (kind: KindName, ...calls: MadeCall[]) =>
    countBehaviours([record(kind, calls)])["reads the note before sharing"];
  expect(counted("share", file, call("read_note", "private"))).toEqual(done);
  expect(counted("share", file)).toEqual(left);
  expect(counted("share", call("find_file", [{ id: "f10" }]))).toBeUndefined();
  expect(counted("delete_file", file)).toBeUndefined();
});

test("rooms, folders and couriers are right by the event, the file and the day, each time one is chosen", () => {
  const booked = (id: string, rate: string) => call("book_room", "ok", { id, rate });
  const moved = (id: string, folder: string) => call("move_file", "ok", { id, folder });
  const sent = (courier: string) => call("send_parcel", "ok", { courier });
  const all = [booked("e10", "flex"), booked("e10", "fixed"), booked("e11", "fixed"), booked("e99", "fixed")];
  expect(countBehaviours([record("book", all)])).toEqual({ "books the room that fits": { done: 2, called: 3 } });
  const files = [moved("f10", "Archive"), moved("f11", "Archive"), moved("f99", "Archive")];
  expect(countBehaviours([record("file_away", files)])).toEqual({ "chooses the right folder": { done: 1, called: 2 } });
  expect(countBehaviours([record("parcel", [sent("Metro"), sent("Swift")])])).toEqual({
    "chooses the courier of the day": { done: 1, called: 2 },
  });
});

test("the same for somebody new needs a look-up, and the counts of all requests are added", () => {
  const same = [record("same", [ana]), record("same", []), record("pay", [])];
  expect(countBehaviours(same)).toEqual({ "does the same to the new person": { done: 1, called: 2 } });
  expect(countBehaviours([])).toEqual({});
});
