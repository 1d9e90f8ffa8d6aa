import { expect, test } from "vitest";
import { randomStream } from "../../src/core/random.ts";
import { fill, phrased, sentencesOf } from "./grammar.ts";
import { chanceOf, drawSlips } from "./habits.ts";
import { wordsOf } from "./vocabulary.ts";
import { drawWorld } from "./world.ts";

test("a pattern makes every sentence of its alternatives, nested and empty ones too", () => {
  expect(sentencesOf("(pay|give) {person} (|now)")).toEqual([
    "pay {person} ",
    "pay {person} now",
    "give {person} ",
    "give {person} now",
  ]);
  expect(sentencesOf("a(b|(c|d)e)f")).toEqual(["abf", "acef", "abf", "adef"]);
  expect(sentencesOf("plain")).toEqual(["plain"]);
});

test("gaps are filled by name, and one without a word stays", () => {
  expect(fill("pay {person} {amount}, {person}: {gap}", { person: "Ana", amount: 0 })).toBe("pay Ana 0, Ana: {gap}");
});

test("phrasings are sentences in the frames of their split, and questions end as such", () => {
  const { train, validation, challenge } = phrased({ train: ["pay {person}"], validation: ["where is it?"], challenge: ["go"] });
  expect(train).toEqual(["Pay {person}.", "Next: pay {person}.", "Pay {person}, please.", "Pay {person}, thanks."]);
  expect(validation).toEqual(["Where is it?", "Also: where is it?", "Where is it, please?"]);
  expect(challenge).toEqual(["Go.", "Now: go.", "Go, please."]);
});

test("a habit has the chance of all, or its own and otherwise none", () => {
  expect([chanceOf(0.3, "first"), chanceOf({ first: 0.7 }, "first"), chanceOf<string>({ first: 0.7 }, "room")]).toEqual([
    0.3, 0.7, 0,
  ]);
  const { slips, slipped } = drawSlips<"first" | "room">(randomStream(1), { first: 1 });
  expect([slips("first"), slips("room"), slips("first")]).toEqual([true, false, true]);
  expect(slipped).toEqual(["first", "first"]);
  expect(drawSlips<string>(randomStream(1), (habit) => Number(habit === "room")).slips("room")).toBe(true);
});

test("a drawn world has its size, names of its own, and repeats as many first names as it says", () => {
  const size = { contacts: 6, doubledNames: 2, events: 4, files: 3 };
  const long = (name: string) => name.length > 7;
  for (let seed = 0; seed < 30; seed++) {
    const world = drawWorld(randomStream(seed), size, wordsOf("train"), long);
    const names = world.contacts.map(({ name }) => name);
    expect([names.length, world.events.length, world.files.length]).toEqual([6, 4, 3]);
    expect(new Set(names).size).toBe(6);
    expect(names.every(long)).toBe(true);
    expect(new Set(names.map((name) => name.replace(/ .*/, ""))).size).toBe(4);
    const ids = [...world.contacts, ...world.events, ...world.files, ...world.files.flatMap(({ note }) => note ?? [])].map(
      ({ id }) => id,
    );
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.every((id) => /^[cefn][1-9]\d$/.test(id))).toBe(true);
    expect(new Set(world.events.map(({ time }) => time)).size).toBe(4);
    // Deputies are at work.
    const away = new Set(world.contacts.flatMap(({ name, deputy }) => (deputy === undefined ? [] : [name])));
    for (const { deputy } of world.contacts)
      expect(deputy !== undefined && (away.has(deputy) || !names.includes(deputy))).toBe(false);
  }
});
