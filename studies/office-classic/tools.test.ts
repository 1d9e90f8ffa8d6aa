import fc from "fast-check";
import { expect, test } from "vitest";
import { z } from "zod";
import type { Tool } from "../../src/tools/tool.ts";
import { parametersAsJsonSchema } from "../../src/tools/tool.ts";
import { changesBetween } from "./changes.ts";
import { smallWorld } from "./small-world.fixture.ts";
import { toolNames, toolsOn } from "./tools.ts";
import { cloneWorld, type World } from "./world.ts";

const context = { signal: new AbortController().signal };
const toolOf = (world: World, name: string) => toolsOn(world).find((tool) => tool.name === name) as Tool;
const call = (world: World, name: string, args: Record<string, unknown>) => toolOf(world, name).execute(args, context);

test("there are at least 15 tools, each with a description and a schema that models can be shown", () => {
  expect(new Set(toolNames).size).toBeGreaterThanOrEqual(15);
  for (const tool of toolsOn(smallWorld())) {
    expect(tool.description).toMatch(/^[A-Z].*\.$/);
    expect(parametersAsJsonSchema(tool)).toMatchObject({ type: "object", additionalProperties: false });
  }
});

test("people are found by first name and by full name", () => {
  expect(call(smallWorld(), "find_contact", { name: "Ana" })).toEqual([
    { id: "c11", name: "Ana Silva" },
    { id: "c12", name: "Ana Kim" },
  ]);
  expect(call(smallWorld(), "find_contact", { name: "ana kim" })).toEqual([{ id: "c12", name: "Ana Kim" }]);
  expect(call(smallWorld(), "find_contact", { name: "An" })).toEqual([]);
});

test.each([
  ["get_contact", { id: "c99" }, "no contact c99"],
  ["move_event", { id: "e99", time: "10:00" }, "no event e99"],
  ["cancel_event", { id: "e99" }, "no event e99"],
  ["invite", { id: "e99", contact: "c11" }, "no event e99"],
  ["invite", { id: "e11", contact: "c99" }, "no contact c99"],
  ["read_note", { id: "n99" }, "no note n99"],
  ["send_message", { id: "c99", text: "Yes" }, "no contact c99"],
  ["reply", { id: "m99", text: "Yes" }, "no message m99"],
  ["pay", { id: "c99", amount: 10 }, "no contact c99"],
  ["pay", { id: "c11", amount: 51 }, "not enough money"],
  ["use_savings", { amount: 501 }, "not enough money"],
  ["move_file", { id: "f99", folder: "Team" }, "no file f99"],
  ["move_file", { id: "f11", folder: "Team" }, "file f11 is locked"],
  ["share_file", { id: "f12", contact: "c99" }, "no contact c99"],
  ["share_file", { id: "f11", contact: "c11" }, "file f11 is locked"],
  ["unlock_file", { id: "f99" }, "no file f99"],
  ["delete_file", { id: "f99" }, "no file f99"],
  ["delete_file", { id: "f11" }, "file f11 is locked"],
])("%s %j fails with %j and changes nothing", (name, args, answer) => {
  const world = smallWorld();
  const start = cloneWorld(world);
  expect(call(world, name, args)).toBe(answer);
  expect(changesBetween(start, world)).toEqual([]);
});

test("a locked file can be deleted once it is unlocked", () => {
  const world = smallWorld();
  expect([call(world, "unlock_file", { id: "f11" }), call(world, "delete_file", { id: "f11" })]).toEqual(["ok", "ok"]);
  expect(world.files.map(({ id }) => id)).toEqual(["f12"]);
});

test("a busy tool fails once, and does nothing then; the others work", () => {
  const world = smallWorld({ busy: "pay" });
  expect(call(world, "get_balance", {})).toEqual({ balance: 50 });
  expect(call(world, "pay", { id: "c13", amount: 10 })).toBe("busy, try again");
  expect(world.balance).toBe(50);
  expect(call(world, "pay", { id: "c13", amount: 10 })).toBe("ok");
  expect(world.balance).toBe(40);
});

test("ids of new items are new, also after items were removed", () => {
  const world = smallWorld();
  const seen = new Set(world.ids);
  for (let i = 0; i < 40; i++) {
    const { id } = z
      .object({ id: z.string().regex(/^e\d\d$/) })
      .parse(call(world, "add_event", { title: "Demo", day: "Friday", time: "10:00" }));
    expect(seen.has(id)).toBe(false);
    seen.add(id);
    call(world, "cancel_event", { id });
  }
});

test("no arguments, however odd, make a tool throw", () => {
  const ids = fc.constantFrom("c11", "e11", "f11", "f12", "m11", "n11");
  const words = fc.oneof(fc.string(), fc.constantFrom("Ana", "Monday", "10:00", "Team", "__proto__", "constructor"));
  const odd = fc.oneof(fc.double(), fc.integer(), fc.constant(null), fc.array(fc.string()), fc.object());
  const toolAndArgs = fc.constantFrom(...toolNames).chain((name) => {
    const keys = Object.keys(parametersAsJsonSchema(toolOf(smallWorld(), name)).properties ?? {});
    const args = fc.record(Object.fromEntries(keys.map((key) => [key, fc.oneof(ids, words, odd)])));
    return fc.tuple(fc.constant(name), args);
  });
  let accepted = 0;
  fc.assert(
    fc.property(toolAndArgs, ([name, given]) => {
      const tool = toolOf(smallWorld(), name);
      const parsed = (tool.parameters as z.ZodType<Record<string, unknown>>).safeParse(given);
      if (!parsed.success) return;
      accepted++;
      expect(() => tool.execute(parsed.data, context)).not.toThrow();
    }),
    { numRuns: 1500, seed: 1 },
  );
  expect(accepted).toBeGreaterThan(300);
});
