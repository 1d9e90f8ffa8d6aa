import { expect, test } from "vitest";
import { changesBetween } from "./changes.ts";
import { toolsOn } from "./tools.ts";
import { smallWorld } from "./world.fixture.ts";
import { cloneWorld, type World } from "./world.ts";

const context = { signal: new AbortController().signal };

/** Makes calls of one tool in a world, and returns their answers. */
function calls(world: World, name: string, ...args: Record<string, unknown>[]): unknown[] {
  const tool = toolsOn(world).find((each) => each.name === name);
  return args.map((each) => tool?.execute(each, context));
}

test("people are found by their first or full name in any case, the deputy of who is away with them", () => {
  const names = ["ana", " Ana Kim ", "Kim", "Zed"].map((name) => ({ name }));
  expect(calls(smallWorld(), "find_contact", ...names)).toEqual([
    [
      { id: "c10", name: "Ana Kim" },
      { id: "c11", name: "Ana Fox", deputy: "Bob Berg" },
    ],
    [{ id: "c10", name: "Ana Kim" }],
    [],
    [],
  ]);
  expect(calls(smallWorld(), "get_contact", { id: "c11" }, { id: "c99" })).toEqual([{ desk: 46 }, "no contact c99"]);
});

test("an event shows its time and whether it is settled, a file its lock and its note, and no more", () => {
  expect(calls(smallWorld(), "find_event", { title: "review" }, { title: "Gala" })).toEqual([
    [{ id: "e10", day: "Monday", time: "10:00", status: "open" }],
    [],
  ]);
  expect(calls(smallWorld(), "find_file", { name: "Report" }, { name: "BUDGET" })).toEqual([
    [{ id: "f10", type: "bill", locked: true }],
    [{ id: "f11", type: "plan", note: "n10" }],
  ]);
  expect(calls(smallWorld(), "read_note", { id: "n10" }, { id: "n11" })).toEqual(["private", "no note n11"]);
  expect(calls(smallWorld(), "today", {})).toEqual(["Monday"]);
});

test.each([
  ["move_event", { id: "e10", time: "14:30" }, ["event e10 Monday 14:30", "gone: event e10 Monday 10:00"]],
  ["cancel_event", { id: "e11" }, ["gone: event e11 Tuesday 12:00"]],
  ["book_room", { id: "e11", rate: "fixed" }, ["event e11 Tuesday 12:00 room fixed", "gone: event e11 Tuesday 12:00"]],
  ["send_message", { id: "c10", text: "Hello!" }, ["sent c10: hello"]],
  ["pay", { id: "c12", amount: 45 }, ["paid c12 45"]],
  ["send_parcel", { id: "c12", courier: "Metro" }, ["parcel to c12 by Metro"]],
  ["move_file", { id: "f10", folder: "Archive" }, ["file f10 in Archive for ", "gone: file f10 in no folder for "]],
  ["share_file", { id: "f11", contact: "c10" }, ["file f11 in no folder for c10", "gone: file f11 in no folder for "]],
  ["delete_file", { id: "f10" }, ["gone: file f10 in no folder for "]],
])("%s changes what it is for and nothing else, and nothing where the id is unknown", (name, args, changes) => {
  const world = smallWorld();
  const kind = { e: "event", c: "contact", f: "file" }[args.id.charAt(0)];
  expect(calls(world, name, { ...args, id: "x99" })).toEqual([`no ${kind} x99`]);
  expect(changesBetween(smallWorld(), world)).toEqual([]);
  expect(calls(world, name, args)).toEqual(["ok"]);
  expect(changesBetween(smallWorld(), world)).toEqual(changes);
});

test("an event in a fixed room stays, in a flex one it moves", () => {
  const world = smallWorld();
  calls(world, "book_room", { id: "e10", rate: "fixed" }, { id: "e11", rate: "flex" });
  const moved = calls(world, "move_event", { id: "e10", time: "11:00" }, { id: "e11", time: "11:00" });
  expect(moved).toEqual(["the room is fixed", "ok"]);
  expect(world.events.map(({ time }) => time)).toEqual(["10:00", "11:00"]);
});

test("a file is shared with somebody who exists, and once", () => {
  const world = smallWorld();
  const shared = calls(
    world,
    "share_file",
    { id: "f11", contact: "c99" },
    { id: "f11", contact: "c10" },
    { id: "f11", contact: "c10" },
  );
  expect(shared).toEqual(["no contact c99", "ok", "ok"]);
  expect(world.files[1].sharedWith).toEqual(["c10"]);
});

test("a busy tool is busy once, a closed one always, and both take a call", () => {
  for (const [state, after] of [
    ["busy", "ok"],
    ["closed", "closed today"],
  ] as const) {
    const world = { ...smallWorld(), callsLeft: 3, fault: { tool: "cancel_event", state } };
    expect(calls(world, "today", {})).toEqual(["Monday"]);
    const [first, second] = calls(world, "cancel_event", { id: "e10" }, { id: "e10" });
    expect([first, second]).toEqual([state === "busy" ? "busy, try again" : "closed today", after]);
    expect(calls(world, "cancel_event", { id: "e11" })).toEqual(["no calls left"]);
  }
});

test("every call is seen with its answer", () => {
  const seen: unknown[] = [];
  const tools = toolsOn(smallWorld(), (call) => seen.push(call));
  tools.find(({ name }) => name === "read_note")?.execute({ id: "n10" }, context);
  expect(seen).toEqual([{ tool: "read_note", args: { id: "n10" }, result: "private" }]);
});

test("what is changed and changed back is no change; what happens twice counts twice", () => {
  const world = smallWorld();
  calls(world, "move_event", { id: "e10", time: "11:00" }, { id: "e10", time: "10:00" });
  expect(changesBetween(smallWorld(), world)).toEqual([]);
  calls(world, "pay", { id: "c10", amount: 5 });
  const before = cloneWorld(world);
  calls(world, "pay", { id: "c10", amount: 5 }, { id: "c10", amount: 5 });
  expect(changesBetween(before, world)).toEqual(["paid c10 5", "paid c10 5"]);
});

test("a message counts without its case, the space around it and its final signs", () => {
  const world = smallWorld();
  calls(world, "send_message", { id: "c10", text: " Thanks. Bob!.. " }, { id: "c10", text: "thanks. bob" });
  expect(changesBetween(smallWorld(), world)).toEqual(["sent c10: thanks. bob", "sent c10: thanks. bob"]);
});

test("times are those of a day", () => {
  const parameters = toolsOn(smallWorld()).find(({ name }) => name === "move_event")?.parameters as {
    safeParse(value: unknown): { success: boolean };
  };
  const valid = ["00:00", "09:59", "19:30", "23:59", "24:00", "9:30", "10:60", "10:00:00"].map(
    (time) => parameters.safeParse({ id: "e10", time }).success,
  );
  expect(valid).toEqual([true, true, true, true, false, false, false, false]);
});
