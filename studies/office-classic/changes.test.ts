import { expect, test } from "vitest";
import { changesBetween } from "./changes.ts";
import { smallWorld } from "./small-world.fixture.ts";
import { toolsOn } from "./tools.ts";
import { cloneWorld, type World } from "./world.ts";

function changesOf(...calls: readonly (readonly [string, Record<string, unknown>])[]): string[] {
  const world = smallWorld();
  const start = cloneWorld(world);
  run(world, calls);
  return changesBetween(start, world);
}

function run(world: World, calls: readonly (readonly [string, Record<string, unknown>])[]): void {
  const tools = toolsOn(world);
  for (const [name, args] of calls)
    tools.find((tool) => tool.name === name)?.execute(args, { signal: new AbortController().signal });
}

test("looking changes nothing", () => {
  expect(
    changesOf(
      ["find_contact", { name: "Ana" }],
      ["list_events", { day: "Monday" }],
      ["get_balance", {}],
      ["read_note", { id: "n11" }],
      ["list_messages", {}],
    ),
  ).toEqual([]);
});

test("what is changed and changed back is no change", () => {
  expect(changesOf(["move_event", { id: "e11", time: "16:00" }], ["move_event", { id: "e11", time: "14:30" }])).toEqual([]);
});

test("something new counts by what it is, so its id does not matter", () => {
  const args = { title: "Demo", day: "Friday", time: "10:00" };
  const once = changesOf(["add_event", args]);
  expect(once).toEqual(["new event demo Friday 10:00 with "]);
  const other = smallWorld({ idSeed: 50 });
  const start = cloneWorld(other);
  run(other, [["add_event", args]]);
  expect(other.events[2].id).not.toBe("");
  expect(changesBetween(start, other)).toEqual(once);
});

test("payments and messages count one by one, in whatever order", () => {
  const pay = ["pay", { id: "c13", amount: 10 }] as const;
  const tell = ["send_message", { id: "c11", text: "Thanks" }] as const;
  expect(changesOf(pay, tell)).toEqual(changesOf(tell, pay));
  expect(changesOf(pay, pay)).toEqual(["paid c13 10", "paid c13 10"]);
});

test("case and a final full stop of a text do not matter", () => {
  expect(changesOf(["send_message", { id: "c11", text: "thanks." }])).toEqual(
    changesOf(["send_message", { id: "c11", text: "Thanks" }]),
  );
});

test("everything that tools can change is seen", () => {
  expect(
    changesOf(
      ["invite", { id: "e11", contact: "c13" }],
      ["cancel_event", { id: "e12" }],
      ["write_note", { title: "Taxi", text: "30" }],
      ["reply", { id: "m11", text: "Yes" }],
      ["use_savings", { amount: 20 }],
      ["unlock_file", { id: "f11" }],
      ["move_file", { id: "f12", folder: "Archive" }],
      ["share_file", { id: "f12", contact: "c11" }],
    ),
  ).toEqual([
    "e11 event review Monday 14:30 with c13",
    "f11 file in Drafts open for ",
    "f12 file in Archive open for c11",
    "gone: e12",
    "m11 message answered yes",
    "new note taxi: 30",
    "took 20 from the savings",
  ]);
});
